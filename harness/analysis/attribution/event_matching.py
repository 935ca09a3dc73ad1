# SPDX-License-Identifier: Apache-2.0
"""Do two lists of spans tell of the same events? One-to-one matching, its score, and chance.

Stalls seen by the load generator are compared with pauses that the runtime's log reports.
A share of coincidences means nothing without what chance alone would give: the circular
shift keeps the rhythm of both lists and breaks only their alignment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from harness.analysis.attribution.spans import Span
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Frozen


class Matching(Frozen):
    """One-to-one pairs of indices (found, truth), and how good the finding was."""

    pairs: tuple[tuple[int, int], ...]
    n_found: int
    n_truth: int
    tolerance_s: float

    @property
    def precision(self) -> float | None:
        """Matched share of what was found; None when nothing was found."""
        return len(self.pairs) / self.n_found if self.n_found else None

    @property
    def recall(self) -> float | None:
        """Matched share of the truth; None when there was none."""
        return len(self.pairs) / self.n_truth if self.n_truth else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None when neither list has anything."""
        total = self.n_found + self.n_truth
        return 2 * len(self.pairs) / total if total else None


class PrecisionRecall(Frozen):
    """How good a finding was; None: undefined, because one of the lists is empty."""

    precision: float | None
    recall: float | None
    f1: float | None
    n_matched: int
    n_found: int
    n_truth: int
    tolerance_s: float
    warnings: tuple[str, ...] = ()


class Coincidence(Frozen):
    """Matches against what circular shifts of one list give."""

    n_matched: int
    expected_by_chance: float
    p_value: float | None = Field(description="one-sided; None: one list is empty, nothing can be said")
    n_shifts: int
    seed: int


def match_events(found: Sequence[Span], truth: Sequence[Span], *, tolerance_s: float) -> Matching:
    """Pair spans that overlap once each is widened by ``tolerance_s``; each belongs to one pair at most.

    Both lists are walked in time order, taking for each true span the earliest free found
    span that touches it: for intervals on a line this pairs as many as any other way can.

    Raises:
        InputError: a span ends before it starts, or the tolerance is negative.
    """
    _check_spans(found, truth, tolerance_s)
    by_end_found = sorted(range(len(found)), key=lambda i: found[i][1])
    by_end_truth = sorted(range(len(truth)), key=lambda i: truth[i][1])
    longest_s = max((end - start for start, end in found), default=0.0)
    # a true span that ends later may begin earlier: nothing is given up that one of the rest could touch
    lows = (
        np.minimum.accumulate([truth[j][0] for j in reversed(by_end_truth)])[::-1] if truth else np.empty(0)
    )
    free = list(by_end_found)
    pairs: list[tuple[int, int]] = []
    for j, lowest in zip(by_end_truth, lows.tolist(), strict=True):
        low, high = truth[j][0] - tolerance_s, truth[j][1] + tolerance_s
        while free and found[free[0]][1] < lowest - tolerance_s:
            free.pop(0)
        for k, i in enumerate(free):
            if found[i][0] <= high and found[i][1] >= low:
                pairs.append((i, j))
                free.pop(k)
                break
            if found[i][1] - longest_s > high:
                break
    return Matching(
        pairs=tuple(sorted(pairs)), n_found=len(found), n_truth=len(truth), tolerance_s=tolerance_s
    )


def _check_spans(found: Sequence[Span], truth: Sequence[Span], tolerance_s: float) -> None:
    if not tolerance_s >= 0:
        raise InputError("a tolerance cannot be negative", found=tolerance_s, allowed="seconds >= 0")
    for name, spans in (("found", found), ("truth", truth)):
        for span in spans:
            if not -np.inf < span[0] <= span[1] < np.inf:
                raise InputError(f"a {name} span ends before it starts, or is not finite", found=span)


def precision_recall(found: Sequence[Span], truth: Sequence[Span], *, tolerance_s: float) -> PrecisionRecall:
    """Return precision, recall and F1 of ``match_events``; None, with a warning, where they are undefined.

    Raises:
        InputError: as ``match_events``.
    """
    matching = match_events(found, truth, tolerance_s=tolerance_s)
    said = []
    if not matching.n_found:
        said.append("nothing was found: no precision")
    if not matching.n_truth:
        said.append("there was nothing to find: no recall")
    return PrecisionRecall(
        precision=matching.precision,
        recall=matching.recall,
        f1=matching.f1,
        n_matched=len(matching.pairs),
        n_found=matching.n_found,
        n_truth=matching.n_truth,
        tolerance_s=tolerance_s,
        warnings=tuple(said),
    )


def coincidence_test(
    found: Sequence[Span],
    truth: Sequence[Span],
    *,
    window: Span,
    tolerance_s: float,
    shifts: int = 999,
    seed: int = 0,
) -> Coincidence:
    """Test whether more spans coincide than circular shifts of ``found`` within ``window`` would give.

    Args:
        window: start and end of the measurement; spans are moved around it as on a ring.
        shifts: how many random shifts; the p-value cannot fall below 1 / (shifts + 1).

    Raises:
        InputError: the window is empty or not finite; or as ``match_events``.
    """
    length = window[1] - window[0]
    if not 0 < length < float("inf"):
        raise InputError("the window is empty", found=window, allowed="start < end")
    _check_spans(found, truth, tolerance_s)
    spans = np.array(found, dtype=np.float64).reshape(-1, 2)
    touching = _Touching(truth, tolerance_s)
    observed = touching.n(*spans.T) if found and truth else 0
    if not found or not truth:
        return Coincidence(n_matched=observed, expected_by_chance=0.0, p_value=None, n_shifts=0, seed=seed)
    rng = np.random.default_rng(seed)
    starts, lengths = spans[:, 0] - window[0], spans[:, 1] - spans[:, 0]
    by_chance = np.empty(shifts)
    for i, shift in enumerate(rng.uniform(0, length, shifts)):
        moved = (starts + shift) % length + window[0]
        by_chance[i] = touching.n(moved, moved + lengths)
    p_value = (1 + int(np.count_nonzero(by_chance >= observed))) / (shifts + 1)
    return Coincidence(
        n_matched=observed,
        expected_by_chance=float(by_chance.mean()),
        p_value=p_value,
        n_shifts=shifts,
        seed=seed,
    )


class _Touching:
    """Counts found spans that touch any true span: a count that a shift can be repeated for quickly."""

    def __init__(self, truth: Sequence[Span], tolerance_s: float) -> None:
        ordered = np.array(sorted(truth), dtype=np.float64).reshape(-1, 2)
        self._low = ordered[:, 0] - tolerance_s
        self._high = np.maximum.accumulate(ordered[:, 1]) + tolerance_s

    def n(self, start: FloatArray, end: FloatArray) -> int:
        last = np.searchsorted(self._low, end, side="right") - 1
        return int(np.count_nonzero((last >= 0) & (self._high[np.maximum(last, 0)] >= start)))
