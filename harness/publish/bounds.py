# SPDX-License-Identifier: Apache-2.0
"""What bounded trials, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import pandas as pd

from harness.analysis.stats.pairing import counting, inputs_of
from harness.analysis.tables.speed_columns import at_other_speed
from harness.model import BOUND_WORDS, BoundBy
from harness.publish.leaves import each
from harness.publish.results import NO_TEXT, Leaf, Words


def bound_in_words(trials: pd.DataFrame) -> str:
    """Return what bounded these trials, the most frequent first: ``the service (9 of 10), the generator (1 of 10)``."""
    told = trials["bound_by"].fillna("unknown").astype(str).value_counts()
    if len(told) == 1:
        return BOUND_WORDS[cast(BoundBy, told.index[0])]
    return ", ".join(f"{BOUND_WORDS[cast(BoundBy, by)]} ({n} of {len(trials)})" for by, n in told.items())


def bounds(trials: pd.DataFrame | None, variants: Iterable[str]) -> Mapping[str, Leaf]:
    """Return variant -> what bounded its trials, duplicates apart, excluded ones included."""
    if trials is None or "bound_by" not in trials:
        return dict.fromkeys(variants, NO_TEXT)
    return each(trials[~trials["duplicate"].astype(bool)], variants, bound_in_words, NO_TEXT)


def bounded_sentence(trials: pd.DataFrame) -> str:
    """Return what bounded these trials, in one sentence; empty: none was kept."""
    mine = counting(trials)
    if mine.empty:
        return ""
    told = mine["bound_by"].fillna("unknown").astype(str)
    n_service = int((told == "service").sum())
    said = f"The service was the limit in {n_service} of {len(mine)} trials"
    rest = [
        f"{BOUND_WORDS[cast(BoundBy, by)]} in {n}" for by, n in told[told != "service"].value_counts().items()
    ]
    n_other = int((at_other_speed(trials) & ~trials["duplicate"].astype(bool)).sum())
    left = f" {n_other} more are left out: their CPUs ran at another speed." if n_other else ""
    return f"{said}{', ' if rest else ''}{', '.join(rest)}.{left}"


def bounded(trials: pd.DataFrame | None) -> Leaf:
    """Return that sentence with the trials it is of; absent: the tables do not say what bounded them."""
    if trials is None or "bound_by" not in trials or not (said := bounded_sentence(trials)):
        return NO_TEXT
    return Words(said, inputs_of(counting(trials)))


__all__ = ["bound_in_words", "bounded", "bounded_sentence", "bounds"]
