# SPDX-License-Identifier: Apache-2.0
"""Whatever carried a runtime's log to the file, its pauses are the same; whatever is no such log is named."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.formats.gc_events import GcLog
from harness.formats.runtime_log import read_runtime_log
from harness.tests.support import log_forms as logs

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
every_carrier = pytest.mark.parametrize("carrier", logs.CARRIERS)


def spans(log: GcLog) -> list[tuple[float, float, str]]:
    return [(round(one.start_s, 6), round(one.end_s, 6), one.cause) for one in log.events]


@every_carrier
@pytest.mark.parametrize("decorators", ["wall", "uptime"])
def test_a_jvms_log_has_the_same_pauses_whatever_its_carrier(carrier: str, decorators: str) -> None:
    lines = logs.jvm_lines() if decorators == "wall" else logs.jvm_lines(decorators=logs.uptime)
    plain = logs.read_log(logs.text_of(lines), process_start_epoch_s=logs.START_S)
    log = logs.read_log(logs.carried(lines, carrier), process_start_epoch_s=logs.START_S)
    assert len(plain.events) == len(logs.PAUSES) and plain.n_unknown == 0
    assert plain.events[0].end_s == pytest.approx(logs.START_S + logs.PAUSES[0][0], abs=2e-3)
    assert spans(log) == spans(plain)
    assert (log.clock, log.collector, log.n_collections) == ("epoch", "G1", len(logs.PAUSES))
    assert log.n_unknown == (0 if carrier != "an exported array" else 3 * len(lines))
    assert not any("process" in said for said in log.warnings)


@every_carrier
def test_a_trace_of_go_has_the_same_pauses_whatever_stands_around_its_lines(carrier: str) -> None:
    lines = logs.go_lines()
    plain, log = logs.read_log(logs.text_of(lines)), logs.read_log(logs.carried(lines, carrier))
    assert len(plain.events) == 2 * len(logs.PAUSES)
    assert (spans(log), log.n_collections, log.n_unknown) == (spans(plain), len(logs.PAUSES), 0)
    assert not any("process" in said or "gaps" in said for said in log.warnings)


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "a mark of UTF-8": lambda text: text.encode("utf-8-sig"),
    "UTF-16 with a mark": lambda text: text.encode("utf-16"),
    "UTF-16, little end first": lambda text: text.encode("utf-16-le"),
    "UTF-16, big end first": lambda text: text.encode("utf-16-be"),
    "line ends of Windows": lambda text: text.replace("\n", "\r\n").encode(),
    "UTF-16 with line ends of Windows": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip of UTF-16": lambda text: gzip.compress(text.encode("utf-16")),
    "gzip of two members": lambda text: gzip.compress(text[:700].encode()) + gzip.compress(text[700:].encode()),
    "a blank line first": lambda text: b"\n \r\n" + text.encode(),
    "lines of others first": lambda text: "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nStarting caf\xe9\n".encode("cp1252") + text.encode(),
    "a tail": lambda text: b"oldest line, cut off in the mid\n" + text.encode(),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_logs_are_read_in_every_encoding_in_which_result_files_are(tmp_path: Path, encoding: str) -> None:
    for name, lines in (("gc.log.gz", logs.jvm_lines()), ("service.txt", logs.go_lines())):
        (tmp_path / name).write_bytes(ENCODINGS[encoding](logs.text_of(lines)))
        assert spans(read_runtime_log(tmp_path / name)) == spans(logs.read_log(logs.text_of(lines)))


def with_commas(text: str) -> str:
    return re.sub(r"(\d)\.(\d+)(m?s\b| seconds)", r"\1,\2\3", text)


@pytest.mark.parametrize("from_line", [0, 1, 8])
def test_a_decimal_comma_is_read_from_whichever_line_on_the_jvm_took_the_locale(from_line: int) -> None:
    lines = logs.text_of(logs.jvm_lines(decorators=logs.uptime)).splitlines(keepends=True)
    mixed = "".join(lines[:from_line]) + with_commas("".join(lines[from_line:]))
    assert "," in mixed.split("[info]")[-2]
    assert spans(logs.read_log(mixed)) == spans(logs.read_log("".join(lines)))


@pytest.mark.parametrize(
    "path", sorted((GOLDEN / "jvm_log").glob("jdk11-*.log.gz")), ids=lambda path: path.name
)
def test_without_the_collectors_own_lines_the_operations_of_jdk_11_tell_the_collections(path: Path) -> None:
    text = gzip.decompress(path.read_bytes()).decode()
    whole = [one for one in read_runtime_log(path).events if one.whole_stop]
    alone = logs.read_log("".join(line for line in text.splitlines(keepends=True) if "[safepoint" in line))
    assert [one.cause for one in alone.events] == [one.cause for one in whole]
    assert {one.cause for one in whole} == {"gc_pause", "other_safepoint"}


@pytest.mark.parametrize("safepoints", [False, True])
def test_a_young_collection_that_became_a_full_one_is_one_pause(safepoints: bool) -> None:
    lines = [
        "[0.202s][info][gc] GC(0) Pause Young (Allocation Failure) 25M->23M(92M) 9.814ms",
        "[0.290s][info][gc] GC(2) Pause Full (Allocation Failure) 74M->10M(92M) 6.987ms",
        "[0.290s][info][gc] GC(1) Pause Young (Allocation Failure) 74M->10M(92M) 7.118ms",
        "[0.320s][info][gc] GC(3) Pause Full (Ergonomics) 62M->62M(123M) 3.728ms",
        "[0.331s][info][gc] GC(4) Pause Young (Allocation Failure) 62M->62M(123M) 7.000ms",
    ]
    if safepoints:
        lines[3:3] = ["[0.290s][info][safepoint] Total time for which application threads were stopped: 0.0073074 seconds, Stopping threads took: 0.0000186 seconds"]  # fmt: skip
    lengths = [round(event.duration_s * 1e3, 3) for event in logs.read_log("\n".join([*lines, ""])).events]
    assert lengths == [9.814, 7.307 if safepoints else 7.118, 3.728, 7.0]


@pytest.mark.parametrize("decorators", ["both clocks", "the wall clock alone"])
@pytest.mark.parametrize("order", ["newest first", "lines of one stamp the other way round"])
def test_a_log_that_was_sorted_again_has_each_pause_once(order: str, decorators: str) -> None:
    lines = logs.text_of(logs.jvm_lines()).splitlines()
    if order != "newest first":
        for at in [at for at, line in enumerate(lines) if "Safepoint" in line]:
            lines[at - 1 : at + 1] = lines[at], lines[at - 1]
        lines.reverse()
    if decorators != "both clocks":
        lines = [f"{line[:30]}{line[30:].partition(']')[2]}" for line in lines]
    log = logs.read_log("\n".join([*reversed(lines), ""]))
    lengths = sorted(round(length_s + 5e-5, 6) for _, length_s in logs.PAUSES)
    assert sorted(round(one.duration_s, 6) for one in log.events) == lengths
    assert {one.gc_id for one in log.events} == set(range(len(logs.PAUSES)))


def test_lines_that_the_jvm_dropped_are_said() -> None:
    lost = "[60.000s][warning][]     12 messages dropped due to async logging\n"
    log = logs.read_log(logs.text_of(logs.jvm_lines(decorators=logs.uptime)) + lost)
    assert len(log.events) == len(logs.PAUSES) and "dropped 12 lines of its log" in " ".join(log.warnings)


def stamped(*stamps: Callable[[float], str]) -> str:
    return logs.text_of(logs.jvm_lines(decorators=lambda at_s: "".join(one(at_s) for one in stamps)))


def of_machine(at_s: float) -> str:
    return f"[{858_383 * 10**9 + round(at_s * 1e9)}ns]"


def in_ns(at_s: float) -> str:
    return f"[{round(at_s * 1e9)}ns]"


@pytest.mark.parametrize(
    "text",
    [stamped(logs.uptime, of_machine), stamped(lambda at_s: f"[{at_s * 1e3:.0f}ms]", of_machine), stamped(of_machine, in_ns)],
    ids=["seconds", "milliseconds", "nanoseconds"],
)  # fmt: skip
def test_the_uptime_is_told_from_the_time_since_the_machine_started(text: str) -> None:
    log = logs.read_log(text, process_start_epoch_s=logs.START_S)
    plain = logs.read_log(logs.text_of(logs.jvm_lines()))
    starts = [one.start_s for one in plain.events]
    assert [one.start_s for one in log.events] == pytest.approx(starts, abs=2e-3)


def test_the_time_since_the_machine_started_alone_is_no_uptime() -> None:
    with pytest.raises(InputError, match=r"from the start of the machine .*timenanos.*time,uptime"):
        logs.read_log(stamped(of_machine), process_start_epoch_s=logs.START_S)


#: what is no log that can be read -> the words that say what it is, and what to do
STRANGERS = {
    "[info][gc] Using G1\n[info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->1M(8M) 8.000ms\n": "without time stamps.*time,uptime",
    "Using G1\nGC(0) Pause Young (Normal) (G1 Evacuation Pause) 60M->12M(128M) 80.000ms\n": "without time stamps",
    "2025-11-28T10:30:00.123+0000: 1.234: [GC (Allocation Failure) [PSYoungGen: 65536K->10720K(76288K)] 65536K->23024K(251392K), 0.0123456 secs]\n": "JDK 8",
    "1.234: [Full GC (System.gc()) 12K->10K(100K), 0.01 secs]\n": "JDK 8",
    "Java HotSpot(TM) 64-Bit Server VM (25.40-b25)\nCommandLine flags: -XX:+PrintGC\n": "JDK 8",
    '<?xml version="1.0" encoding="UTF-8"?>\n<verbosegc xmlns="http://www.ibm.com/j9/verbosegc">\n': "OpenJ9",
    '<verbosegc>\n<exclusive-start id="2" timestamp="2025-11-28T10:30:00.123"/>\n': "OpenJ9",
    "FLR\0\0\2\0\0 binary": "jfr print --json",
    "timeStamp,elapsed,label\n1,2,x\n": "no log of a JVM or of the collector of Go.*timeStamp",
    "[12:Scavenge] 50 ms: Scavenge 2.1 (3.0) -> 1.8 (4.0) MB, 0.6 / 0.0 ms allocation failure\n": "no log of a JVM",
    '{"level":"info","msg":"hello"}\n{"level":"info","msg":"bye"}\n': "no log of a JVM",
}  # fmt: skip


@pytest.mark.parametrize("text", STRANGERS, ids=range(len(STRANGERS)))
def test_every_known_stranger_is_called_by_its_name_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=STRANGERS[text]) as refused:
        logs.read_log(text)
    assert "\n" not in str(refused.value) and "gc.log" in str(refused.value)
