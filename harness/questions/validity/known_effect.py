# SPDX-License-Identifier: Apache-2.0
"""A handicap of known size: does the session find it, and does its interval hold what was declared?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.pairing import in_duet, with_own_reference
from harness.evidence import Evidence
from harness.model.base import Frozen
from harness.model.digits import plain
from harness.publish.cells import Cell
from harness.publish.duets import beside_itself
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, as_is

#: The setting of a variant that declares which share of its CPU time it burns.
SETTING = "handicap"
_WORDS = {"throughput_per_s": "throughput", "cpu_s_per_request": "CPU time per request"}
_KEYS = {"throughput": "throughput_per_s", "cpu": "cpu_s_per_request"}


class Recovered(Frozen):
    """One metric of one handicapped variant. ``holds``, ``found``: ``None`` where the ratio has no interval."""

    comparison: Comparison
    truth: float
    holds: bool | None
    found: bool | None


def known_effects(evidence: Evidence | None) -> tuple[Recovered, ...]:
    """Return what a session says of its handicapped variants; empty: none was measured."""
    if evidence is None:
        return ()
    declared = {
        name: float(variant.settings[SETTING])
        for name, variant in evidence.header.experiment.variants.items()
        if SETTING in variant.settings
    }
    return recovered(evidence.trials, declared, reference=evidence.reference)


def recovered(
    trials: pd.DataFrame, declared: Mapping[str, float], *, reference: str
) -> tuple[Recovered, ...]:
    """Hold the interval of each handicapped variant against what its handicap makes of the metric.

    A process that burns the share h of its CPU time has 1/(1 - h) times the CPU time per request, and (1 - h) times
    the throughput where the CPU is the limit: where something else was, the comparison says so, and nothing is held.
    In a duet service and generator share the CPUs, and throughput is the inverse of what both take per request:
    s/(1 - h) of the service, where s is that of the reference, and of the generator what was measured in each arm. A
    generator takes more per request from a slower service, because fewer answers come at once.

    Args:
        declared: variant -> the share. trials: of one session, the reference among them.

    Raises:
        InputError: no trial of the reference, or a column is missing.
    """
    found = []
    for metric in _KEYS.values():
        for one in compare(trials, metric, reference=reference):
            if one.variant not in declared:
                continue
            truth = _truth(
                metric, declared[one.variant], with_own_reference(trials, one.variant, reference), reference
            )
            low, high = one.ratio.low, one.ratio.high
            told = low is not None and high is not None and one.about_services
            found.append(
                Recovered(
                    comparison=one,
                    truth=truth,
                    holds=low <= truth <= high if told and low is not None and high is not None else None,
                    found=not low <= 1 <= high if told and low is not None and high is not None else None,
                )
            )
    return tuple(found)


def _truth(metric: str, handicap: float, arms: pd.DataFrame, reference: str) -> float:
    """What a handicap makes of a metric, by definition; see :func:`recovered`."""
    if metric != "throughput_per_s":
        return 1 / (1 - handicap)
    told = arms[in_duet(arms) & ~arms["excluded"].astype(bool) & ~arms["duplicate"].astype(bool)]
    used = told.reindex(columns=["variant", metric, "service_cores", "generator_cores"]).dropna()
    ours, theirs = used[used["variant"] == reference], used[used["variant"] != reference]
    if ours.empty or theirs.empty:
        return 1 - handicap
    service, generator, handicapped_generator = (
        float((arm[column] / arm[metric]).mean())
        for arm, column in ((ours, "service_cores"), (ours, "generator_cores"), (theirs, "generator_cores"))
    )
    return (service + generator) / (service / (1 - handicap) + handicapped_generator)


def known_results(found: Sequence[Recovered], name: str = "known", *, machine: str | None = None) -> Tree:
    """Return ``<name>.{throughput,cpu}.{effect,truth,said}``, the ratio with its verdict, measured or not.

    Args:
        machine: where that was and where the session of warm services was, when the machines are not the same;
            ``<name>.machine`` says so.
    """
    by_metric = {one.comparison.metric: one for one in found}
    tree: dict[str, Tree | Leaf] = {"machine": NO_TEXT if machine is None else machine}
    for key, metric in _KEYS.items():
        one = by_metric.get(metric)
        tree[key] = {
            "effect": NO_COMPARISON if one is None else one.comparison,
            "truth": Absent() if one is None else as_is(one.truth, "ratio", "declared"),
            "said": NO_TEXT if one is None else said(one),
        }
    return {name: tree}


def duet_results(evidence: Evidence | None, found: Sequence[Recovered]) -> Tree:
    """Return ``duet`` as :func:`known_results` does, and of the reference beside itself
    ``duet.equal.{throughput,cpu}.{ratio,finds}``: the ratio, and the smallest one that ten blocks would find."""
    tree = known_results(found, "duet")["duet"]
    assert isinstance(tree, Mapping)
    equal = {key: beside_itself(evidence, metric) for key, metric in _KEYS.items()}
    return {"duet": {**tree, "equal": equal}}


def known_rows(found: Sequence[Recovered]) -> list[Mapping[str, Cell] | None]:
    """Return one row a metric: the declared ratio, the measured one, and whether they agree."""
    return [
        {
            "metric": _WORDS[one.comparison.metric],
            "truth": plain(one.truth, 4),
            "ratio": one.comparison.ratio,
            "blocks": one.comparison.n_blocks,
            "said": said(one),
        }
        for one in found
    ]


def said(one: Recovered) -> str:
    """Return whether the interval holds what was declared, and whether it tells it from no effect."""
    if one.holds is None or one.found is None:
        return f"cannot be said: {one.comparison.not_about or 'no interval'}"
    held = "the interval contains it" if one.holds else "the interval does not contain it"
    return f"{held}; the difference is {'detected' if one.found else 'not detected'}"
