# SPDX-License-Identifier: Apache-2.0
"""Whether the effect of one factor on a statistic of trials depends on the level of another.

An interaction is the ratio of two ratios of levels, averaged on logs over all combinations of the other factors whose
four cells were measured: one number per block, with a t interval over blocks. In a complete factorial that is the
saturated regression with sum coding and standard errors clustered by block. A trial is one observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.stats.about_services import not_about_services
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import nothing
from harness.analysis.stats.pairing import inputs_of, require, split_excluded, split_missing
from harness.analysis.stats.summaries import requests_of, resolution_of
from harness.analysis.stats.verdicts import (
    ALPHA,
    FEWEST_FOR_P,
    adjust_pvalues,
    leaves_out_one,
    p_can_tell,
    sign_flip_p,
)
from harness.errors import InputError
from harness.model import Estimate
from harness.model.base import Frozen

METHOD = "contrast of log cells, paired t over blocks"
#: Of one factor: (its level, the one it is against); of all factors of an effect.
Term = Mapping[int, tuple[str, str]]
CellName = tuple[str, ...]


class Interaction(Frozen):
    """Two levels of two factors against their references: how much one changes the other's ratio."""

    levels: dict[str, str]  # factor -> level
    against: dict[str, str]  # factor -> the level that it is against
    ratio: Estimate  # a ratio of ratios, over blocks; value None: its warnings say why
    n_blocks: int = 0  # blocks that hold every cell of the contrast
    p_value: float | None = None  # sign flips over blocks; None below 5 blocks
    p_adjusted: float | None = None  # Benjamini-Hochberg over all interactions, where so few blocks tell
    # the interval leaves out 1, and so does the adjusted p; None: it cannot be said
    shown: bool | None = None
    not_about: str | None = None  # what else than the services the ratio speaks of


