# SPDX-License-Identifier: Apache-2.0
"""Every captured file of a tool or runtime, and the numbers that stand in it."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.formats import rows
from harness.formats.detect import read_any
from harness.formats.gc_events import GcLog
from harness.formats.runtime_log import read_runtime_log
from harness.formats.table import AggregateTable, RequestTable

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
EXPECTED: dict[str, dict[str, Any]] = json.loads((GOLDEN / "formats.json").read_text("utf-8"))
FOLDERS = ("jmeter", "locust", "k6", "oha", "vegeta", "metronome", "wrk", "wrk2", "hey", "autocannon")
#: Captured beside them: totals of other programs, and what is refused.
NO_RESULTS = ("README.md", "results.xml", "totals.json", "mix.json", "run_failures.csv", "run_exceptions.csv")
RESULTS = sorted(
    path.relative_to(GOLDEN).as_posix()
    for folder in FOLDERS
    for path in (GOLDEN / folder).iterdir()
    if path.name not in NO_RESULTS or (folder == "oha" and path.suffix == ".json")
)
LOGS = sorted(
    path.relative_to(GOLDEN).as_posix()
    for folder in ("jvm_log", "gctrace", "jfr_json")
    for path in (GOLDEN / folder).iterdir()
    if path.suffix in {".log", ".gz"} and "rotated" not in path.name
)


def facts_of_requests(table: RequestTable) -> dict[str, Any]:
    """Return what a table of single requests says."""
    latency_s = table.latency_s
    return {
        "source": table.source,
        "n": table.n_requests,
        "errors": table.n_errors,
        "kinds": table.errors_by_kind,
        "labels": dict(sorted(Counter(table.label).items())),
        "mean_s": float(latency_s.mean()),
        "quantiles_s": np.quantile(latency_s, [0.0, 0.5, 0.99, 1.0]).tolist(),
        "first_s": table.first_start_epoch_s,
        "duration_s": table.duration_s,
        "connect_s": None if table.connect_s is None else float(np.nansum(table.connect_s)),
        "resolution_s": table.resolution_s,
        "unreadable": table.unreadable.n,
        "left_out": 0 if table.sums is None else len(table.sums.latency_s),
        "notes": list(table.notes),
    }


def facts_of_log(log: GcLog) -> dict[str, Any]:
    """Return what a runtime's log says."""
    return {
        "collector": log.collector,
        "clock": log.clock,
        "causes": dict(sorted(Counter(event.cause for event in log.events).items())),
        "stopped_s": math.fsum(event.duration_s for event in log.events),
        "whole_stops": sum(event.whole_stop for event in log.events),
        "cycles_s": math.fsum(cycle.end_s - cycle.start_s for cycle in log.cycles),
        "span_s": [log.start_s, log.end_s],
        "collections": log.n_collections,
        "unknown": log.n_unknown,
        "warnings": list(log.warnings),
    }


def facts(name: str) -> dict[str, Any]:
    """Return what is read from a captured file."""
    if name in LOGS:
        return facts_of_log(read_runtime_log(GOLDEN / name, of_go=name.startswith("gctrace")))
    table = read_any(GOLDEN / name)
    if isinstance(table, RequestTable):
        return facts_of_requests(table)
    assert isinstance(table, AggregateTable)
    result: dict[str, Any] = json.loads(table.model_dump_json(exclude={"path"}))
    return result


def assert_same(got: Any, expected: Any, place: str) -> None:
    if isinstance(expected, dict):
        assert got.keys() == expected.keys(), place
        for key, value in expected.items():
            assert_same(got[key], value, f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(got) == len(expected), place
        for number, value in enumerate(expected):
            assert_same(got[number], value, f"{place}.{number}")
    elif isinstance(expected, float) and not isinstance(got, str):
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-12), place
    else:
        assert got == expected, place


def test_every_captured_file_is_here() -> None:
    assert {*RESULTS, *LOGS} == set(EXPECTED)


@pytest.mark.parametrize("name", LOGS)
def test_the_numbers_of_a_captured_log(name: str) -> None:
    assert_same(facts(name), EXPECTED[name], name)


@pytest.mark.parametrize("name", RESULTS)
def test_the_numbers_of_a_file_by_arrow_and_row_by_row(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "ARROWS_BYTES", 0)  # for small files, too
    assert_same(facts(name), EXPECTED[name], name)
    monkeypatch.setattr(rows, "_quickly", lambda block, layout, wanted: None)
    assert_same(facts(name), EXPECTED[name], name)
