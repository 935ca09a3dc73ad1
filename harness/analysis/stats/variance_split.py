# SPDX-License-Identifier: Apache-2.0
"""Where variation comes from: sessions, blocks in them, trials in these, windows in those.

Nested random effects by the analysis of variance: the mean squares of all levels are set equal to what the components
make them on average (Henderson's first method, so groups may differ in size). The interval of a component is the
modified large-sample one (Ting, Burdick, Graybill, Jeyaratnam and Lu 1990); with very few groups it is rather too wide
(``tests/analysis/stats/test_known_truths.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy  # loads its slow submodules when they are first used
from numpy.typing import NDArray
from pydantic import Field

from harness.analysis.stats.inputs import Floats, finite, fraction
from harness.errors import InputError
from harness.model.base import Frozen

Counts = NDArray[np.integer[Any]]

#: The level below the last one that is named: what is within its groups.
WITHIN = "within"


class VarianceLevel(Frozen):
    """What one level adds to the variance of a value."""

    name: str
    variance: float = Field(ge=0, description="0 where the groups differ less than chance alone makes them")
    low: float
    high: float
    share: float | None = Field(description="of the variance of a single value; None: there is no variation")
    n_groups: int
    df: int = Field(description="degrees of freedom of its mean square")


class VarianceSplit(Frozen):
    """The components from the outermost level to what is within the innermost."""

    levels: tuple[VarianceLevel, ...]
    level: float
    n_values: int
    warnings: tuple[str, ...] = ()

    def of(self, name: str) -> VarianceLevel:
        """Return one level by its name.

        Raises:
            KeyError: there is none of this name.
        """
        return {one.name: one for one in self.levels}[name]


def variance_split(
    table: pd.DataFrame, value: str, levels: Sequence[str], *, within: str = WITHIN, level: float = 0.95
) -> VarianceSplit:
    """Split the variance of a column among nested groups and what is within them.

    Args:
        table: one row per value. value: a numeric column; of logs the components are squares of relative amounts.
        levels: columns from the outermost to the innermost group; a name of an inner level may come again in another
            outer group, and means another group there.
        within: what the variation inside the innermost groups is called.

    Raises:
        InputError: no such column or no level, values that are not finite, or a level without a degree of freedom:
            as many groups as there are in the level above, or as there are values.
    """
    fraction(level, "level")
    for column in (value, *levels):
        if column not in table.columns:
            raise InputError(
                "no such column",
                place=column,
                found=", ".join(map(str, table.columns)),
                allowed="one of these",
            )
    if not levels:
        raise InputError("no level to split by", found="none", allowed="columns, the outermost first")
    x = finite(table[value].to_numpy(dtype=np.float64), value)
    codes = [
        table.groupby(list(levels[: depth + 1]), sort=False, observed=True).ngroup().to_numpy()
        for depth in range(len(levels))
    ]
    codes = [np.zeros(x.size, dtype=np.int64), *codes, np.arange(x.size)]
    n_groups = [int(code.max()) + 1 for code in codes]
    df = np.diff(n_groups)
    names = [*levels, within]
    if (df < 1).any():
        which = int(np.argmax(df < 1))
        raise InputError(
            f"nothing tells {names[which]} from {names[which - 1] if which else 'the mean'}",
            place=names[which], found=f"{n_groups[which + 1]} groups in {n_groups[which]}",
            allowed="a second one in at least one of them",
        )  # fmt: skip
    squares, made_of = _mean_squares(x, codes, df)
    back = np.linalg.inv(made_of)
    raw = back @ squares
    total = float(np.maximum(raw, 0.0).sum())
    found = []
    for place, name in enumerate(names):
        low, high = _interval(back[place] * squares, df, level)
        found.append(
            VarianceLevel(
                name=name,
                variance=max(float(raw[place]), 0.0),
                low=low,
                high=high,
                share=max(float(raw[place]), 0.0) / total if total > 0 else None,
                n_groups=n_groups[place + 1],
                df=int(df[place]),
            )
        )
    said = tuple(
        f"{name}: its groups differ less than chance alone makes them, so 0"
        for name, one in zip(names, raw, strict=True)
        if one < 0
    )
    return VarianceSplit(levels=tuple(found), level=level, n_values=x.size, warnings=said)


def _mean_squares(x: Floats, codes: Sequence[Counts], df: Counts) -> tuple[Floats, Floats]:
    """Return the mean square of each level, shape (m,), and what each component adds to it, shape (m, m).

    Args:
        codes: number of the group of each value at every level, from all in one to each alone.
    """
    sizes = [np.bincount(code) for code in codes]
    means = [np.bincount(code, weights=x) / size for code, size in zip(codes, sizes, strict=True)]
    m = len(df)
    squares = np.array(
        [float(((means[i + 1][codes[i + 1]] - means[i][codes[i]]) ** 2).sum()) / df[i] for i in range(m)]
    )
    # sum over the groups g of level i of (values in g of each group of level j)^2 / (values in g)
    inside = np.zeros((m + 1, m))
    for j in range(m):
        for i in range(min(j + 1, m) + 1):
            width = len(sizes[j + 1])
            pairs, counts = np.unique(codes[i] * width + codes[j + 1], return_counts=True)
            inside[i, j] = float((counts**2 / sizes[i][pairs // width]).sum())
    made_of = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            made_of[i, j] = (inside[i + 1, j] - inside[i, j]) / df[i]
    return squares, made_of


def _interval(parts: Floats, df: Counts, level: float) -> tuple[float, float]:
    """Return the modified large-sample interval of a sum of independent mean squares with signs.

    Args:
        parts: coefficient times mean square, shape (m,). df: of each, shape (m,).
    """
    tail = (1 - level) / 2
    centre = float(parts.sum())
    plus, minus = np.flatnonzero(parts > 0), np.flatnonzero(parts < 0)
    # 1 - 1/F and 1/F - 1 at infinite degrees of freedom: how far a mean square reaches down, and up
    below = 1 - df / scipy.special.chdtri(df, tail)
    above = df / scipy.special.chdtri(df, 1 - tail) - 1
    low = float((below[plus] ** 2 * parts[plus] ** 2).sum() + (above[minus] ** 2 * parts[minus] ** 2).sum())
    high = float((above[plus] ** 2 * parts[plus] ** 2).sum() + (below[minus] ** 2 * parts[minus] ** 2).sum())
    for q in plus:
        for r in minus:
            product = float(-parts[q] * parts[r])
            f = float(scipy.special.fdtri(df[q], df[r], 1 - tail))
            low += ((f - 1) ** 2 - below[q] ** 2 * f**2 - above[r] ** 2) / f * product
            f = float(scipy.special.fdtri(df[q], df[r], tail))
            high += ((1 - f) ** 2 - above[q] ** 2 * f**2 - below[r] ** 2) / f * product
    return (
        max(centre - float(np.sqrt(max(low, 0.0))), 0.0),
        max(centre + float(np.sqrt(max(high, 0.0))), 0.0),
    )
