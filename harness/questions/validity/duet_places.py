# SPDX-License-Identifier: Apache-2.0
"""Whether it matters in a duet who is earlier, and where one begins."""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.duet_positions import PLACES, position_effects
from harness.evidence import Evidence
from harness.model import Estimate
from harness.publish.cells import Cell
from harness.publish.results import Absent, Leaf, Tree

_METRICS = {"throughput_per_s": "throughput", "cpu_s_per_request": "CPU time per request"}
_KEYS = {"throughput_per_s": "throughput", "cpu_s_per_request": "cpu"}
Places = Mapping[str, Mapping[str, Estimate]]


def duet_places(evidence: Evidence | None) -> Places:
    """Return metric -> place -> the ratio that it makes; empty: no duet was measured."""
    if evidence is None:
        return {}
    seats = {
        (session.folder.name, trial.trial_id): trial.duet
        for session in evidence.sessions
        for trial in session.header.plan.trials
        if trial.duet is not None
    }
    return {metric: position_effects(evidence.trials, seats, metric) for metric in _METRICS}


def place_results(found: Places) -> Tree:
    """Return ``duet_places.{throughput,cpu}.{earlier,first_half}``, measured or not."""

    def leaf(metric: str, place: str) -> Leaf:
        return found[metric][place] if metric in found else Absent()

    return {
        "duet_places": {
            key: {place: leaf(metric, place) for place in PLACES} for metric, key in _KEYS.items()
        }
    }


def place_rows(found: Places) -> list[Mapping[str, Cell] | None]:
    """Return one row a metric."""
    return [{"metric": _METRICS[metric], **places} for metric, places in found.items()]
