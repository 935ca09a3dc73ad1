# SPDX-License-Identifier: Apache-2.0
"""What a sweep over cores says: growth, the scalability law where it can be fitted, and what else depends on cores.

All functions take the table of trials (``docs/data.md``) with a column of levels that are numbers of cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.pairing import inputs_of, pair_by_block, require, split_excluded, split_missing
from harness.analysis.stats.usl import FEWEST_SIZES, ScalingFit, fit_usl
from harness.errors import InputError
from harness.evidence import Evidence
from harness.model.base import Frozen

CORES = "cores"


class ScalingRow(Frozen):
    """How one variant grows with its cores, at one combination of the other levels."""

    variant: str
    label: str
    levels: dict[str, str]
    sizes: tuple[int, ...] = Field(description="numbers of cores with a trial that counts")
    shared: tuple[int, ...] = Field(description="those at which service and generator had CPUs in common")
    n_bottleneck: int = Field(description="trials in which the generator may have been the limit")
    growth: Comparison | None = Field(description="throughput on the most cores over that on the fewest")
    fit: ScalingFit | None = Field(description="of the sizes that were not shared")
    refused: str | None = Field(description="why there is no fit")


def scaling_rows(
    trials: pd.DataFrame, *, by: Sequence[str] = (), metric: str = "throughput_per_s", n_resamples: int = 1000
) -> tuple[ScalingRow, ...]:
    """Return one row per variant and combination of the levels of ``by``, in order of appearance.

    The law has three numbers, so with fewer than three sizes it is not fitted; neither are sizes at which
    the service and its generator shared CPUs, because what is lost there is not the program's.

    Raises:
        InputError: no such column, or a level of ``cores`` that is no number.
    """
    require(trials, metric, (CORES, *by))
    first = trials[~trials["duplicate"].astype(bool)]
    cells = first.groupby([*by, "variant"], sort=False, observed=True)
    return tuple(_row(cell, metric, by, n_resamples) for _, cell in cells)


def interaction(
    trials: pd.DataFrame, metric: str, *, inner: tuple[str, str, str], outer: tuple[str, str, str]
) -> Comparison | None:
    """Return a ratio of ratios, block by block: does one effect depend on the level of another factor?

    Args:
        inner: (column, level, base): the effect, the metric at the level over that at the base.
        outer: (column, level, base): the effect at this level over the effect at this base.
            A column may be ``variant``. No other factor may vary among ``trials``.

    Returns:
        The comparison, its ratio 1 where the effect is the same at both; ``None``: no block has all four.
    """
    require(trials, metric, (inner[0], outer[0]))
    kept, _ = split_excluded(trials[~trials["duplicate"].astype(bool)])
    kept, _ = split_missing(kept, metric)
    arms, inputs = [], []
    for level in outer[1:]:
        at = kept[kept[outer[0]] == level]
        over, base, _ = pair_by_block(at[at[inner[0]] == inner[1]], at[at[inner[0]] == inner[2]])
        name = f"effect of {inner[0]} {inner[1]} at {outer[0]} {level}"
        effect = over[metric].to_numpy(dtype=np.float64) / base[metric].to_numpy(dtype=np.float64)
        arms.append(over.assign(**{metric: effect, "variant": name}))
        inputs += [*inputs_of(over), *inputs_of(base)]
    effects = pd.concat(arms)
    # a ratio of latencies has no resolution of its own: each of the two was judged where it is reported
    effects = effects.drop(columns=[c for c in ("latency_resolution_s",) if c in effects])
    found = compare(effects, metric, reference=name) if len(arms[0]) and len(arms[1]) else ()
    if not found or not found[0].n_blocks:
        return None
    told = found[0].ratio.model_copy(update={"inputs": tuple(inputs)})
    return found[0].model_copy(update={"ratio": told})


def sizes_of(trials: pd.DataFrame) -> tuple[int, ...]:
    """Return the numbers of cores among these trials, ascending.

    Raises:
        InputError: a level is no number.
    """
    levels = sorted(set(trials[CORES].astype(str)))
    for level in levels:
        if not level.isdigit():
            raise InputError(
                "not a number of cores", place=CORES, found=level, allowed="levels such as 1, 2, 4"
            )
    return tuple(sorted(map(int, levels)))


def _row(cell: pd.DataFrame, metric: str, by: Sequence[str], n_resamples: int) -> ScalingRow:
    kept, _ = split_excluded(cell)
    kept, _ = split_missing(kept, metric)
    flags = kept["flags"].fillna("").astype(str)
    shared = sizes_of(kept[flags.str.contains("shared_cores")])
    sizes = sizes_of(kept)
    apart = kept[~kept[CORES].astype(int).isin(shared)]
    fit, refused = _fit(apart, metric, sizes, shared, n_resamples)
    first = cell.iloc[0]
    return ScalingRow(
        variant=str(first["variant"]),
        label=str(first["label"]),
        levels={name: str(first[name]) for name in by},
        sizes=sizes,
        shared=shared,
        n_bottleneck=int(flags.str.contains("generator_bottleneck").sum()),
        growth=_growth(cell, metric, sizes),
        fit=fit,
        refused=refused,
    )


def _growth(cell: pd.DataFrame, metric: str, sizes: Sequence[int]) -> Comparison | None:
    if len(sizes) < 2:
        return None
    ends = cell[cell[CORES].astype(int).isin((sizes[0], sizes[-1]))]
    as_variants = ends.assign(variant=ends[CORES].astype(str))
    return next(iter(compare(as_variants, metric, reference=str(sizes[0]))), None)


def _fit(
    apart: pd.DataFrame, metric: str, sizes: Sequence[int], shared: Sequence[int], n_resamples: int
) -> tuple[ScalingFit | None, str | None]:
    usable = len(sizes) - len(shared)
    if usable < FEWEST_SIZES:
        words = (
            f"{len(sizes)} numbers of cores were measured"
            if len(sizes) != 1
            else "one number of cores was measured"
        )
        words += f", {len(shared)} of them shared with the generator" if shared else ""
        return None, f"{words}; the law has three numbers of its own and needs {FEWEST_SIZES} or more"
    blocks = apart["session_id"].astype(str) + "/" + apart["block"].astype(str)
    found = fit_usl(
        apart[CORES].astype(int).to_numpy(),
        apart[metric].to_numpy(dtype=np.float64),
        blocks.to_numpy(dtype=str),
        n_resamples=n_resamples,
        inputs=inputs_of(apart),
    )
    return found, None


__all__ = ["CORES", "ScalingRow", "Sweep", "core_sweep", "interaction", "scaling_rows", "sizes_of"]

LOGGING, OFF, ON = "logging", "off", "on"
METRIC = "throughput_per_s"
Compared = Mapping[str, Comparison | None]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What a sweep over cores says. ``reference``: what ``lead`` is over; ``fewest`` and ``most``: its ends, as levels.

    ``log``: ``fewest``, ``most`` or ``by_cores`` -> variant -> throughput with a log line over that without, on the
    fewest cores, on the most, and the second of these ratios over the first. ``lead``: the same of the throughput
    over the reference's, by logging.
    """

    reference: str
    trials: pd.DataFrame
    rows: tuple[ScalingRow, ...]
    fewest: str
    most: str
    log: Mapping[str, Compared]
    lead: Mapping[str, Mapping[str, Compared]]

    def row(self, variant: str, logging: str) -> ScalingRow | None:
        """Return the row of a variant at a level of logging, if it was measured."""
        return next((r for r in self.rows if r.variant == variant and r.levels.get(LOGGING) == logging), None)

    @property
    def at_ends(self) -> pd.DataFrame:
        """The trials on the fewest cores and on the most."""
        return self.trials[self.trials[CORES].isin([self.fewest, self.most])]

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
    ends = {"fewest": fewest, "most": most}
    return Sweep(
        reference=reference,
        trials=trials,
        rows=scaling_rows(trials, by=[LOGGING]),
        fewest=fewest,
        most=most,
        log={
            where: {name: _log_effect(_at(trials, variant=name, **{CORES: end})) for name in names}
            for where, end in ends.items()
        }
        | {
            "by_cores": {
                name: _between(_at(trials, variant=name), (LOGGING, ON, OFF), fewest, most) for name in names
            }
        },
        lead={
            logging: {
                where: _leads(_at(trials, **{CORES: end, LOGGING: logging}), reference)
                for where, end in ends.items()
            }
            | {
                "by_cores": {
                    name: _between(
                        _at(trials, **{LOGGING: logging}), ("variant", name, reference), fewest, most
                    )
                    for name in names
                    if name != reference
                }
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
