# SPDX-License-Identifier: Apache-2.0
"""Whatever a log went through (cut, rotated, mixed with foreign lines, other decorators), what is left of it is read
as it stands, for every collector of JDK 17, 21 and 25 and every release of Go from 1.21 on. The logs are real ones."""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.formats.gc_events import GcLog
from harness.tests.support.runtime_logs import read_log as read
from harness.tests.support.runtime_logs import read_trace

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
COLLECTORS = ("Serial", "Parallel", "G1", "Z", "Shenandoah")
JVM = {
    f"jdk{jdk}-{name}": gzip.decompress(
        (GOLDEN / "jvm_log" / f"jdk{jdk}-{name}.log.gz").read_bytes()
    ).decode()
    for jdk in (17, 21, 25)
    for name in COLLECTORS
}
GO = {path.stem: path.read_text() for path in sorted((GOLDEN / "gctrace").glob("go*.log"))}
GO_RELEASES = ("go1.21", "go1.22", "go1.23", "go1.24", "go1.25", "go1.26")
#: None of them has decorators, as the JVM's own warnings and a program's output have none.
FOREIGN = st.sampled_from(
    ["OpenJDK 64-Bit Server VM warning: x", "at Main.main(Main.java:3)", "{}", "1,2,3", "\ufffd"]
)
every_jvm = pytest.mark.parametrize("name", JVM)
every_go = pytest.mark.parametrize("name", GO)


def pauses(log: GcLog) -> list[tuple[float, str, int | None, str]]:
    return [(round(e.duration_s, 6), e.cause, e.gc_id, e.name) for e in log.events]


def stops(log: GcLog) -> list[tuple[float, str]]:
    return [(round(e.duration_s, 6), e.name) for e in log.events if e.whole_stop]


@every_jvm
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_jvm_log_cut_anywhere_says_so_and_keeps_what_stood_before(name: str, data: st.DataObject) -> None:
    text = JVM[name]
    cut = data.draw(st.integers(text.index("\n") + 1, len(text)))
    part = read(text[:cut])
    assert part.truncated == (text[cut - 1] != "\n")
    assert part.n_unknown <= 1
    before = read(text[: text.rindex("\n", 0, cut) + 1])
    # a pause whose safepoint stands in the cut line has no safepoint yet without it
    assert stops(part)[: len(stops(before))] == stops(before)
    assert len(part.events) in (len(before.events), len(before.events) + 1)
    assert any("half-written" in warning for warning in part.warnings) == part.truncated


@every_jvm
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_foreign_lines_in_a_jvm_log_are_counted_and_shown_and_change_no_pause(
    name: str, data: st.DataObject
) -> None:
    lines = JVM[name].splitlines()
    foreign = data.draw(st.lists(st.tuples(st.integers(1, len(lines)), FOREIGN), min_size=1, max_size=5))
    for place, words in foreign:
        lines.insert(place, words)
    log = read("\n".join(lines) + "\n")
    assert log.n_unknown == len(foreign)
    assert set(log.unknown_examples) <= {words for _, words in foreign}
    assert len(log.unknown_examples) == min(3, len(foreign))
    assert pauses(log) == pauses(read(JVM[name]))


@every_jvm
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_rotated_jvm_log_is_one_log_in_whatever_order_its_parts_are_named(
    name: str, data: st.DataObject
) -> None:
    lines = JVM[name].splitlines(keepends=True)
    places = sorted(data.draw(st.sets(st.integers(1, len(lines) - 1), min_size=1, max_size=4)))
    edges = [0, *places, len(lines)]
    parts = ["".join(lines[low:high]) for low, high in itertools.pairwise(edges)]
    whole, joined = read(JVM[name]), read(*data.draw(st.permutations(parts)))
    assert pauses(joined) == pauses(whole)
    assert (joined.start_s, joined.end_s) == (whole.start_s, whole.end_s)
    assert joined.n_unknown == 0 and joined.collector == whole.collector


@every_jvm
def test_a_rotated_jvm_log_that_lost_its_first_part_says_that_it_starts_late(name: str) -> None:
    lines = JVM[name].splitlines(keepends=True)
    ids = [re.search(r"GC\((\d+)\)", line) for line in lines]
    first_of_next = next(k for k, found in enumerate(ids) if found and found[1] == "2")
    late = read("".join(lines[first_of_next:]))
    assert any("starts late" in warning for warning in late.warnings)
    assert not any("starts late" in warning for warning in read(JVM[name]).warnings)


_MS_NS = re.compile(r"^\[(\d+)ms\]\[(\d+)ns\]", re.MULTILINE)


def iso(found: re.Match[str]) -> str:
    moment = datetime.fromtimestamp(int(found[1]) / 1e3, UTC)
    return f"[{moment:%Y-%m-%dT%H:%M:%S}.{int(found[1]) % 1000:03d}+0000]"


