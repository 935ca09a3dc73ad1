# SPDX-License-Identifier: Apache-2.0
"""Real logs of every collector of JDK 17, 21 and 25 and of every release of Go from 1.21 on, as they are and after
what a log goes through: cut, rotated, mixed with foreign lines, with other decorators."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.formats.gc_events import GcLog
from harness.formats.runtime_log import read_runtime_log, rotated_parts
from harness.tests.support.log_forms import read_log, read_trace

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
LOGS = {
    path.name.removesuffix(".log.gz"): gzip.decompress(path.read_bytes()).decode()
    for path in sorted((GOLDEN / "jvm_log").glob("*.log.gz"))
}
COLLECTORS = ("Serial", "Parallel", "G1", "Z", "Shenandoah")
GO = {path.stem: path.read_text() for path in sorted((GOLDEN / "gctrace").glob("go*.log"))}
newest_jvm = pytest.mark.parametrize("name", [f"jdk25-{name}" for name in COLLECTORS])
every_go = pytest.mark.parametrize("name", GO)


@newest_jvm
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_jvm_log_cut_anywhere_says_so_and_keeps_what_stood_before(name: str, data: st.DataObject) -> None:
    def stops(log: GcLog) -> list[tuple[float, str]]:
        return [(round(e.duration_s, 6), e.name) for e in log.events if e.whole_stop]

    text = LOGS[name]
    cut = data.draw(st.integers(text.index("\n") + 1, len(text)))
    part = read_log(text[:cut])
    assert part.n_unknown <= 1
    before = read_log(text[: text.rindex("\n", 0, cut) + 1])
    # a pause whose safepoint stands in the cut line has no safepoint yet without it
    assert stops(part)[: len(stops(before))] == stops(before)
    assert len(part.events) in (len(before.events), len(before.events) + 1)
    assert any("half-written" in warning for warning in part.warnings) == (text[cut - 1] != "\n")


def test_parts_of_a_rotated_log_are_those_of_its_name_whatever_that_is(tmp_path: Path) -> None:
    log = tmp_path / "gc[1]*.log"
    for name in (log.name, f"{log.name}.0", f"{log.name}.1", f"{log.name}.txt", "gc1.log.2", "gc[1]*.log2"):
        (tmp_path / name).touch()
    assert rotated_parts(log) == (log, tmp_path / f"{log.name}.0", tmp_path / f"{log.name}.1")
    parts = rotated_parts(GOLDEN / "jvm_log" / "rotated.log")
    joined = read_runtime_log(*reversed(parts))
    assert [e.end_s for e in joined.events] == sorted(e.end_s for e in joined.events)
    assert any("starts late" in warning for warning in joined.warnings)
    events = [(e.gc_id, e.name, e.start_s) for e in joined.events]
    assert len(parts) == 3 and len(set(events)) == len(events) > 0
    assert "empty" in read_log("").warnings[0]
    assert "no pause in it" in read_log("[0.010s][info][gc,init] Heap Max Capacity: 48M\n").warnings[0]


@every_go
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_a_trace_cut_or_among_other_lines_loses_its_last_line_at_most(name: str, data: st.DataObject) -> None:
    text = GO[name]
    cut = data.draw(st.integers(1, len(text)))
    log = read_trace(text[:cut])
    whole = [line for line in text[:cut].split("\n")[:-1] if line.startswith("gc ")]
    assert len(whole) <= log.n_collections <= len(whole) + 1
    assert log.n_unknown <= 1
    lines = text.splitlines()
    for place in data.draw(st.lists(st.integers(0, len(lines)), min_size=1, max_size=5)):
        lines.insert(place, "level=info msg=hello took=3ms")
    plain, mixed = read_trace(text), read_trace("\n".join(lines) + "\n")
    assert mixed.events == plain.events and mixed.n_unknown == 0
    garbled = read_trace("\n".join([*lines, "gc 9 @1.0s what is this", "the end"]) + "\n")
    assert garbled.n_unknown == 1 and garbled.unknown_examples == ("gc 9 @1.0s what is this",)
    assert garbled.events == plain.events


@pytest.mark.parametrize(
    ("line", "n_unknown"),
    [
        ("gc 1 @0.012s 2%: 0.026+0.39+0.10 ms clock, 0.21+0.88/0.52/0+0.83 ms cpu, 4->5->1 MB, 5 MB goal, 8 P", 0),
        ("gc 9 @1.5s 0%: 0.1+0.2+0.3 ms clock, 0.2+0.1/0.1/0.1+0.6 ms cpu, 4->4->0 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)", 0),
        ("gc 2 @0.1s 3%: 1e-05+0.2+0.3 ms clock, 0.2+0.1/0.1/0.1+0.6 ms cpu, 4->4->0 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P", 0),
        (f"gc 1 @0.1s 2%: {'0' * 40}+0.2+0.003 ms clock, 0.1+0/0/0+0.1 ms cpu, 4->4->0 MB, 4 MB goal, 2 P", 1),
        (f"gc 1 @0.1s 2%: {'+' * 2000}+0.2+0.003 ms clock, 0.1+0/0/0+0.1 ms cpu, 4->4->0 MB, 4 MB goal, 2 P", 1),
    ],
    ids=["older", "forced", "tiny", "a length without end", "signs without end"],
)  # fmt: skip
def test_forms_of_a_line_of_go(line: str, n_unknown: int) -> None:
    assert read_trace(line + "\n").n_unknown == n_unknown
