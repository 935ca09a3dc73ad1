# SPDX-License-Identifier: Apache-2.0
"""Which cause stands behind a slow request, a stall, the tail; whether two lists of spans tell of the same events; and
whether the clocks of requests and log agree well enough to say so.

Coincidences are held against circular shifts, which keep the rhythm of both lists. Of a quota, the kernel's pressure
and a compiler's thread is known that they were at work: they took no more than their spans allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from harness.analysis.attribution.slow_periods import Stall, under_way_in_each
from harness.analysis.attribution.spans import ORDER, CauseName, Span, attribute_latency
from harness.analysis.stats.inputs import by_start
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Frozen

#: A stall and a pause belong together when they touch within this.
TOLERANCE_S = 0.005


class Matching(Frozen):
    """One-to-one pairs of indices (detected, truth)."""

    pairs: tuple[tuple[int, int], ...]
    n_truth: int

    @property
    def recall(self) -> float | None:
        """Matched share of the truth; None when there was none."""
        return len(self.pairs) / self.n_truth if self.n_truth else None


class Coincidence(Frozen):
    """Matches against what circular shifts of one list give."""

    n_matched: int
    expected_by_chance: float
    p_value: float | None  # one-sided; None: one list is empty, nothing can be said


def match_events(detected: Sequence[Span], truth: Sequence[Span]) -> Matching:
    """Pair spans that overlap once each is widened by ``TOLERANCE_S``, as many as possible, each in one pair at most.
    Raises InputError: a span ends before it starts."""
    _check_spans(detected, truth)
    free = sorted(range(len(detected)), key=lambda i: detected[i][1])
    by_end_truth = sorted(range(len(truth)), key=lambda i: truth[i][1])
    longest_s = max((end - start for start, end in detected), default=0.0)
    # a true span that ends later may begin earlier: nothing is given up that one of the rest could touch
    lows = list(accumulate((truth[j][0] for j in reversed(by_end_truth)), min))[::-1]
    pairs: list[tuple[int, int]] = []
    for j, lowest in zip(by_end_truth, lows, strict=True):
        low, high = truth[j][0] - TOLERANCE_S, truth[j][1] + TOLERANCE_S
        while free and detected[free[0]][1] < lowest - TOLERANCE_S:
            free.pop(0)
        for k, i in enumerate(free):
            if detected[i][0] <= high and detected[i][1] >= low:
                pairs.append((i, j))
                free.pop(k)
                break
            if detected[i][1] - longest_s > high:
                break
    return Matching(pairs=tuple(sorted(pairs)), n_truth=len(truth))


def _check_spans(detected: Sequence[Span], truth: Sequence[Span]) -> None:
    for name, spans in (("found", detected), ("truth", truth)):
        for span in spans:
            if not -np.inf < span[0] <= span[1] < np.inf:
                raise InputError(f"a {name} span ends before it starts, or is not finite", found=span)


def coincidence_test(
    detected: Sequence[Span], truth: Sequence[Span], *, window: Span, shifts: int = 999
) -> Coincidence:
    """Test whether more spans coincide than circular shifts of ``detected`` within ``window`` would give.

    Args:
        window: start and end of the measurement. shifts: how many; p cannot fall below 1 / (shifts + 1).
    """
    length = window[1] - window[0]
    if not 0 < length < float("inf"):
        raise InputError("the window is empty", found=window, allowed="start < end")
    _check_spans(detected, truth)
    if not detected or not truth:
        return Coincidence(n_matched=0, expected_by_chance=0.0, p_value=None)
    spans, ordered = (np.array(item, dtype=np.float64) for item in (detected, sorted(truth)))
    low, high = ordered[:, 0] - TOLERANCE_S, np.maximum.accumulate(ordered[:, 1]) + TOLERANCE_S

    def n_touching(start: FloatArray, end: FloatArray) -> int:
        last = np.searchsorted(low, end, side="right") - 1
        return int(np.count_nonzero((last >= 0) & (high[np.maximum(last, 0)] >= start)))

    observed = n_touching(*spans.T)
    starts, lengths = spans[:, 0] - window[0], spans[:, 1] - spans[:, 0]
    drawn = np.random.default_rng(0).uniform(0, length, shifts)
    begins = ((starts + shift) % length + window[0] for shift in drawn)
    by_chance = np.array([n_touching(begin, begin + lengths) for begin in begins])
    p_value = (1 + int(np.count_nonzero(by_chance >= observed))) / (shifts + 1)
    return Coincidence(n_matched=observed, expected_by_chance=float(by_chance.mean()), p_value=p_value)


MIN_PAUSES = 5
#: Offsets beyond this are not looked for, and none is told to less than half of a load tool's milliseconds.
SEARCH_S, RESOLUTION_S = 5.0, 0.0005


class ClockOffset(Frozen):
    """Requests' clock minus the log's clock."""

    offset_s: float | None = None  # None: cannot be told from these data
    supports_attribution: bool = False  # |offset| is at most half the median pause
    why: str


def estimate_clock_offset(
    completion_s: FloatArray, pauses: Sequence[Span], *, median_service_s: float
) -> ClockOffset:
    """Return the offset: mode of (first completion after a gap - pause end), less the wait for an answer at any moment.
    Raises InputError: the service time is negative, or a time is not finite.

    Args:
        completion_s: when each answer came, shape (n,), on the requests' clock. pauses: on the log's clock.
        median_service_s: ordinary latency without queueing.
    """
    if not 0 <= median_service_s < np.inf:
        raise InputError("a service time cannot be negative", found=median_service_s, allowed="seconds >= 0")
    if not (np.isfinite(completion_s).all() and all(np.isfinite(pause).all() for pause in pauses)):
        raise InputError("times must be finite", found="NaN or infinity", allowed="seconds")
    lengths = np.array([end - start for start, end in pauses])
    if len(pauses) < MIN_PAUSES or len(completion_s) < 2:
        return ClockOffset(why=f"fewer than {MIN_PAUSES} pauses, or no completions")
    done = np.sort(np.asarray(completion_s, dtype=np.float64))
    gap_ends = _ends_of_long_gaps(done, lengths)
    pause_ends = np.array([end for _, end in pauses])
    low, high = (np.searchsorted(gap_ends, pause_ends + by) for by in (-SEARCH_S, SEARCH_S))
    ordered = np.sort(
        np.concatenate([gap_ends[a:b] - end for a, b, end in zip(low, high, pause_ends, strict=True)])
    )
    if not len(ordered):
        return ClockOffset(why=f"no gap in completions within {SEARCH_S:g} s of any pause")
    width = max(RESOLUTION_S, 0.1 * float(np.median(lengths)))
    in_window = np.searchsorted(ordered, ordered + 2 * width, side="right") - np.arange(len(ordered))
    best = int(np.argmax(in_window))
    agreeing = int(in_window[best])
    by_chance = len(ordered) * 2 * width / (2 * SEARCH_S)
    mode = float(np.median(ordered[best : best + agreeing]))
    needed = by_chance + 4 * np.sqrt(by_chance + 1) + 2
    if agreeing < needed or agreeing < 0.2 * min(len(pauses), len(gap_ends)):
        why = f"{agreeing} coincidences where chance gives {by_chance:.1f}: no offset is significant"
        return ClockOffset(why=why)
    offset = mode - min(_wait_for_answer_s(done, 0.5 * float(lengths.min())), median_service_s)
    allowed = 0.5 * float(np.median(lengths))
    if abs(offset) <= max(allowed, width):
        why = "the clocks agree to within half the median pause"
        return ClockOffset(offset_s=offset, supports_attribution=True, why=why)
    apart = f"the clocks are {offset * 1e3:.1f} ms apart"
    why = f"{apart}, more than half the median pause ({allowed * 1e3:.1f} ms)"
    return ClockOffset(offset_s=offset, why=why)


def _wait_for_answer_s(done: FloatArray, longest_s: float) -> float:
    """Median wait from a moment to the next answer: solves sum(max(g - x, 0)) = sum(g) / 2, gaps below
    ``longest_s``."""
    gaps = np.sort(np.diff(done))
    gaps = gaps[gaps < longest_s]
    if not len(gaps) or gaps.sum() <= 0:
        return 0.0
    n_longer = np.arange(len(gaps), 0, -1)
    longer_sum = np.cumsum(gaps[::-1])[::-1]
    beyond = longer_sum - n_longer * gaps
    i = int(np.argmax(beyond <= gaps.sum() / 2))
    return float((longer_sum[i] - gaps.sum() / 2) / n_longer[i])


def _ends_of_long_gaps(done: FloatArray, lengths: FloatArray) -> FloatArray:
    """Ends of the longest gaps, at most three for each pause and none shorter than half the shortest pause."""
    gaps = np.diff(done)
    wanted = min(3 * len(lengths), len(gaps))
    longest = np.argpartition(gaps, -wanted)[-wanted:]
    longest = longest[gaps[longest] >= 0.5 * lengths.min()]
    return np.asarray(np.sort(done[longest + 1]))


class Beside(Frozen):
    """One source's spans of one cause on the clock of the requests, in time order, none over another."""

    cause: CauseName
    spans: tuple[Span, ...]
    lost_s: tuple[float, ...]  # how much of each span can have been lost, at the most


