# SPDX-License-Identifier: Apache-2.0
"""Causes that are known to have been at work, but not how much they took from whom: bounds, never shares.

A quota that ran out is counted between two readings half a second apart; the kernel's pressure says that
somebody waited for a CPU, not who; a compiler's thread works beside the program. Nothing of it can be
subtracted from a request. Two things can be said. Of what a request took beyond the ordinary and no
pause explains, such a cause can have taken no more than its spans allow. And where a span stands out from
the rest of the trial and covers most of a stall that nothing else explains, it is named as its cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from harness.analysis.attribution.spans import CauseName, Span
from harness.formats.arrays import FloatArray
from harness.model import Frozen


class Beside(Frozen):
    """One source's spans of one cause on the clock of the requests, in time order, none over another."""

    cause: CauseName
    spans: tuple[Span, ...]
    lost_s: tuple[float, ...] = Field(description="how much of each span can have been lost, at the most")
    standing_out: tuple[Span, ...] = Field(description="those that may name a stall")
    words: str = Field(description="what was read, and how finely it is known")

    @model_validator(mode="after")
    def _one_loss_for_each_span(self) -> Self:
        if len(self.lost_s) != len(self.spans):
            raise ValueError(f"{len(self.spans)} spans and {len(self.lost_s)} losses: one for each")
        return self


def most_lost_s(start_s: FloatArray, latency_s: FloatArray, beside: Beside) -> FloatArray:
    """Return how much of each request's life the cause can have taken at the most, shape (n,), seconds.

    In each span that a request lived in: no longer than it lived there, and no more than was lost there.
    """
    start, end = start_s, start_s + latency_s
    if not beside.spans:
        return np.zeros_like(start)
    low, high = np.array(beside.spans, dtype=np.float64).T
    lost = np.minimum(np.array(beside.lost_s), high - low)
    first = np.searchsorted(high, start, side="right")
    last = np.searchsorted(low, end, side="left") - 1
    met, f, z = last >= first, np.minimum(first, len(low) - 1), np.maximum(last, 0)
    in_first = np.minimum(np.minimum(end, high[f]) - np.maximum(start, low[f]), lost[f])
    in_last = np.where(z > f, np.minimum(end - low[z], lost[z]), 0.0)
    so_far = np.concatenate([[0.0], np.cumsum(lost)])
    between = np.where(z > f, so_far[z] - so_far[np.minimum(f + 1, len(lost))], 0.0)
    return np.asarray(np.where(met, in_first + in_last + between, 0.0))


def covered_mostly(stalls: Sequence[Span], spans: Sequence[Span]) -> tuple[bool, ...]:
    """Return of each stall whether ``spans`` (in time order, none over another) cover at least half of it."""
    return tuple(
        2 * sum(max(0.0, min(high, until) - max(low, since)) for low, high in spans) >= until - since > 0
        for since, until in stalls
    )


def most_of_tail(
    start_s: FloatArray,
    latency_s: FloatArray,
    explained_s: FloatArray,
    beside: Sequence[Beside],
    *,
    quantile: float,
) -> float | None:
    """Return the largest share of the tail's time beyond the median that one cause can have taken of it.

    Args:
        explained_s: what pauses and connecting took from each request, shape (n,): that is not its own any more.
        beside: the sources of one cause; of several (two machines) what all of them allow.

    ``None``: no request of the tail took longer than the median.
    """
    tail = latency_s >= np.quantile(latency_s, quantile)
    explained = explained_s[tail]
    left = np.maximum(latency_s[tail] - explained - np.median(latency_s), 0.0)
    whole = float(explained.sum() + left.sum())
    if whole <= 0:
        return None
    most = sum(
        (most_lost_s(start_s[tail], latency_s[tail], one) for one in beside), start=np.zeros_like(left)
    )
    return float(np.minimum(most, left).sum()) / whole
