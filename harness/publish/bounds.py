# SPDX-License-Identifier: Apache-2.0
"""What bounded trials, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import pandas as pd

from harness.model import BOUND_WORDS, BoundBy
from harness.publish.leaves import each
from harness.publish.results import NO_TEXT, Leaf


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


__all__ = ["bound_in_words", "bounds"]