def most_lost_s(start_s: FloatArray, latency_s: FloatArray, beside: Beside) -> FloatArray:
    """Return the most that the cause can have taken of each request's life, shape (n,), seconds."""
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


def most_of_tail(
    start_s: FloatArray, latency_s: FloatArray, explained_s: FloatArray, beside: Sequence[Beside], *, quantile: float
) -> float | None:  # fmt: skip
    """Return the largest share of the tail's time beyond the median that one cause can have taken; ``None``: none.

    Args:
        explained_s: what pauses and connecting took from each request, shape (n,). beside: the sources of the cause.
    """
    tail = latency_s >= np.quantile(latency_s, quantile)
    explained = explained_s[tail]
    left = np.maximum(latency_s[tail] - explained - np.median(latency_s), 0.0)
    whole = float(explained.sum() + left.sum())
    if whole <= 0:
        return None
    lost = (most_lost_s(start_s[tail], latency_s[tail], item) for item in beside)
    return float(np.minimum(sum(lost, start=np.zeros_like(left)), left).sum()) / whole


def peak_causes(
    start_s: FloatArray,
    latency_s: FloatArray,
    events: Mapping[CauseName, Sequence[Span]],
    *,
    from_s: float,
    connect_s: FloatArray | None = None,
) -> list[str | None]:
    """Return what took most of the time beyond the median of each request; ``None``: shorter than ``from_s``."""
    taken = attribute_latency(start_s, latency_s, events, connect_s=connect_s)
    names = [*taken, "unexplained"]
    beyond = np.maximum(latency_s - np.median(latency_s), 0.0)
    left = np.maximum(beyond - np.sum(list(taken.values()), axis=0), 0.0) if taken else beyond
    largest = np.argmax(np.stack([*taken.values(), left]), axis=0)
    return [names[k] if long else None for k, long in zip(largest, latency_s >= from_s, strict=True)]