#: name of a decoration -> what to make of the milliseconds and nanoseconds that the captured logs carry
VARIANTS: dict[str, Callable[[re.Match[str]], str]] = {
    "uptime in nanoseconds": lambda found: f"[{found[2]}ns]",
    "uptime in seconds": lambda found: f"[{int(found[2]) / 1e9:.3f}s]",
    "the wall clock in words, with process and thread": lambda found: f"{iso(found)}[4711][4712]",
    "the wall clock in words, and uptime": lambda found: f"{iso(found)}[{int(found[2]) / 1e9:.3f}s]",
    "everything": lambda found: (
        f"{iso(found)}[{found[0][1:-1].split(']')[0]}][{found[2]}ns][host][4711][4712]"
    ),
}


@every_jvm
@pytest.mark.parametrize("variant", VARIANTS)
def test_whatever_decorates_the_lines_the_pauses_stay_the_same(name: str, variant: str) -> None:
    log, plain = read(_MS_NS.sub(VARIANTS[variant], JVM[name])), read(JVM[name])
    assert log.n_unknown == 0 and log.collector == plain.collector
    assert log.clock == ("epoch" if "wall" in variant or variant == "everything" else "uptime")
    # which pause a safepoint holds is told by their times, so with times in milliseconds names may differ
    mine, theirs = [e for e in log.events if e.whole_stop], [e for e in plain.events if e.whole_stop]
    assert [e.duration_s for e in mine] == pytest.approx([e.duration_s for e in theirs], abs=1e-6)
    for one, other in zip(mine, theirs, strict=True):
        assert abs((one.start_s - mine[0].start_s) - (other.start_s - theirs[0].start_s)) < 2.5e-3


def test_there_is_a_real_trace_of_every_release_of_go() -> None:
    assert set(GO) == set(GO_RELEASES)


@every_go
def test_every_line_of_a_real_trace_is_read(name: str) -> None:
    log = read_trace(GO[name])
    assert log.n_unknown == 0 and not log.truncated
    assert log.n_collections == len(re.findall(r"^gc \d+ @", GO[name], re.MULTILINE)) >= 10
    assert len(log.events) == 2 * log.n_collections == 2 * len(log.cycles)
    assert all(event.duration_s >= 0 for event in log.events)
    ends = [cycle.end_s for cycle in log.cycles]
    # printed starts are cut to milliseconds, so a later collection may seem to begin before an earlier one ended
    assert all(later >= earlier - 2e-3 for earlier, later in itertools.pairwise(ends))
    assert not any("starts late" in warning or "gaps" in warning for warning in log.warnings)


@every_go
def test_what_a_trace_says_of_each_collection_is_what_the_line_says(name: str) -> None:
    log = read_trace(GO[name])
    lines = [line for line in GO[name].splitlines() if line.startswith("gc ")]
    for line, cycle, sweep, mark in zip(lines, log.cycles, log.events[::2], log.events[1::2], strict=True):
        words = line.split()
        assert cycle.gc_id == int(words[1])
        assert cycle.start_s == float(words[2][1:-1])
        clock_ms = [float(part) for part in words[4].split("+")]
        assert sweep.duration_s == pytest.approx(clock_ms[0] / 1e3)
        assert mark.duration_s == pytest.approx(clock_ms[2] / 1e3)
        assert cycle.end_s - cycle.start_s == pytest.approx(sum(clock_ms) / 1e3)


@every_go
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_trace_cut_anywhere_loses_its_last_line_at_most(name: str, data: st.DataObject) -> None:
    text = GO[name]
    cut = data.draw(st.integers(1, len(text)))
    log = read_trace(text[:cut])
    whole = [line for line in text[:cut].split("\n")[:-1] if line.startswith("gc ")]
    assert len(whole) <= log.n_collections <= len(whole) + 1
    assert log.n_unknown <= 1


@every_go
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_services_own_lines_are_passed_over_and_a_garbled_trace_is_counted(
    name: str, data: st.DataObject
) -> None:
    lines = GO[name].splitlines()
    places = data.draw(st.lists(st.integers(0, len(lines)), min_size=1, max_size=5))
    for place in places:
        lines.insert(place, "level=info msg=hello took=3ms")
    plain, mixed = read_trace(GO[name]), read_trace("\n".join(lines) + "\n")
    assert mixed.events == plain.events and mixed.n_unknown == 0
    garbled = read_trace("\n".join([*lines, "gc 9 @1.0s what is this", "the end"]) + "\n")
    assert garbled.n_unknown == 1 and garbled.unknown_examples == ("gc 9 @1.0s what is this",)
    assert garbled.events == plain.events and not garbled.truncated


@every_go
def test_a_trace_that_begins_in_the_middle_says_that_it_starts_late(name: str) -> None:
    lines = [line for line in GO[name].splitlines() if line.startswith("gc ")]
    log = read_trace("\n".join(lines[4:]) + "\n")
    assert any("starts late" in warning for warning in log.warnings)
