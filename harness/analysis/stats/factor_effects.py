# SPDX-License-Identifier: Apache-2.0
"""What the factors of an experiment do to a statistic of its trials, p99 above all, alone and together.

The model is a regression of log(p99) on factors over trials. A trial has one p99, so it is one observation: regressions
of single requests on factors (quantile regression as by Zhang, Meisner, Mars and Tang 2016) count the requests of a
process as independent, and their intervals hold the truth in a fraction of the sessions they should. A quantile
regression over trials would ask for the quantile of p99s among processes, whose interval needs many more trials.

Every effect is a contrast of cells: the ratio of two levels, averaged on logs over all combinations of the other
factors in which both were measured; of two factors together, the ratio of two such ratios. Blocks hold each cell once,
so a contrast is one number per block, in which whatever the trials of a block share cancels as with blocks as a fixed
effect; its t interval over blocks lets every cell have a variance of its own. In a complete factorial that is the
saturated regression with sum coding and standard errors clustered by block (statsmodels; ``rematch verify
cross-check``), but for the small-sample factor, which is the one of the paired t. An incomplete one keeps the effects
whose cells were measured, and says of the others which are missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.stats.about_services import COLUMNS, not_about_services
from harness.analysis.stats.ages import AGE_COLUMNS, ages_of
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.pairing import inputs_of, narrowed, require, split_excluded, split_missing
from harness.analysis.stats.randomization import randomization_test
from harness.analysis.stats.summaries import SUMMED, requests_of, resolution_of
from harness.analysis.stats.verdicts import ALPHA, FEWEST_FOR_P, Grade, adjust_pvalues, grade, p_can_tell
from harness.errors import InputError
from harness.model import Estimate
from harness.model.base import Frozen

METHOD = "contrast of log cells, paired t over blocks"
#: Of one factor: (its level, the one it is against); of all factors of an effect.
Term = Mapping[int, tuple[str, str]]
CellName = tuple[str, ...]


class FactorEffect(Frozen):
    """One level of a factor against its reference, or several together: how much one changes the other's ratio."""

    levels: dict[str, str] = Field(description="factor -> level")
    against: dict[str, str] = Field(description="factor -> the level that it is against")
    ratio: Estimate = Field(description="of one factor a ratio; of two a ratio of ratios; over blocks")
    hodges_lehmann: Estimate = Field(description="the same, moved little by a few slow trials")
    n_blocks: int = Field(description="blocks that hold every cell of the contrast")
    n_averaged: int = Field(description="combinations of the other factors' levels that it is averaged over")
    grade: Grade
    p_value: float | None = Field(description="sign flips over blocks; None below 5 blocks")
    p_adjusted: float | None = Field(
        default=None,
        description="Benjamini-Hochberg over the effects of this order, where so few blocks tell",
    )
    found: bool | None = Field(
        default=None,
        description="the interval leaves out 1, and so does the adjusted p; None: it cannot be said",
    )
    not_about: str | None = Field(default=None, description="what else than the services the ratio speaks of")
    young: bool = Field(
        default=False, description="whether the trials of a cell of it are of young processes"
    )

    @property
    def order(self) -> int:
        """How many factors: 1, or an interaction of so many."""
        return len(self.levels)

    @property
    def why(self) -> str | None:
        """Why it has no value; ``None``: it has one."""
        return None if self.ratio.value is not None else "; ".join(self.ratio.warnings)


