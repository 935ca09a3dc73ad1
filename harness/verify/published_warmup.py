# SPDX-License-Identifier: Apache-2.0
"""Published classifications of warm-up against ours: by the rule they were made with, and by our own classifier.

The rule of warmup_stats (Barrett et al. 2017): PELT in mean and variance with a price of 15 log n, outliers taken out;
segments that overlap the last one within their variances and a tolerance are equal to it; what differs from it within
the last iterations is no steady state, and else a slower or a faster start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from harness.analysis.warmup.changepoints import detect_changepoints
from harness.analysis.warmup.classify import classify_warmup
from harness.formats.krun import CLASSES, Classifier, Execution, read_krun
from harness.model import Frozen

#: Words of warmup_stats for our classes; "undecidable" is ours alone.
_WORDS = {"warm-up": "warmup"}


class Compared(Frozen):
    """Process executions of some files, by their published class, and what was said of them here."""

    files: tuple[str, ...]
    n: int
    by_their_rule: dict[str, dict[str, int]]
    by_ours: dict[str, dict[str, int]]

    def agreement(self, table: str) -> float | None:
        """Return the share of executions of which ``by_their_rule`` or ``by_ours`` says what was published."""
        found: dict[str, dict[str, int]] = getattr(self, table)
        same = sum(row.get(published, 0) for published, row in found.items())
        return same / self.n if self.n else None


def compare_published(paths: Sequence[Path]) -> Compared:
    """Return published classes against those that are made here, of files of Krun.

    Raises:
        InputError: a file is not one that warmup_stats classified.
        OSError: it cannot be read.
    """
    theirs: dict[str, Counter[str]] = {word: Counter() for word in CLASSES}
    ours: dict[str, Counter[str]] = {word: Counter() for word in CLASSES}
    n = 0
    for path in paths:
        classifier, executions = read_krun(path)
        for one in executions:
            n += 1
            theirs[one.kind][their_rule(one, classifier)] += 1
            kind = classify_warmup(_kept(one)).kind.value
            ours[one.kind][_WORDS.get(kind, kind)] += 1
    return Compared(
        files=tuple(path.name for path in paths),
        n=n,
        by_their_rule={word: dict(found) for word, found in theirs.items()},
        by_ours={word: dict(found) for word, found in ours.items()},
    )


def their_rule(one: Execution, classifier: Classifier) -> str:
    """Return the class by the rule of warmup_stats, with change points found here."""
    kept = _kept(one)
    starts = detect_changepoints(kept).indices
    segments = np.split(kept, starts)
    means = np.array([part.mean() for part in segments])
    spreads = np.array([part.var() for part in segments])
    # a segment ends where its last iteration was, outliers counted
    places = np.delete(np.arange(len(one.times_s)), one.outliers)
    ends = [int(places[first - 1]) for first in (*starts, len(kept))]
    within = (
        classifier.delta_s
        if classifier.delta_s is not None
        else float(means.min()) * (classifier.delta_share or 0.0)
    )
    reach = max(float(spreads[-1]), within)
    low, high = float(means[-1]) - reach, float(means[-1]) + reach
    said = "flat"
    for mean, spread, end in list(zip(means, spreads, ends, strict=True))[-2::-1]:
        if mean + spread >= low and mean - spread <= high:
            continue
        if end > len(one.times_s) - classifier.steady:
            return "no steady state"
        if mean - spread < low:
            return "slowdown"
        said = "warmup"
    return said


def _kept(one: Execution) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.delete(one.times_s, one.outliers)
