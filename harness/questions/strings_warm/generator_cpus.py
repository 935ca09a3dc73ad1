# SPDX-License-Identifier: Apache-2.0
"""Warm services whose load generator runs on other CPUs, on theirs, or on any: what a request costs in each case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarise
from harness.model import Estimate, Experiment
from harness.model.formatting import verdict_name
from harness.publish.cells import Cell, gapped
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Tree, for_each

FACTOR = "generator_cpus"
#: Levels of the factor in the definition's order, and what they mean.
LEVELS: Mapping[str, str] = {"apart": "on another CPU", "same": "on the service's CPU", "any": "not pinned"}
COST, KERNEL = "cpu_s_per_request", "kernel_cpu_s_per_request"


@dataclass(frozen=True, kw_only=True)
class AtLevel:
    """One level, by variant. ``reference``: the variant that others are compared with; ``cost``: mean CPU time per
    request; ``kernel``: the part of it that the kernel spent for the service; ``ratio``: the cost over the reference's
    at this level; ``moved``: over that of the same service at the first level."""

    reference: str
    cost: Mapping[str, Estimate]
    kernel: Mapping[str, Estimate]
    ratio: Mapping[str, Comparison]
    moved: Mapping[str, Comparison]


def generator_levels(trials: pd.DataFrame | None, *, reference: str) -> Mapping[str, AtLevel]:
    """Return each level that was measured. ``trials``: those of ``generator-cpus``; ``None``: not measured."""
    if trials is None:
        return {}
    first = next(iter(LEVELS))
    return {
        level: AtLevel(
            reference=reference,
            cost=_means(here, COST),
            kernel=_means(here, KERNEL),
            ratio=_ratios(here, reference),
            moved={} if level == first else _moved(trials, level, first),
        )
        for level in LEVELS
        if len(here := trials[trials[FACTOR] == level])
    }


def generator_results(
    levels: Mapping[str, AtLevel], definition: Experiment, *, machine: str | None = None
) -> Tree:
    """Return ``generator.{cost,kernel,ratio,moved}.<level>.<variant>``, measured or not; see :class:`AtLevel`.

    ``machine``: where it was measured and where the session of warm services was, when the machines are not the same;
    ``generator.machine`` says so.
    """
    variants = definition.labels
    reference = next((one.reference for one in levels.values()), definition.reference)
    none = AtLevel(reference=reference, cost={}, kernel={}, ratio={}, moved={})
    at = {level: levels.get(level, none) for level in LEVELS}
    others = [name for name in variants if name != reference]
    absent = Absent(unit="s")
    return {
        "generator": {
            "machine": NO_TEXT if machine is None else machine,
            "cost": {level: for_each(variants, one.cost, absent) for level, one in at.items()},
            "kernel": {level: for_each(variants, one.kernel, absent) for level, one in at.items()},
            "ratio": {level: for_each(others, one.ratio, NO_COMPARISON) for level, one in at.items()},
            "moved": {
                level: for_each(variants, one.moved, NO_COMPARISON) for level, one in list(at.items())[1:]
            },
        }
    }


def generator_rows(
    levels: Mapping[str, AtLevel], variants: Mapping[str, str]
) -> list[Mapping[str, Cell] | None]:
    """Return a table row for each service and level that was measured."""
    rows: list[Mapping[str, Cell]] = []
    for variant, label in variants.items():
        for level, one in levels.items():
            if variant not in one.cost:
                continue
            moved, ratio = one.moved.get(variant), one.ratio.get(variant)
            rows.append(
                {
                    "variant": label,
                    "level": LEVELS[level],
                    "cost": one.cost[variant],
                    "kernel": one.kernel.get(variant),
                    "moved": None if moved is None else moved.ratio,
                    "ratio": None if ratio is None else ratio.ratio,
                    "verdict": "" if ratio is None else verdict_name(ratio),
                }
            )
    return gapped(rows, "variant")


def _means(trials: pd.DataFrame, metric: str) -> Mapping[str, Estimate]:
    if trials[metric].isna().all():
        return {}
    frame = summarise(trials, metric)
    return dict(zip(frame["variant"].astype(str), frame["estimate"], strict=True))


def _ratios(trials: pd.DataFrame, reference: str) -> Mapping[str, Comparison]:
    if reference not in set(trials["variant"]):
        return {}
    return {one.variant: one for one in compare(trials, COST, reference=reference)}


def _moved(trials: pd.DataFrame, level: str, first: str) -> Mapping[str, Comparison]:
    """Return a level over the first one for each service. What bounds them is part of what is asked: no gate."""
    found: dict[str, Comparison] = {}
    both = trials[trials[FACTOR].isin([first, level])]
    for name, mine in both.groupby("variant", sort=False, observed=True):
        if set(mine[FACTOR]) == {first, level}:
            arms = mine.assign(variant=mine[FACTOR].astype(str))
            found[str(name)] = next(iter(compare(arms, COST, reference=first, gated=False)))
    return found