def interactions(trials: pd.DataFrame, metric: str, factors: Sequence[str]) -> tuple[Interaction, ...]:
    """Return the interaction of every pair of levels of every pair of factors, each against the first level. Raises
    InputError: no such column, values that are not positive, or several trials of one cell in a block.

    Args:
        trials: one row per trial. metric: a positive column. factors: columns that tell the cells apart.
    """
    require(trials, metric, factors)
    own = trials[~trials["duplicate"].astype(bool)]
    counted, _ = split_missing(split_excluded(own)[0], metric)
    counted = counted.reset_index(drop=True)
    if counted.duplicated(["session_id", "block", *factors]).any():
        why = "several trials of one cell in one block: name the factor that tells them apart"
        allowed = "columns that tell the cells apart"
        raise InputError(why, place=metric, found=", ".join(factors), allowed=allowed)
    values = counted[metric].to_numpy(dtype=np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError("effects are of logs", place=metric, found="0 or less", allowed="positive values")
    levels = [list(dict.fromkeys(own[factor].astype(str))) for factor in factors]
    design = _Design(counted, metric, tuple(factors), [names[0] if names else "" for names in levels])
    effects = [
        design.interaction({first: item, second: another})
        for first, second in combinations(range(len(factors)), 2)
        for item, another in product(levels[first][1:], levels[second][1:])
    ]
    return _judged(effects)


def contrast(cells: Sequence[CellName], term: Term) -> Floats | None:
    """Return each cell's weight in an effect, shape (cells,); ``None``: no combination of other levels is whole."""
    places = {cell: place for place, cell in enumerate(cells)}
    whole = [corners for corners in _corners(cells, term) if all(cell in places for cell, _ in corners)]
    weights = np.zeros(len(cells))
    for cell, sign in (pair for corners in whole for pair in corners):
        weights[places[cell]] += sign
    return weights / len(whole) if whole else None


def _corners(cells: Sequence[CellName], term: Term) -> list[list[tuple[CellName, int]]]:
    """Return for each combination of the remaining factors' levels the four cells of a term, with their signs."""
    (f, first), (g, second) = term.items()
    rests = dict.fromkeys(tuple("" if k in term else v for k, v in enumerate(cell)) for cell in cells)
    return [
        [
            (tuple(x if k == f else y if k == g else v for k, v in enumerate(rest)), i * j)
            for (x, i), (y, j) in product(zip(first, (1, -1), strict=True), zip(second, (1, -1), strict=True))
        ]
        for rest in rests
    ]


class _Design:
    """The cells of one table, and the interactions that they allow; ``bases``: the first level of each factor."""

    def __init__(
        self, trials: pd.DataFrame, metric: str, factors: tuple[str, ...], bases: Sequence[str]
    ) -> None:
        self.trials, self.metric, self.factors, self.bases = trials, metric, factors, bases
        self.names = list(zip(*(trials[factor].astype(str) for factor in factors), strict=True))
        self.cells: list[CellName] = list(dict.fromkeys(self.names))
        self.cell = np.array([self.cells.index(name) for name in self.names], dtype=np.int64)
        self.block = trials.groupby(["session_id", "block"], sort=False).ngroup().to_numpy()
        n_blocks = int(self.block.max()) + 1 if len(trials) else 0
        self.logs = np.full((n_blocks, len(self.cells)), np.nan)
        self.logs[self.block, self.cell] = np.log(trials[metric].to_numpy(dtype=np.float64))

    def interaction(self, wanted: Mapping[int, str]) -> Interaction:
        """Return the estimate of one interaction; what its family makes of it comes later."""
        term = {f: (level, self.bases[f]) for f, level in wanted.items()}
        levels = {self.factors[f]: level for f, (level, _) in term.items()}
        against = {self.factors[f]: base for f, (_, base) in term.items()}
        named = " by ".join(f"{factor} {level} over {against[factor]}" for factor, level in levels.items())
        estimand = f"ratio of ratios {named} of {self.metric}"

        def refused(why: str, inputs: tuple[str, ...] = (), n_blocks: int = 0) -> Interaction:
            ratio = nothing(
                why, method="refused", unit="ratio", n_trials=len(inputs), inputs=inputs, estimand=estimand
            )
            return Interaction(levels=levels, against=against, ratio=ratio, n_blocks=n_blocks)

        weights = contrast(self.cells, term)
        if weights is None:
            return refused(self._missing(term))
        used = weights != 0
        whole = ~np.isnan(self.logs[:, used]).any(axis=1)
        chosen = used[self.cell] & whole[self.block]
        rows, n_blocks = self.trials[chosen], int(whole.sum())
        inputs = inputs_of(rows)
        if n_blocks < FEWEST_FOR_P:
            why = f"few blocks: {n_blocks} hold every cell of it, fewer than {FEWEST_FOR_P}"
            return refused(why, inputs, n_blocks)
        places = dict.fromkeys(self.cell[chosen].tolist())
        groups = {self.cells[at]: self.trials[chosen & (self.cell == at)] for at in places}
        judged = [resolution_of(group, self.metric) for group in groups.values()]
        refusing = [notes for coarse, notes in judged if coarse]
        notes = tuple(dict.fromkeys(note for of in refusing or [of for _, of in judged] for note in of))
        if refusing:
            return refused("; ".join(notes), inputs, n_blocks)
        d = np.exp(self.logs[np.ix_(whole, used)] @ weights[used])
        left = len(self.logs) - n_blocks
        notes += (f"{left} blocks left out: they lack a cell of it",) if left else ()
        ratio = effect_size_ci(d, np.ones_like(d), paired=True)
        about: dict[str, Any] = {
            "method": METHOD,
            "estimand": estimand,
            "n_trials": len(rows),
            "inputs": inputs,
        }
        about |= {"n_requests": requests_of(rows), "warnings": (*ratio.warnings, *notes)}
        return Interaction(
            levels=levels, against=against, ratio=ratio.model_copy(update=about), n_blocks=n_blocks,
            p_value=sign_flip_p(d, np.ones_like(d)), not_about=self._not_about(term, groups),
        )  # fmt: skip

    def _not_about(self, term: Term, groups: Mapping[CellName, pd.DataFrame]) -> str | None:
        """Say why an effect does not speak of the services: of any cell of it against the one at the references."""
        for cell, group in groups.items():
            base = tuple(self.bases[f] if f in term else level for f, level in enumerate(cell))
            if base != cell and base in groups:
                why = not_about_services(group, groups[base], self.metric)
                if why is not None:
                    return why
        return None

    def _missing(self, term: Term) -> str:
        """Name the first cell that was not measured, of the combination of other levels that lacks the fewest."""
        lacking = [[cell for cell, _ in of if cell not in self.cells] for of in _corners(self.cells, term)]
        if not lacking:
            return "no trial that counts"
        cell = min(lacking, key=len)[0]
        named = ", ".join(f"{factor} {level}" for factor, level in zip(self.factors, cell, strict=True))
        return f"not measured: {named}"


def _judged(effects: Sequence[Interaction]) -> tuple[Interaction, ...]:
    p_values = [effect.p_value if effect.not_about is None else None for effect in effects]
    n_family = sum(p is not None for p in p_values)
    judged = []
    for effect, p in zip(effects, adjust_pvalues(p_values, method="bh"), strict=True):
        adjusted = p if p_can_tell(effect.n_blocks, n_family) else None
        shown: bool | None = None
        if effect.ratio.low is not None and effect.not_about is None:
            shown = leaves_out_one(effect.ratio) and (adjusted is None or adjusted <= ALPHA)
        judged.append(effect.model_copy(update={"p_adjusted": adjusted, "shown": shown}))
    return tuple(judged)