def stall_causes(
    stalls: Sequence[Stall],
    events: Mapping[CauseName, Sequence[Span]],
    *,
    connecting: Sequence[bool] | None = None,
) -> tuple[str, ...]:
    """Return the cause of each stall: the first in ``ORDER`` that touches it (one pause a stall), else ``unexplained``.
    ``connecting``: of each stall, whether connecting claims it; ``None``: times to connect are not known."""
    spans = [(stall.start_s, stall.end_s) for stall in stalls]
    claims: dict[CauseName, set[int]] = {
        cause: {result for result, _ in match_events(spans, events[cause]).pairs} for cause in events
    }
    if connecting is not None:
        claims["connect"] = {k for k, is_its in enumerate(connecting) if is_its}
    named = ["unexplained"] * len(stalls)
    for cause in reversed([cause for cause in ORDER if cause in claims]):
        for k in claims[cause]:
            named[k] = cause
    return tuple(named)


def connecting_stalls(
    stalls: Sequence[Stall], start_s: FloatArray, latency_s: FloatArray, connect_s: FloatArray
) -> tuple[bool, ...]:
    """Return of each stall whether connecting took most of what the requests under way in it took beyond the median."""
    if not stalls or not (connect_s > 0).any():  # connections that stay open are the rule
        return (False,) * len(stalls)
    taken_s = attribute_latency(start_s, latency_s, {}, connect_s=connect_s)["connect"]
    start, latency, taken = by_start(start_s, latency_s, taken_s)
    beyond = np.maximum(latency - np.median(latency), 0.0)
    return tuple(
        bool(2 * taken[its].sum() > beyond[its].sum()) for its in under_way_in_each(start, latency, stalls)
    )
