# SPDX-License-Identifier: Apache-2.0
"""The stalls that a report lists, on files of JMeter, Locust and k6 whose stops are known and that chose no threshold."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scipy import stats

from harness.analysis.attribution.event_matching import TOLERANCE_S, match_events
from harness.analysis.attribution.spans import Span
from harness.project import find_root
from harness.tests.support.generated_jtl import report_file
from harness.verify.simulated.result import share

STOPS = find_root() / "harness" / "tests" / "golden" / "stops"
ALL = {path: json.loads(path.read_text("utf-8")) for path in sorted(STOPS.glob("*.json"))}
#: Beyond this share of its CPU time used by others the machine was not idle.
BUSY_SHARE = 0.1
#: Even seeds are kept aside: no threshold may be chosen on them.
ASIDE = {path: truth for path, truth in ALL.items() if truth["seed"] % 2 == 0}
#: Time in which the queue behind a stop drains.
AFTER_S = 0.1
#: Of the control: where no stop was made, between two of them.
ELSEWHERE_S = 1.5
#: Of seconds since 1970, as binary fractions.
ROUNDING_S = 1e-6


class Judged(NamedTuple):
    """What the report of a file lists, the stops that its stated limit promises to show, and all that were made."""

    limit_s: float
    listed: list[Span]
    visible: list[Span]
    stops: list[Span]
    duration_s: float

    def n_listed(self, later_s: float) -> int:
        """Return how many visible stops are listed; each shifted by so much."""
        stops = [(low + later_s, high + later_s) for low, high in self.visible]
        return len(match_events(self.listed, stops).pairs)

    def n_false(self) -> int:
        """Return how many of those listed touch no stop and no queue behind one."""
        made = [(low - TOLERANCE_S, high + AFTER_S) for low, high in self.stops]
        return sum(not any(low <= end and begin <= high for low, high in made) for begin, end in self.listed)


@cache
def judge(path: Path) -> Judged:
    truth = ALL[path]
    report = report_file(STOPS / truth["file"])
    assert report.shortest_visible_ms and report.start_epoch_s and report.duration_s
    limit_s, end_s = report.shortest_visible_ms / 1e3, report.start_epoch_s + report.duration_s
    listed = sorted((stall.start_s, stall.end_s) for stall in report.stalls or ())
    stops = [(a, b) for a, b in truth["stops"] if report.start_epoch_s < a and b < end_s]
    visible = [(low, high) for low, high in stops if high - low >= limit_s]
    return Judged(limit_s, listed, visible, stops, report.duration_s)


def is_busy(truth: dict[str, Any]) -> bool:
    return truth["others_share"] is None or truth["others_share"] > BUSY_SHARE


@pytest.mark.parametrize("path", ASIDE, ids=lambda path: path.stem)
def test_no_file_kept_aside_lists_a_stall_that_its_own_limit_excludes(path: Path) -> None:
    judged = judge(path)
    assert all(high - low >= judged.limit_s - ROUNDING_S for low, high in judged.listed)


@pytest.mark.parametrize("busy", [False, True], ids=["idle machine", "busy machine"])
def test_stops_of_the_files_kept_aside_are_listed_and_few_others(busy: bool) -> None:
    judged = [judge(path) for path, truth in ASIDE.items() if is_busy(truth) == busy]
    n = sum(len(one.visible) for one in judged)
    n_listed, n_elsewhere = (sum(one.n_listed(by) for one in judged) for by in (0.0, ELSEWHERE_S))
    assert not share(n, name="listed", value=n_listed / n, at_least=0.95).refuted
    assert n_elsewhere / n <= 0.5, "control: the stops shifted to where none was made"
    minutes = sum(one.duration_s for one in judged) / 60
    n_false = sum(one.n_false() for one in judged)
    assert stats.poisson.sf(n_false - 1, minutes) > 0.025, "more than one a minute without a stop"


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "never stopped"])
def test_every_tool_and_loop_is_kept_aside(stopped: bool) -> None:
    kinds = {path.stem.rpartition("-")[0] for path, truth in ASIDE.items() if bool(truth["stops"]) == stopped}
    assert kinds == {"jmeter-closed", "jmeter-open", "k6-closed", "k6-open", "locust-closed"}
