# SPDX-License-Identifier: Apache-2.0
"""Rules for reading what runtimes say about their pauses. The logs are real ones."""

from __future__ import annotations

import gzip
import itertools
import re
from pathlib import Path

import pytest

from harness.formats.runtime_log import read_runtime_log, rotated_parts
from harness.tests.support.runtime_logs import read_log, read_trace

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
LOGS = sorted((GOLDEN / "jvm_log").glob("*.log.gz"))
WITH_SAFEPOINTS = [log for log in LOGS if not re.match(r"jdk11|.*nosafepoint", log.name)]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_every_collector_of_both_jdks_is_read_without_an_unknown_line(path: Path) -> None:
    log = read_runtime_log(path)
    assert log.n_unknown == 0
    assert log.collector == path.name.split("-")[1].split(".")[0]
    assert [event for event in log.events if event.cause == "gc_pause"]


@pytest.mark.parametrize("path", WITH_SAFEPOINTS, ids=lambda path: path.name)
def test_each_safepoint_line_is_one_pause_of_its_total_length(path: Path) -> None:
    text = gzip.decompress(path.read_bytes()).decode()
    totals = sorted(int(ns) for ns in re.findall(r"Safepoint .*Total: +(\d+) ns", text))
    read = sorted(round(e.duration_s * 1e9) for e in read_runtime_log(path).events if e.whole_stop)
    assert read == pytest.approx(totals, abs=300)


@pytest.mark.parametrize("path", WITH_SAFEPOINTS, ids=lambda path: path.name)
def test_pauses_of_one_process_do_not_overlap(path: Path) -> None:
    stops = [event for event in read_runtime_log(path).events if event.whole_stop]
    for earlier, later in itertools.pairwise(stops):
        assert later.start_s >= earlier.end_s - 2e-3


def test_a_safepoint_is_longer_than_the_collection_inside_it() -> None:
    path = next(log for log in LOGS if log.name == "jdk25-Serial.log.gz")
    text = gzip.decompress(path.read_bytes()).decode()
    young = re.findall(r"\[gc +\] GC\((\d+)\) Pause Young .* ([\d.]+)ms", text)
    stops = {event.gc_id: event for event in read_runtime_log(path).events if "Young" in event.name}
    compared = [(stops[int(i)].duration_s * 1e3, float(ms)) for i, ms in young if int(i) in stops]
    assert len(compared) > 10 and all(stop_ms >= pause_ms for stop_ms, pause_ms in compared)


def test_an_allocation_stall_is_not_called_a_pause_of_the_program() -> None:
    log = read_runtime_log(next(log for log in LOGS if log.name == "jdk25-Z.log.gz"))
    stalls = [event for event in log.events if event.cause == "allocation_stall"]
    assert all(not event.whole_stop and event.duration_s > 0 for event in stalls)


def test_without_safepoint_lines_the_collections_stand_and_the_gap_is_said() -> None:
    log = read_runtime_log(next(log for log in LOGS if "G1-nosafepoint" in log.name))
    assert log.events and not any(event.whole_stop for event in log.events)
    assert any("no safepoint lines" in warning for warning in log.warnings)


def test_parts_of_a_rotated_log_are_found_whatever_its_name(tmp_path: Path) -> None:
    log = tmp_path / "gc[1]*.log"
    for name in (log.name, f"{log.name}.0", f"{log.name}.1", f"{log.name}.txt", "gc1.log.2", "gc[1]*.log2"):
        (tmp_path / name).touch()
    assert rotated_parts(log) == (log, tmp_path / f"{log.name}.0", tmp_path / f"{log.name}.1")
    assert rotated_parts(tmp_path / "none" / "gc.log") == (tmp_path / "none" / "gc.log",)


def test_rotated_parts_are_joined_in_time_order_and_the_missing_start_is_said() -> None:
    parts = rotated_parts(GOLDEN / "jvm_log" / "rotated.log")
    assert len(parts) == 3
    log = read_runtime_log(*reversed(parts))
    assert [e.end_s for e in log.events] == sorted(e.end_s for e in log.events)
    assert any("starts late" in warning for warning in log.warnings)
    # no pause of one collection stands in two parts: joined, each is there once
    seen = [(e.gc_id, e.name, e.start_s) for e in log.events]
    assert len(set(seen)) == len(seen) > 0


def test_an_empty_log_says_that_nothing_can_be_said() -> None:
    log = read_log("")
    assert log.events == () and "empty" in log.warnings[0]


def test_go_pauses_have_the_length_that_the_clock_fields_say() -> None:
    line = (
        "gc 61 @3.266s 1%: 0.13+0.66+0.004 ms clock, 0.27+0.15/0.13/0+0.008 ms cpu, "
        "3->4->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"
    )
    sweep, term = read_trace(line).events
    assert sweep.start_s == 3.266 and sweep.duration_s == pytest.approx(0.13e-3)
    assert term.start_s == pytest.approx(3.266 + 0.79e-3) and term.duration_s == pytest.approx(4e-6)
    assert (sweep.heap_before_bytes, term.heap_after_bytes) == (3 * 1024**2, 2 * 1024**2)


@pytest.mark.parametrize(
    "line",
    [
        "gc 1 @0.012s 2%: 0.026+0.39+0.10 ms clock, 0.21+0.88/0.52/0+0.83 ms cpu, 4->5->1 MB, 5 MB goal, 8 P",
        "gc 9 @1.5s 0%: 0.1+0.2+0.3 ms clock, 0.2+0.1/0.1/0.1+0.6 ms cpu, 4->4->0 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)",
        "gc 2 @0.1s 3%: 1e-05+0.2+0.3 ms clock, 0.2+0.1/0.1/0.1+0.6 ms cpu, 4->4->0 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P",
    ],
)
def test_older_forced_and_tiny_forms_are_read(line: str) -> None:
    assert read_trace(line + "\n").n_unknown == 0
