# SPDX-License-Identifier: Apache-2.0
"""The peaks of a file of requests and the pauses behind them, stretch after stretch.

A file that fits is one stretch. Of a larger one each stretch is taken apart by itself, with its own
percentiles, and what is said of the file is the mean over its stretches with their t interval:
memory stays bounded, and a drift over hours widens the interval instead of hiding in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.analysis.attribution.event_matching import (
    MIN_PAUSES,
    SEARCH_S,
    TOLERANCE_S,
    ClockOffset,
    coincidence_test,
    connecting_stalls,
    estimate_clock_offset,
    stall_causes,
)
from harness.analysis.attribution.share_of_quantile import Attribution, Share, attributable_fractions
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.spans import CauseName, Paused, Span, inside
from harness.analysis.attribution.stalls import detect_stalls, harm_of, shortest_visible_s
from harness.analysis.stats.intervals import t_critical
from harness.formats.arrays import FloatArray
from harness.formats.gc_events import GcLog
from harness.formats.jvm_log import WRITES
from harness.model.phrases import counted, listed
from harness.report.numbers import length
from harness.report.result import ListedStall, ShortStalls

#: What is taken apart by cause.
TAILS: Mapping[str, float] = {"p99": 0.99, "p99.9": 0.999}
LEVEL = 0.95
#: A process may end that much after the next one began.
_ONE_AFTER_THE_OTHER_S = 1.0


@dataclass
class Peaks:
    """What has been found in the stretches so far."""

    gc_log: GcLog | None
    resolution_s: float
    stalls: list[tuple[Stall, str | None, float]] = field(default_factory=list)
    _limits: list[float] = field(default_factory=list)
    _apart: list[dict[str, Attribution]] = field(default_factory=list)
    _offsets: list[float] = field(default_factory=list)
    _refusals: list[tuple[str, float | None]] = field(default_factory=list)
    _first_s: float = float("inf")
    _last_s: float = float("-inf")
    _connect_told: bool = False

    def take(self, start: FloatArray, latency: FloatArray, connect: FloatArray | None = None) -> None:
        """Look at one stretch of successful requests, by their start; shapes (n,), n > 0.

        Args:
            connect: as ``attribute_latency`` takes it; ``None``: the file does not tell.
        """
        window = (float(start.min()), float((start + latency).max()))
        self._first_s, self._last_s = min(self._first_s, window[0]), max(self._last_s, window[1])
        with ThreadPoolExecutor(1) as beside:  # the two long parts of a report; most of both is numpy's own
            detection = beside.submit(detect_stalls, start, latency, resolution_s=self.resolution_s)
            events = self._lay_pauses(window, start, latency, connect)
            stalls = detection.result()
        known = inside(_spans(self.gc_log), window) if self.gc_log and self.gc_log.clock == "epoch" else {}
        harms = harm_of(start, latency, stalls)
        limit_s = shortest_visible_s(start, latency, stalls, known)
        if limit_s is not None:
            self._limits.append(limit_s)
        connecting = None if connect is None else connecting_stalls(stalls, start, latency, connect)
        self._connect_told = connect is not None
        if events is not None:
            causes: Sequence[str | None] = stall_causes(stalls, events, connecting=connecting)
        else:
            causes = ["connect" if is_its else None for is_its in connecting or [False] * len(stalls)]
        self.stalls += zip(stalls, causes, harms.tolist(), strict=True)

    def _lay_pauses(
        self, window: Span, start: FloatArray, latency: FloatArray, connect: FloatArray | None
    ) -> Paused | None:
        """Take the tail apart by the pauses of this stretch, and return them; ``None``: they cannot be laid over it."""
        if self.gc_log is None:
            return None
        events = {cause: spans for cause, spans in inside(_spans(self.gc_log), window).items() if spans}
        pauses = [span for cause in events.values() for span in cause]
        refusal, offset = _why_not(self.gc_log, pauses, window, start, latency)
        if refusal:
            self._refusals.append((refusal, offset.offset_s if offset else None))
            return None
        self._offsets += [offset.offset_s] if offset is not None and offset.offset_s is not None else []
        apart = attributable_fractions(
            start, latency, events, quantiles=list(TAILS.values()), connect_s=connect
        )
        self._apart.append(dict(zip(TAILS, apart, strict=True)))
        return events

    @property
    def shortest_visible_s(self) -> float | None:
        """The shortest stall that these latencies would show; of several stretches, where it is longest."""
        return max(self._limits, default=None)

    def visible(self) -> tuple[tuple[ListedStall, ...], ShortStalls | None]:
        """Return the stalls of ``shortest_visible_s`` or longer, the most harmful first, and a sum of the others."""
        limit_s = self.shortest_visible_s or 0.0
        shown = [
            ListedStall(**stall.model_dump(), cause=cause, harm_s=harm_s)
            for stall, cause, harm_s in self.stalls
            if stall.duration_s >= limit_s
        ]
        shown.sort(key=lambda stall: (-stall.harm_s, stall.start_s))
        lengths = [stall.duration_s for stall, _, _ in self.stalls if stall.duration_s < limit_s]
        if not lengths:
            return tuple(shown), None
        share = min(1.0, sum(lengths) / max(self._last_s - self._first_s, 1e-9))
        return tuple(shown), ShortStalls(
            number=len(lengths), longest_ms=max(lengths) * 1e3, total_s=sum(lengths), share=share
        )

    def attribution(self, notes: list[str], background: list[str]) -> dict[str, Any] | None:
        """Return what the pauses explain of all stretches; ``None``: no log was given.

        Args:
            notes, background: what is to be known about it is added here, the second of any such file.
        """
        log = self.gc_log
        if log is None:
            return None
        notes += [f"runtime's log: {warning}" for warning in log.warnings]
        if log.n_unknown:
            notes.append(
                f"runtime's log: {log.n_unknown} lines could not be read, such as {log.unknown_examples[0]!r}"
            )
        notes += _coverage(log, self._first_s, self._last_s)
        background += [_pauses_of(log)] if log.events else []
        if not self._apart:
            refusal, offset_s = self._refusals[0] if self._refusals else ("no request succeeded", None)
            notes.append(f"attribution refused: {refusal}")
            return {"refused": refusal, "clock_offset_s": offset_s}
        if self._refusals:
            notes.append(
                f"in {len(self._refusals)} of {len(self._apart) + len(self._refusals)} stretches pauses could not be "
                f"aligned with the requests: {self._refusals[0][0]}"
            )
        background.append(_not_looked_for(connect_told=self._connect_told))
        if not self._offsets:
            notes.append(
                f"whether the clocks agree could not be checked: fewer than {MIN_PAUSES} pauses can be seen"
            )
        return {
            "clock_offset_s": float(np.median(self._offsets)) if self._offsets else None,
            "coincidence": self._coincidence(log, notes),
            **{name: self._tail(name, notes) for name in TAILS},
        }

    def _coincidence(self, log: GcLog, text: list[str]) -> dict[str, Any]:
        window = (self._first_s, self._last_s)
        hard = [(stall.start_s, stall.end_s) for stall, _, _ in self.stalls if stall.kind == "stall"]
        pauses = [span for cause in _spans(log).values() for span in cause]
        chance = coincidence_test(hard, pauses, window=window, tolerance_s=TOLERANCE_S)
        if chance.p_value is not None and chance.p_value > 0.05:
            text.append(
                f"stalls and pauses coincide no more than chance would have it ({chance.n_matched} of {len(hard)}, "
                f"{chance.expected_by_chance:.1f} by chance): is this the log of the same process?"
            )
        return chance.model_dump(mode="json")

    def _tail(self, name: str, notes: list[str]) -> dict[str, Any]:
        every = [apart[name] for apart in self._apart]
        notes += [
            f"{name}: {warning}"
            for warning in dict.fromkeys(warning for parts in every for warning in parts.warnings)
        ]
        causes = list(dict.fromkeys(cause for parts in every for cause in parts.causes))
        return {
            "share": _over_stretches([parts.quantile_share for parts in every]),
            "share_lower_bound": _over_stretches([parts.quantile_share_lower for parts in every]),
            "share_upper_bound": _over_stretches([parts.quantile_share_upper for parts in every]),
            "causes": {
                cause: _over_stretches([parts.causes[cause] for parts in every if cause in parts.causes])
                for cause in causes
            },
        }


def _not_looked_for(*, connect_told: bool) -> str:
    """What may stand behind the unexplained, and was not to be had; absent is not nothing."""
    causes = ["throttling", "compilers", "waiting for a CPU", *([] if connect_told else ["connecting"])]
    return f"not recorded in these files, so part of what is unexplained: {', '.join(causes)}"


def _over_stretches(estimates: Sequence[Share]) -> dict[str, float | None]:
    """The one estimate with its own interval; of several their mean with a t interval over them. All are shares."""
    value = low = high = None
    values = np.array([estimate.value for estimate in estimates if estimate.value is not None])
    if len(estimates) == 1:
        value, low, high = estimates[0].value, estimates[0].low, estimates[0].high
    elif len(values):
        value = float(values.mean())
    if len(estimates) > 1 and len(values) > 1 and value is not None:
        half = float(t_critical(LEVEL, len(values) - 1)) * float(values.std(ddof=1) / np.sqrt(len(values)))
        low, high = value - half, value + half
    ends = {"value": value, "low": low, "high": high}
    return {name: None if end is None else min(max(float(end), 0.0), 1.0) for name, end in ends.items()}


def _coverage(gc_log: GcLog, first_s: float, last_s: float) -> list[str]:
    """A log that begins after the first request or ends before the last answer leaves peaks unexplained."""
    if gc_log.clock != "epoch" or gc_log.start_s is None or gc_log.end_s is None or not gc_log.events:
        return []
    # Between two events a log is silent: only more than its longest silence means that it is missing.
    edges = np.array([gc_log.start_s, *sorted(event.end_s for event in gc_log.events), gc_log.end_s])
    silence = max(1.0, 2 * float(np.diff(edges).max()))
    notes = []
    if first_s + silence < gc_log.start_s <= last_s:
        notes.append(
            f"the runtime's log begins {gc_log.start_s - first_s:,.1f} s after the first request: "
            "what was paused before is not in it, and counts as unexplained"
        )
    if first_s <= gc_log.end_s < last_s - silence:
        notes.append(
            f"the runtime's log ends {last_s - gc_log.end_s:,.1f} s before the last answer: "
            "what was paused after is not in it, and counts as unexplained"
        )
    return notes


def _pauses_of(log: GcLog) -> str:
    """The log in one line: what it is of, and how long all of it stopped the program."""
    together_ms = sum(event.duration_s for event in log.events) * 1e3
    pauses = counted(len(log.events), "pause")
    return f"runtime's log: {log.collector or 'JVM'}, {pauses}, together {length(together_ms)}"


def _spans(gc_log: GcLog) -> dict[CauseName, list[Span]]:
    spans: dict[CauseName, list[Span]] = {}
    for event in gc_log.events:
        spans.setdefault(event.cause, []).append((event.start_s, event.end_s))
    return spans


def _unusable(gc_log: GcLog, window: Span) -> str | None:
    """Return why no pause of a log can be laid over requests of that time; ``None``: they can."""
    if not gc_log.events:
        return "the log has no pause"
    if gc_log.clock != "epoch":
        written = f"write it with {WRITES}, or " if gc_log.runtime == "jvm" else ""
        return (
            f"the log has no wall-clock stamps: {written}give the start of the process with --process-start"
        )
    alive = [life for life in gc_log.processes if life.start_s < window[1] and life.end_s > window[0]]
    names = listed([life.name for life in alive])
    if any(later.start_s < life.end_s - _ONE_AFTER_THE_OTHER_S for life, later in itertools.pairwise(alive)):
        return (
            f"the log is of {len(alive)} processes that ran at the same time ({names}): "
            "give the lines of the one that answered"
        )
    return None


def _why_not(
    gc_log: GcLog, pauses: Sequence[Span], window: Span, start: FloatArray, latency: FloatArray
) -> tuple[str | None, ClockOffset | None]:
    """Return the reason why attribution would be wrong, or ``None``, and what is known of the clocks.

    Args:
        pauses: those within the time of the requests.
        window: that time.
    """
    unusable = _unusable(gc_log, window)
    if unusable is not None:
        return unusable, None
    if not pauses:
        return (
            "no pause of the log overlaps the requests: wrong log file, or clocks out of sync",
            None,
        )
    ordinary = float(np.median(latency))
    visible = [pause for pause in pauses if pause[1] - pause[0] >= 2 * ordinary]
    offset = estimate_clock_offset(start + latency, visible, median_service_s=ordinary)
    if offset.offset_s is None and len(visible) >= MIN_PAUSES:
        return (
            f"{len(visible)} pauses are long enough to be seen, and the answers show none of them at any one offset "
            f"of the clocks ({offset.why}): another process's log, or clocks more than {SEARCH_S:g} s apart",
            offset,
        )
    if offset.offset_s is not None and not offset.supports_attribution:
        return offset.why, offset
    return None, offset
