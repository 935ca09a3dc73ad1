# SPDX-License-Identifier: Apache-2.0
"""To which process a line or a file of a log belongs: pauses of a process that is not meant explain nothing."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.formats.gc_events import GcLog
from harness.formats.runtime_log import read_runtime_log
from harness.tests.support.log_forms import (
    CARRIERS,
    START_S,
    Line,
    go_lines,
    jvm_lines,
    read_log,
    stamp,
    text_of,
    uptime,
)

#: Pauses of an earlier process, of another length, at uptimes that the later one has, too.
EARLIER = tuple((1.09 + 5 * k, 0.033) for k in range(10))
LATER = tuple((3.004 + 4 * k, 0.004) for k in range(10))


def of_jvm(
    pauses: Sequence[tuple[float, float]], *, first_id: int = 0, started_s: float | None = None
) -> list[Line]:
    """A log without safepoints; with wall-clock stamps of a process that started then, or with uptimes alone."""

    def clocks(at_s: float) -> str:
        return f"[{stamp((started_s or 0.0) + at_s)}+0000]{uptime(at_s)}"

    return jvm_lines(pauses, uptime if started_s is None else clocks, first_id=first_id, safepoints=False)


def mixed(*logs: list[Line]) -> list[Line]:
    return sorted(itertools.chain(*logs), key=lambda line: line[0])


def renamed(lines: list[Line], carrier: str, old: str = "", new: str = "") -> list[Line]:
    return [(at_s, CARRIERS[carrier](at_s, line).replace(old, new)) for at_s, line in lines]


def ms(log: GcLog) -> list[float]:
    return [round(1e3 * event.duration_s, 3) for event in log.events if event.duration_s > 1e-3]


def left_out(log: GcLog) -> str:
    return "; ".join(text for text in log.warnings if "left out" in text)


NEWEST, REST = of_jvm(LATER[7:], first_id=7), of_jvm(LATER[:7])
OLDER = [of_jvm(LATER[:4]), of_jvm(LATER[4:7], first_id=4), of_jvm(EARLIER)]
OWN = [(at_s, f"[{at_s * 300:.0f}ms][info] GET /item") for at_s in (1.0, 20.0, 30.0)]
CRASHES = [line for _ in range(5) for line in of_jvm([(0.4, 0.1), (0.6, 0.1)])]
PIDS = [*renamed(go_lines(EARLIER), "journald", "4711", "4690"), *renamed(go_lines(LATER), "journald")]
MIDNIGHT = [(at_s, CARRIERS["journald"](at_s + 48_570, line)) for at_s, line in of_jvm(LATER)]
#: What a log is -> its files, the newest first; how many pauses of the later process there are; what is left out.
ALONE: dict[str, tuple[list[list[Line]], int, str]] = {
    "an archive of an earlier process": (
        [of_jvm(LATER), of_jvm(EARLIER)], 10, "10 collections of another process in gc.log.0 left out",
    ),
    **{
        f"parts {order} among archives": ([NEWEST, *(OLDER[k] for k in order)], 10, "10 collections of another process")
        for order in itertools.permutations(range(3))
    },
    "its numbers end before": ([NEWEST, of_jvm(EARLIER[:5])], 3, "another process"),
    "its uptimes end later": ([NEWEST, of_jvm(EARLIER[:9])], 3, "another process"),
    "it ended long before": ([NEWEST, of_jvm([(0.1 * k + 0.5, 0.033) for k in range(7)])], 3, "another process"),
    "its numbers are others": ([NEWEST, of_jvm(EARLIER[8:], first_id=20)], 3, "another process"),
    "restarts in one file": (
        [[*of_jvm(EARLIER), *of_jvm(EARLIER[:2]), *of_jvm(LATER)]], 10, "12 collections of 2 other processes in gc.log left out",
    ),
    "restarts at once": ([[*CRASHES, *of_jvm(LATER)]], 10, "10 collections of 5 other processes"),
    "a program's own stamped lines": ([mixed(of_jvm(LATER), OWN)], 10, ""),
    "midnight before the lines": ([MIDNIGHT], 10, ""),
    "Go and a program's own lines": ([mixed(go_lines(LATER), OWN)], 10, ""),
    "Go was started again": ([[*go_lines(EARLIER), *go_lines(LATER)]], 10, "10 collections of another process"),
    "Go by its process": ([PIDS], 10, "10 collections of another process"),
    "rotated parts of Go": (
        [go_lines(LATER[6:], first_id=7), go_lines(LATER[:6]), go_lines(EARLIER)], 10, "10 collections of another process",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_of_a_log_without_wall_clock_the_last_process_counts_alone(name: str) -> None:
    files, n, words = ALONE[name]
    log = read_log(*map(text_of, files), process_start_epoch_s=START_S)
    assert ms(log) == [4.0] * n
    assert words in left_out(log) and bool(words) == bool(left_out(log))
    assert any("starts late" in text for text in log.warnings) == (n < 10)
    assert not any("gaps" in text for text in log.warnings)
    if n == 10:
        assert log.events[0].start_s == pytest.approx(START_S + LATER[0][0], abs=5e-3)


def test_parts_with_both_clocks_are_joined_by_the_start_that_they_tell() -> None:
    newest, first = of_jvm(LATER[7:], first_id=7, started_s=START_S), of_jvm(LATER[:3], started_s=START_S)
    earlier = of_jvm(EARLIER, started_s=START_S - 600)
    log = read_log(text_of(newest), text_of(first), text_of(earlier))
    assert len(log.processes) == 2 and log.processes[1].end_s == pytest.approx(START_S + LATER[-1][0])
    assert ms(log) == [33.0] * 10 + [4.0] * 6
    assert all(event.end_s < START_S - 500 for event in log.events[:10])


def test_parts_may_be_compressed_or_named_one_by_one(tmp_path: Path) -> None:
    parts = {"gc.log": NEWEST, "gc.log.0.gz": REST, "gc.log.1.gz": of_jvm(EARLIER)}
    for name, lines in parts.items():
        data = text_of(lines).encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert ms(read_runtime_log(tmp_path / "gc.log")) == [4.0] * 10
    (tmp_path / "gc.log").rename(tmp_path / "gc.log.gz")
    assert ms(read_runtime_log(tmp_path / "gc.log.gz")) == [4.0] * 10
    for name, lines in {"b.log": NEWEST, "a.log": REST, "c.log": of_jvm(EARLIER)}.items():
        (tmp_path / name).write_text(text_of(lines))
    a, b, c = (tmp_path / name for name in ("a.log", "b.log", "c.log"))
    assert ms(read_runtime_log(a, b)) == ms(read_runtime_log(b, a)) == [4.0] * 10
    log = read_runtime_log(c, b, a)
    assert ms(log) == [4.0] * 10 and left_out(log) == "10 collections of another process in c.log left out"


@pytest.mark.parametrize("decorators", ["both clocks", "the wall clock alone"])
def test_restarts_with_wall_clock_stamps_all_count_each_at_its_own_time(decorators: str) -> None:
    earlier, later = of_jvm(EARLIER, started_s=START_S - 300), of_jvm(LATER, started_s=START_S)
    if decorators != "both clocks":
        earlier, later = (
            [(at, f"{line[:30]}{line[30:].partition(']')[2]}") for at, line in lines]
            for lines in (earlier, later)
        )
    log = read_log(text_of([*earlier, *later]))
    assert ms(log) == [33.0] * 10 + [4.0] * 10 and not left_out(log)
    assert any("of 2 processes" in text for text in log.warnings)
    assert [round(life.start_s - START_S) for life in log.processes] == [-300, 0]
    if decorators == "both clocks":
        chosen = read_log(text_of([*earlier, *later]), process_start_epoch_s=START_S - 301)
        assert ms(chosen) == [33.0] * 10 and "10 collections of another process" in left_out(chosen)


@pytest.mark.parametrize(
    ("carrier", "old", "new"),
    [("docker compose", "shop-1", "shop-2"), ("journald", "4711", "4712"), ("kubectl with names and times", "x2x9z", "abcde")],
)  # fmt: skip
def test_two_processes_side_by_side_are_told_apart_and_never_mixed(carrier: str, old: str, new: str) -> None:
    a, b = renamed(of_jvm(LATER), carrier), renamed(of_jvm(EARLIER), carrier, old, new)
    with pytest.raises(InputError, match="several processes side by side"):
        read_log(text_of(mixed(a, b)), process_start_epoch_s=START_S)
    # one after the other they are a restart
    assert ms(read_log(text_of([*b, *a]))) == [4.0] * 10
    of_a, of_b = (of_jvm(pauses, started_s=START_S) for pauses in (LATER, EARLIER))
    a, b = renamed(of_a, carrier), renamed(of_b, carrier, old, new)
    log = read_log(text_of(mixed(a, b)))
    assert len(log.processes) == 2 and log.processes[0].name != log.processes[1].name
    assert sorted(ms(log)) == [4.0] * 10 + [33.0] * 10


def test_two_processes_that_share_lines_without_a_name_are_refused_too() -> None:
    late = of_jvm([(at_s + 100, length_s) for at_s, length_s in LATER], first_id=30)
    with pytest.raises(InputError, match="several processes side by side"):
        read_log(text_of(mixed(of_jvm(EARLIER), [(at - 100.5, line) for at, line in late])))
    with pytest.raises(InputError, match="several processes side by side"):
        read_log(text_of(mixed(go_lines(EARLIER), go_lines(LATER, first_id=30))))


def test_a_jvm_and_a_go_process_of_one_compose_file_are_two_processes() -> None:
    jvm = renamed(of_jvm(LATER), "docker compose")
    go = renamed(go_lines(EARLIER), "docker compose", "shop", "cart")
    with pytest.raises(InputError, match="'(shop|cart)-1  | ' and '(shop|cart)-1  | '"):
        read_log(text_of(mixed(jvm, go)))
    wall = read_log(text_of(mixed(renamed(of_jvm(LATER, started_s=START_S), "docker compose"), go)))
    assert (wall.runtime, ms(wall)) == ("jvm", [4.0] * 10)
    assert "10 collections of another process" in left_out(wall)
