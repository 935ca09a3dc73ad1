# SPDX-License-Identifier: Apache-2.0
"""Tables for the workshop: every trial's value in its unit, how often two trials mislead, and verdicts in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from math import floor, log10

import numpy as np
import pandas as pd

from harness.analysis.stats.aa_noise import AANoise
from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.pairing import counting
from harness.errors import InputError
from harness.model.digits import percent, plain
from harness.model.formatting import ratio_words, show, verdict_words
from harness.publish.display import Published, plain_table, table_page
from harness.publish.metric_words import MetricWords, metric_name, metric_words

_FLAGGED = " trials flagged "


@dataclass(frozen=True)
class TrialValues:
    """One metric of every trial of a cell: a row for each block, a column for each variant by its label.

    ``trials``: the cell, with the second runs of the reference.
    """

    frame: pd.DataFrame
    words: MetricWords
    trials: pd.DataFrame
    metric: str

    def first_block(self) -> pd.DataFrame:
        """Return the values of the first block as text."""
        return self._headed(self._as_text().iloc[[0]])

    def all_blocks(self) -> pd.DataFrame:
        """Return the values of all blocks as text, with the best variant of each; equal ones are named together."""
        best = [self._best(row) for _, row in self.frame.iterrows()]
        return self._headed(self._as_text().assign(best=best))

    def spread(self) -> pd.DataFrame:
        """Return the largest over the smallest value of each variant."""
        found = (self.frame.max() / self.frame.min()).map(plain)
        return found.rename_axis("variant").to_frame("largest / smallest")

    def wrong_order(self) -> pd.DataFrame:
        """Return how often one trial of each of two variants, of any blocks, orders them against their means.

        One row for each pair, the highest risk first; pairs that never mislead and never tie are left out.
        """
        rows = [self._pair(better, other) for better, other in permutations(map(str, self.frame), 2)]
        found = pd.DataFrame([row for row in rows if row and (row["wrong order"] or row["tie"])])
        if found.empty:
            return pd.DataFrame({"every pair of trials": ["orders the variants as their means do"]})
        found = found.sort_values("wrong order", ascending=False, kind="stable").reset_index(drop=True)
        return found.assign(**{name: found[name].map(percent) for name in ("wrong order", "tie")})

    def _as_text(self) -> pd.DataFrame:
        middle = float(np.nanmedian(self.frame.to_numpy(dtype=np.float64)))
        places = max(0, 1 - floor(log10(middle))) if middle > 0 else 0
        return self.frame.map(f"{{:,.{places}f}}".format)

    def _headed(self, text: pd.DataFrame) -> pd.DataFrame:
        return pd.concat({self.words.heading: text.rename_axis(columns=None)}, axis="columns")

    def _best(self, row: pd.Series) -> str:
        best = row.max() if self.words.better == "higher" else row.min()
        return ", ".join(str(name) for name in row.index[row == best])

    def _pair(self, better: str, other: str) -> dict[str, object] | None:
        sign = 1 if self.words.better == "higher" else -1
        a, b = sign * self.frame[better].dropna(), sign * self.frame[other].dropna()
        if a.mean() <= b.mean():
            return None  # the row of the pair the other way round has it
        first, second = a.to_numpy()[:, None], b.to_numpy()
        return {
            "better on average": better,
            "than": other,
            "wrong order": float((first < second).mean()),
            "tie": float((first == second).mean()),
        }


def trial_values(trials: pd.DataFrame, metric: str, labels: Mapping[str, str]) -> TrialValues:
    """Return one metric of the kept trials of a cell by block and variant, the second run of the reference left out.

    Args:
        trials: of one combination of factor levels. labels: variant -> what it is called.

    Raises:
        InputError: a metric without a unit and a direction, or no trial was kept.
    """
    words = metric_words(metric)
    if words is None:
        raise InputError("no unit is known of this metric", place="metric", found=metric)
    kept = counting(trials)
    if kept.empty:
        raise InputError(
            "no trial of this combination of factor levels",
            place="trials",
            found="none",
            allowed="measured levels",
        )
    wide = kept.pivot(index="block", columns="variant", values=metric) * words.factor
    return TrialValues(wide.rename(columns=dict(labels)), words, trials, metric)


def verdict_table(found: Mapping[str, Comparison | None], *, base: str) -> Published:
    """Return comparisons by name in words: the ratio with its interval, and what it says; below, what casts doubt.

    Args:
        base: what the denominator of the ratios is called.
    """
    heads = ["variant", "ratio (95 % interval)", "verdict"]
    body = [[name, *_verdict(one, base)] for name, one in found.items()]
    notes = _doubts(found)
    text = "\n".join([plain_table(heads, body), *notes])
    return Published(text, page=table_page(heads, body, "", notes, [False] * len(heads)))


def ratio_table(found: Mapping[str, Comparison | None], *, what: str, note: str) -> Published:
    """Return ratios by name, and whether their intervals leave out 1: for arms that are not two services.

    Args:
        what: of what the ratios are. note: what a reader has to know of all of them.
    """
    heads = ["variant", f"{what} (95 % interval)", "leaves out 1"]
    body = [[name, *_leaves_out_one(one)] for name, one in found.items()]
    page = table_page(heads, body, "", [note], [False] * len(heads))
    return Published("\n".join([plain_table(heads, body), note]), page=page)


def noise_words(noise: AANoise) -> str:
    """Return in sentences how far the reference differs from itself, and which differences cannot be told from that."""
    if noise.noise is None:
        return f"No block holds the reference twice with a {metric_name(noise.metric)}, so the noise is not known."
    return (
        f"The same program, run twice in each of {noise.n_blocks} blocks: ratio of its two values in "
        f"{metric_name(noise.metric)} {show(noise.ratio).interval}.\n"
        f"Differences below {percent(noise.noise)} cannot be told from noise on this machine."
    )


def _leaves_out_one(one: Comparison | None) -> tuple[str, str]:
    if one is None or one.ratio.low is None or one.ratio.high is None:
        return "", "cannot be said"
    low, high = one.ratio.low, one.ratio.high
    return ratio_words(one), "no" if low <= 1 <= high else "yes"


def _verdict(one: Comparison | None, base: str) -> tuple[str, str]:
    if one is None:
        return "", "not measured"
    if one.ratio.value is None:
        return "", "refused"
    return ratio_words(one), f"{verdict_words(one)} {base}"


def _doubts(found: Mapping[str, Comparison | None]) -> list[str]:
    """Return each warning with the variants it is of; what flags single trials is left out."""
    of: dict[str, list[str]] = {}
    for name, one in found.items():
        for warning in one.warnings if one else ():
            if _FLAGGED not in warning:
                of.setdefault(warning, []).append(name)
    return [
        f"{', '.join(names) if len(names) < len(found) else 'all'}: {doubt}" for doubt, names in of.items()
    ]
