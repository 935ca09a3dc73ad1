# SPDX-License-Identifier: Apache-2.0
"""From the evidence of a sweep over cores to what its notebook says; ``None``: it was not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence import Evidence
from harness.questions.scaling.analysis import CORES, ScalingRow, interaction, scaling_rows, sizes_of

LOGGING, OFF, ON = "logging", "off", "on"
METRIC = "throughput_per_s"
Compared = Mapping[str, Comparison | None]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What a sweep says, by variant. ``fewest`` and ``most``: numbers of cores, as levels.

    ``log_effect``: end of the sweep -> variant -> throughput with a log line over that without.
    ``log_by_cores``: variant -> that effect on the most cores over that on the fewest.
    ``lead``: (end, logging) -> variant -> throughput over the reference's.
    ``lead_by_cores``: logging -> variant -> that lead on the most cores over that on the fewest.
    """

    rows: tuple[ScalingRow, ...]
    fewest: str
    most: str
    log_effect: Mapping[str, Compared]
    log_by_cores: Compared
    lead: Mapping[tuple[str, str], Compared]
    lead_by_cores: Mapping[str, Compared]

    def row(self, variant: str, logging: str) -> ScalingRow | None:
        """Return the row of a variant at a level of logging, if it was measured."""
        return next((r for r in self.rows if r.variant == variant and r.levels.get(LOGGING) == logging), None)

    def at_ends(self, trials: pd.DataFrame) -> pd.DataFrame:
        """Return the trials on the fewest cores and on the most."""
        return trials[trials[CORES].isin([self.fewest, self.most])]

    @property
    def shared(self) -> tuple[int, ...]:
        """Numbers of cores at which service and generator had CPUs in common."""
        return tuple(sorted({size for row in self.rows for size in row.shared}))


def core_sweep(evidence: Evidence | None) -> Sweep | None:
    """Return what the sweep says: growth, the law where it can be fitted, and what depends on cores."""
    if evidence is None:
        return None
    trials, reference = evidence.trials, evidence.reference
    names = [name for name in evidence.variants if name in set(trials["variant"])]
    sizes = sizes_of(trials)
    fewest, most = str(sizes[0]), str(sizes[-1])
    others = [name for name in names if name != reference]
    cells = {
        (end, logging): _at(trials, **{CORES: end, LOGGING: logging})
        for end in (fewest, most)
        for logging in (OFF, ON)
    }
    return Sweep(
        rows=scaling_rows(trials, by=[LOGGING]),
        fewest=fewest,
        most=most,
        log_effect={
            end: {name: _log_effect(_at(trials, variant=name, **{CORES: end})) for name in names}
            for end in (fewest, most)
        },
        log_by_cores={
            name: _between(_at(trials, variant=name), (LOGGING, ON, OFF), fewest, most) for name in names
        },
        lead={place: _leads(cell, reference) for place, cell in cells.items()},
        lead_by_cores={
            logging: {
                name: _between(_at(trials, **{LOGGING: logging}), ("variant", name, reference), fewest, most)
                for name in others
            }
            for logging in (OFF, ON)
        },
    )


def _between(trials: pd.DataFrame, inner: tuple[str, str, str], fewest: str, most: str) -> Comparison | None:
    if fewest == most or trials.empty:
        return None
    return interaction(trials, METRIC, inner=inner, outer=(CORES, most, fewest))


def _log_effect(trials: pd.DataFrame) -> Comparison | None:
    as_variants = trials[~trials["duplicate"].astype(bool)].assign(variant=lambda frame: frame[LOGGING])
    if not {OFF, ON} <= set(as_variants["variant"]):
        return None
    return next(iter(compare(as_variants, METRIC, reference=OFF)), None)


def _leads(cell: pd.DataFrame, reference: str) -> Compared:
    if reference not in set(cell["variant"]):
        return {}
    return {found.variant: found for found in compare(cell, METRIC, reference=reference)}


def _at(trials: pd.DataFrame, **levels: str) -> pd.DataFrame:
    for column, level in levels.items():
        trials = trials[trials[column] == level]
    return trials


__all__ = ["Sweep", "core_sweep"]