def factor_effects(
    trials: pd.DataFrame,
    metric: str,
    factors: Sequence[str],
    *,
    references: Mapping[str, str] | None = None,
    loads: Collection[str] = (),
    order: int = 2,
    level: float = 0.95,
) -> tuple[FactorEffect, ...]:
    """Return the effect of every level of every factor, then of every pair of them, up to ``order`` at once.

    Args:
        trials: one row per trial (``docs/data.md``); excluded ones and duplicates of the reference are left out.
        metric: a positive column, one number per trial. factors: columns that tell the cells apart.
        references: factor -> the level that the others are against; of others the first in the table.
        loads: factors whose levels are loads: what bounds trials may differ between these.
        order: most factors in one effect.

    Returns:
        Effects in the order of the factors and of the levels' first appearance. One without a value says why:
        cells that were not measured, fewer than five complete blocks, a resolution too coarse.

    Raises:
        InputError: no such column, a reference that has no trial, values that are not positive, or several trials of
            one cell in a block: a factor was left out.
    """
    require(trials, metric, factors)
    if not factors or order < 1:
        raise InputError("no factor to ask for", place="factors", found="none", allowed="columns of levels")
    own = trials[~trials["duplicate"].astype(bool)]
    kept, _ = split_missing(split_excluded(own)[0], metric)
    keys = ["session_id", "block", *factors]
    narrow = narrowed(kept, metric, *factors, *COLUMNS, *AGE_COLUMNS, *SUMMED).reset_index(drop=True)
    if narrow.duplicated(keys).any():
        raise InputError(
            "several trials of one cell in one block: name the factor that tells them apart",
            place=metric, found=", ".join(factors), allowed="columns that tell the cells apart",
        )  # fmt: skip
    values = narrow[metric].to_numpy(dtype=np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError("effects are of logs", place=metric, found="0 or less", allowed="positive values")
    levels = [list(dict.fromkeys(own[factor].astype(str))) for factor in factors]
    bases = [_base(mine, factor, references or {}) for mine, factor in zip(levels, factors, strict=True)]
    design = _Design(narrow, metric, tuple(factors), levels, bases, frozenset(loads), level)
    found = []
    for n in range(1, min(order, len(factors)) + 1):
        terms = [term for chosen in combinations(range(len(factors)), n) for term in design.terms(chosen)]
        found += _judged([design.effect(term) for term in terms])
    return tuple(found)


def contrast(cells: Sequence[CellName], term: Term) -> tuple[Floats, int] | None:
    """Return the weight of each cell's log in an effect, shape (cells,), and how many combinations it averages.

    ``None``: no combination of the other factors' levels has every cell of the term.
    """
    places = {cell: place for place, cell in enumerate(cells)}
    others = dict.fromkeys(tuple(v for f, v in enumerate(cell) if f not in term) for cell in cells)
    weights, n = np.zeros(len(cells)), 0
    for other in others:
        corners = _corners(other, term)
        if all(cell in places for cell, _ in corners):
            n += 1
            for cell, sign in corners:
                weights[places[cell]] += sign
    return (weights / n, n) if n else None


def _corners(other: CellName, term: Term) -> list[tuple[CellName, int]]:
    """Return the cells of a term at one combination of the other levels, with their signs in the contrast."""
    found = []
    for picks in product((0, 1), repeat=len(term)):
        mine = {factor: term[factor][pick] for factor, pick in zip(term, picks, strict=True)}
        rest = iter(other)
        cell = tuple(mine[f] if f in mine else next(rest) for f in range(len(other) + len(term)))
        found.append((cell, -1 if sum(picks) % 2 else 1))
    return found


def _base(levels: Sequence[str], factor: str, references: Mapping[str, str]) -> str:
    if factor not in references:
        return levels[0] if levels else ""
    if references[factor] not in levels:
        raise InputError(
            "no trial of the reference level",
            place=factor,
            found=references[factor],
            allowed=", ".join(levels),
        )
    return references[factor]


class _Design:
    """The cells of one table, and the effects that they allow."""

    def __init__(
        self,
        trials: pd.DataFrame,
        metric: str,
        factors: tuple[str, ...],
        levels: Sequence[Sequence[str]],
        bases: Sequence[str],
        loads: frozenset[str],
        level: float,
    ) -> None:
        self.trials, self.metric, self.factors, self.level = trials, metric, factors, level
        self.levels, self.bases, self.loads = levels, bases, loads
        of_rows = list(zip(*(trials[factor].astype(str) for factor in factors), strict=True))
        self.cells: list[CellName] = list(dict.fromkeys(of_rows))
        place = {cell: number for number, cell in enumerate(self.cells)}
        self.cell_of_row = np.array([place[cell] for cell in of_rows], dtype=np.int64)
        self.block_of_row = trials.groupby(["session_id", "block"], sort=False).ngroup().to_numpy()
        n_blocks = int(self.block_of_row.max()) + 1 if len(trials) else 0
        self.logs = np.full((n_blocks, len(self.cells)), np.nan)
        self.logs[self.block_of_row, self.cell_of_row] = np.log(trials[metric].to_numpy(dtype=np.float64))

    def terms(self, chosen: Sequence[int]) -> list[Term]:
        """Return every choice of one level of each factor that is not its reference."""
        picks = product(*([one for one in self.levels[f] if one != self.bases[f]] for f in chosen))
        return [{f: (one, self.bases[f]) for f, one in zip(chosen, pick, strict=True)} for pick in picks]

    def effect(self, term: Term) -> FactorEffect:
        """Return the estimates of one effect; what its family makes of them comes later."""
        facts: dict[str, object] = {
            "levels": {self.factors[f]: one for f, (one, _) in term.items()},
            "against": {self.factors[f]: base for f, (_, base) in term.items()},
            "p_value": None,
        }
        made = contrast(self.cells, term)
        if made is None:
            return self._refused(facts, self._missing(term))
        weights, n_averaged = made
        used = weights != 0
        whole = ~np.isnan(self.logs[:, used]).any(axis=1)
        rows = self.trials[used[self.cell_of_row] & whole[self.block_of_row]]
        n_blocks = int(whole.sum())
        facts |= {"n_blocks": n_blocks, "n_averaged": n_averaged, "grade": grade(n_blocks, "exploratory")}
        if n_blocks < FEWEST_FOR_P:
            why = f"few blocks: {n_blocks} hold every cell of it, fewer than {FEWEST_FOR_P}"
            return self._refused(facts, why, rows)
        coarse, notes = self._resolution(rows)
        if coarse:
            return self._refused(facts, "; ".join(notes), rows)
        d = np.exp(self.logs[np.ix_(whole, used)] @ weights[used])
        one = np.ones_like(d)
        left = len(self.logs) - n_blocks
        notes += (f"{left} blocks left out: they lack a cell of it",) if left else ()
        words = self._words(facts)

        def told(estimate: Estimate, method: str) -> Estimate:
            return estimate.model_copy(
                update={
                    "method": method, "estimand": f"{words} of {self.metric}", "n_trials": len(rows),
                    "n_requests": requests_of(rows), "inputs": inputs_of(rows),
                    "warnings": (*estimate.warnings, *notes),
                }
            )  # fmt: skip

        return FactorEffect.model_validate(
            facts
            | {
                "ratio": told(effect_size_ci(d, one, paired=True, level=self.level), METHOD),
                "hodges_lehmann": told(
                    effect_size_ci(d, one, paired=True, estimator="hodges_lehmann", level=self.level),
                    "contrast of log cells, Hodges-Lehmann over blocks",
                ),
                "p_value": randomization_test(d, one, paired=True).p_value,
                "not_about": self._not_about(term, rows),
                "young": self._young(rows),
            }
        )

    def _resolution(self, rows: pd.DataFrame) -> tuple[bool, tuple[str, ...]]:
        """Tell whether any cell lies below what its tool can tell, and what must be said of it."""
        judged = [
            resolution_of(mine, self.metric)
            for _, mine in rows.groupby(list(self.factors), sort=False, observed=True)
        ]
        refusing = [notes for refused, notes in judged if refused]
        notes = refusing or [notes for _, notes in judged]
        return bool(refusing), tuple(dict.fromkeys(note for mine in notes for note in mine))

    def _not_about(self, term: Term, rows: pd.DataFrame) -> str | None:
        """Say why an effect does not speak of the services: of any cell of it against the one at the references.

        Only cells under the same load are held against each other.
        """
        cells = list(zip(*(rows[factor].astype(str) for factor in self.factors), strict=True))
        groups = {
            cell: rows[[one == cell for one in cells]] for cell in dict.fromkeys(cells)
        }  # as many cells as a contrast has: a dozen at most
        for cell, mine in groups.items():
            base = tuple(
                self.bases[f] if f in term and self.factors[f] not in self.loads else one
                for f, one in enumerate(cell)
            )
            if base == cell or base not in groups:
                continue
            why = not_about_services(mine, groups[base], self.metric)
            if why is not None:
                return why
        return None

    def _young(self, rows: pd.DataFrame) -> bool:
        cells = rows.groupby(list(self.factors), observed=True)
        found = [ages_of(mine, mine, self.metric) for _, mine in cells]
        return any(one is not None and one.young for one in found)

    def _missing(self, term: Term) -> str:
        """Name the cells that were not measured: of the combination of other levels that lacks the fewest."""
        others = dict.fromkeys(tuple(v for f, v in enumerate(c) if f not in term) for c in self.cells)
        lacking = [
            [cell for cell, _ in _corners(other, term) if cell not in set(self.cells)] for other in others
        ]
        if not lacking:
            return "no trial that counts"
        cell = min(lacking, key=len)[0]
        named = ", ".join(f"{factor} {one}" for factor, one in zip(self.factors, cell, strict=True))
        return f"not measured: {named}"

    def _refused(self, facts: dict[str, object], why: str, rows: pd.DataFrame | None = None) -> FactorEffect:
        inputs = () if rows is None else inputs_of(rows)
        refused = nothing(
            why, method="refused", estimand=f"{self._words(facts)} of {self.metric}", unit="ratio",
            n_trials=len(inputs), level=self.level, inputs=inputs,
        )  # fmt: skip
        blank: dict[str, object] = {"n_blocks": 0, "n_averaged": 0, "grade": grade(0, "exploratory")}
        return FactorEffect.model_validate(blank | facts | {"ratio": refused, "hodges_lehmann": refused})

    def _words(self, facts: Mapping[str, object]) -> str:
        levels, against = facts["levels"], facts["against"]
        assert isinstance(levels, dict) and isinstance(against, dict)
        named = [f"{factor} {one} over {against[factor]}" for factor, one in levels.items()]
        return "ratio " + named[0] if len(named) == 1 else "ratio of ratios " + " by ".join(named)


def _judged(effects: Sequence[FactorEffect]) -> list[FactorEffect]:
    """Return the effects of one order with what their family makes of them."""
    p_values = [one.p_value if one.not_about is None else None for one in effects]
    n_family = sum(p is not None for p in p_values)
    judged = []
    for one, p in zip(effects, adjust_pvalues(p_values, method="bh"), strict=True):
        adjusted = p if p_can_tell(one.n_blocks, n_family) else None
        low, high = one.ratio.low, one.ratio.high
        found: bool | None = None
        if low is not None and high is not None and one.not_about is None:
            found = not low <= 1 <= high and (adjusted is None or adjusted <= ALPHA)
        judged.append(one.model_copy(update={"p_adjusted": adjusted, "found": found}))
    return judged
