# SPDX-License-Identifier: Apache-2.0
"""The pauses behind one trial's latencies: the logs of service and load generator, laid over its requests.

Where pauses are shorter than what their place is known to (Go's are: its log is cut to milliseconds), every
share is computed three times, with the pauses where they are thought to be and as far off to either side
as they may be, and its interval covers all three. Where they could be off by more than half of the
latency in question, they are not laid over requests at all: the trial says that this was refused,
and how much they could explain at the most, for which no clock is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from harness.analysis.attribution import (
    ORDER,
    Attribution,
    CauseName,
    attributable_fraction,
    attribute_latency,
)
from harness.analysis.attribution_intervals import MIN_TAIL
from harness.analysis.clocks import ClockOffset, estimate_clock_offset
from harness.analysis.exposure import Exposure, exposure
from harness.analysis.matching import match_events
from harness.analysis.spans import Span
from harness.analysis.placed_logs import Paused, PlacedLog, generator_log, joined, service_log, throttled
from harness.analysis.slow_periods import Stall
from harness.analysis.stalls import detect_stalls, detectability_limit
from harness.errors import InputError
from harness.model import Estimate, Frozen, TrialRecord
from harness.store import SessionFolder

FloatArray = npt.NDArray[np.float64]

#: A stall and a pause belong together when they touch within this.
TOLERANCE_S = 0.005
#: Causes that are the service's own; the generator's pauses delay the sending, not the service.
SERVICE_CAUSES: tuple[CauseName, ...] = ("gc_pause", "allocation_stall", "other_safepoint")
QUANTILES: Mapping[str, float] = {"p99": 0.99, "p99.9": 0.999}
#: Nothing is placed better than the requests themselves are: most load generators write whole milliseconds.
FINEST_S = 1e-3
#: Intervals over trials come from the trials; within one, these are enough for a look.
RESAMPLES = 200


class TrialAttribution(Frozen):
    """One trial's latency tail and the pauses behind it. ``None``: cannot be said, ``refused`` tells why."""

    trial: str = Field(description="experiment/session/trial")
    variant: str
    label: str
    levels: dict[str, str]
    block: int
    collector: str | None
    load_model: Literal["open", "closed"] | None
    n_requests: int = Field(description="answered correctly")
    rate_per_s: float
    window: Span = Field(description="first request to last answer, epoch seconds")
    latency_s: dict[str, float] = Field(description="p50 and those of ``QUANTILES`` that may be said")
    detectability_s: float = Field(description="shorter pauses leave no trace in the latencies alone")
    n_pauses: int | None = Field(description="of the service within the window; None: its log is not known")
    paused_s: float | None
    longest_pause_s: float | None
    most_share: dict[str, float] = Field(
        description="quantile -> what pauses can have taken from it themselves, wherever they fell"
    )
    cycles_per_s: float | None = Field(
        description="how often the service's collector worked beside it; None: its log is not known"
    )
    exposure: dict[str, Exposure] = Field(
        description="quantile -> requests that met a collection at work beside the program, and the others"
    )
    refused: str | None = Field(description="why the service's pauses were not laid over its requests")
    placed_within_s: float | None = Field(description="how far off the service's pauses may be")
    placed_by: str | None = Field(description="what places them, in words")
    clock_offset_s: float | None = Field(description="as the latencies tell it; None: they do not")
    whole: dict[str, Attribution] = Field(description="quantile -> the tail taken apart by every cause known")
    by_service: dict[str, Attribution] = Field(description="the same, the service's pauses only")
    stalls: tuple[Stall, ...]
    stall_causes: tuple[str, ...]
    events: Paused = Field(description="what was laid over the requests, within the window")
    warnings: tuple[str, ...] = ()

    @property
    def window_s(self) -> float:
        """How long requests were under way, in seconds."""
        return self.window[1] - self.window[0]


def attribute_trial(
    session: SessionFolder,
    trial_id: str,
    requests: pd.DataFrame,
    *,
    quantiles: Mapping[str, float] = QUANTILES,
    seed: int = 0,
) -> TrialAttribution:
    """Lay the pauses of service and generator over one trial's requests and take the tail apart.

    Args:
        requests: ``start_epoch_s``, ``latency_s``, ``ok``, as ``load_requests`` returns them.
        quantiles: name -> quantile; one with fewer than ``MIN_TAIL`` requests beyond it is left out.

    Raises:
        InputError: no request was answered correctly, or the trial has no record.
    """
    record = session.record(trial_id)
    ok = requests["ok"].to_numpy(dtype=bool)
    start = requests["start_epoch_s"].to_numpy(dtype=np.float64)[ok]
    latency = requests["latency_s"].to_numpy(dtype=np.float64)[ok]
    if len(start) < 2:
        raise InputError(
            "no request was answered correctly", place=f"{session.key}/{trial_id}", found=len(start)
        )
    window = (float(start.min()), float((start + latency).max()))
    service, generator = service_log(session, record), generator_log(session, record)
    pauses = _inside(service.events, window)
    said = {name: q for name, q in quantiles.items() if len(start) * (1 - q) >= MIN_TAIL}
    levels = {name: float(np.quantile(latency, q)) for name, q in {"p50": 0.5, **said}.items()}
    in_question_s = min((levels[name] for name in said), default=levels["p50"])
    offset, refused = _why_not(service, pauses, record, start, latency, in_question_s)
    own = _inside(generator.events, window)
    events = ({} if refused else pauses) | own
    laid = _Laid(start, latency, {} if refused else pauses, service.placed_within_s or 0.0, seed)
    cycles = _inside({"gc_pause": joined(service.cycles)}, window)["gc_pause"]
    met = bool(cycles) and not refused
    rate = len(start) / (window[1] - window[0])
    stalls = tuple(detect_stalls(start, latency, resolution_s=_resolution(record)))
    spans = sorted(span for spans in pauses.values() for span in spans)
    known = service.placed_within_s is not None
    cell = record.planned.configuration
    return TrialAttribution(
        trial=f"{session.key}/{trial_id}",
        variant=cell.variant_name,
        label=cell.variant.label or cell.variant_name,
        levels=cell.levels,
        block=record.planned.block,
        collector=service.collector,
        load_model=cell.load.profile.model if cell.load else None,
        n_requests=len(start),
        rate_per_s=rate,
        window=window,
        latency_s=levels,
        detectability_s=detectability_limit(rate, max(float(np.quantile(latency, 0.99)), 1e-9)),
        n_pauses=len(spans) if known else None,
        paused_s=_union_s(spans) if known else None,
        longest_pause_s=max((high - low for low, high in spans), default=0.0) if known else None,
        most_share={name: _most_taken_s(spans, levels[name]) / levels[name] for name in said if known},
        cycles_per_s=len(cycles) / (window[1] - window[0]) if known else None,
        exposure={
            n: exposure(start, latency, cycles, quantile=q, resamples=RESAMPLES, seed=seed)
            for n, q in (said.items() if met else ())
        },
        refused=refused,
        placed_within_s=service.placed_within_s,
        placed_by=service.placed_by,
        clock_offset_s=offset.offset_s if offset else None,
        whole={name: laid.apart(q, own) for name, q in said.items()},
        by_service={} if refused else {name: laid.apart(q, {}) for name, q in said.items()},
        stalls=stalls,
        stall_causes=stall_causes(stalls, events | {"cgroup_throttle": throttled(session, record)}),
        events=events,
        warnings=(*service.warnings, *(f"generator: {warning}" for warning in generator.warnings)),
    )


def peak_causes(
    start_s: FloatArray, latency_s: FloatArray, events: Mapping[CauseName, Sequence[Span]], *, from_s: float
) -> list[str | None]:
    """Return the cause of each request that took ``from_s`` or longer: what took the largest part of the time
    beyond the median, or ``unexplained``; ``None`` for those below."""
    taken = attribute_latency(start_s, latency_s, events)
    names = [*taken, "unexplained"]
    beyond = np.maximum(latency_s - np.median(latency_s), 0.0)
    left = np.maximum(beyond - np.sum(list(taken.values()), axis=0), 0.0) if taken else beyond
    largest = np.argmax(np.stack([*taken.values(), left]), axis=0)
    return [names[k] if long else None for k, long in zip(largest, latency_s >= from_s, strict=True)]


def stall_causes(stalls: Sequence[Stall], events: Mapping[CauseName, Sequence[Span]]) -> tuple[str, ...]:
    """Return the cause of each stall: the first in ``ORDER`` whose span it touches, else ``unexplained``."""
    named = ["unexplained"] * len(stalls)
    spans = [(stall.start_s, stall.end_s) for stall in stalls]
    for cause in reversed([cause for cause in ORDER if cause in events]):
        for found, _ in match_events(spans, events[cause], tolerance_s=TOLERANCE_S).pairs:
            named[found] = cause
    return tuple(named)


def wall_step_s(record: TrialRecord) -> float:
    """Return how far the wall clock moved against the monotonic one during the trial, in seconds.

    Each reading of the two is disturbed by whatever runs in between, so the middle of the first three
    is held against the middle of the last three.
    """
    readings = [record.started, *record.anchors, record.ended]
    readings += [clock for phase in record.phases for clock in (phase.start, phase.end)]
    readings.sort(key=lambda clock: clock.monotonic_s)
    apart = [clock.wall_epoch_s - clock.monotonic_s for clock in readings]
    return abs(float(np.median(apart[-3:]) - np.median(apart[:3])))


def _why_not(
    service: PlacedLog,
    pauses: Paused,
    record: TrialRecord,
    start: FloatArray,
    latency: FloatArray,
    in_question_s: float,
) -> tuple[ClockOffset | None, str | None]:
    """Return what the latencies tell of the clocks, and why attribution would be a guess (``None``: it is not)."""
    if service.placed_within_s is None:
        return None, service.refused
    spans = sorted(span for spans in pauses.values() for span in spans)
    if not spans:
        return None, None  # the log is this very process's, so no pause in it is a finding
    typical = float(np.median([high - low for low, high in spans]))
    moved = wall_step_s(record)
    if moved > max(typical / 2, 2e-3):
        return None, f"the wall clock was moved by {moved * 1e3:.1f} ms during the trial"
    if service.placed_within_s > max(typical / 2, in_question_s / 2, FINEST_S):
        return None, (
            f"the median pause of {typical * 1e3:.2g} ms cannot be placed: by {service.placed_by} it is known "
            f"to {service.placed_within_s * 1e3:.2g} ms, more than half of the {in_question_s * 1e3:.2g} ms that "
            "are to be explained"
        )
    ordinary = float(np.median(latency))
    visible = [span for span in spans if span[1] - span[0] >= 2 * ordinary]
    offset = estimate_clock_offset(start + latency, visible, median_service_s=ordinary)
    wrong = offset.offset_s is not None and not offset.supports_attribution
    return offset, offset.why if wrong else None


@dataclass(frozen=True)
class _Laid:
    """The service's pauses over its requests, which may all be off by ``within_s``."""

    start: FloatArray
    latency: FloatArray
    pauses: Paused
    within_s: float
    seed: int

    def apart(self, quantile: float, own: Paused) -> Attribution:
        """Take the tail apart by the service's pauses and ``own``, those of the generator."""
        found = self._with_pauses_moved(0.0, quantile, own)
        lengths = [high - low for spans in self.pauses.values() for low, high in spans]
        if not lengths or float(np.median(lengths)) / 2 >= self.within_s:
            return found
        moved = [self._with_pauses_moved(by, quantile, own) for by in (-self.within_s, self.within_s)]
        shares = ("quantile_share", "quantile_share_lower", "quantile_share_upper")
        causes = (
            part.model_copy(
                update={
                    "share_of_tail": _over_all(
                        part.share_of_tail, [other.causes[place].share_of_tail for other in moved]
                    )
                }
            )
            for place, part in enumerate(found.causes)
        )
        return found.model_copy(
            update={
                **{
                    name: _over_all(getattr(found, name), [getattr(other, name) for other in moved])
                    for name in shares
                },
                "causes": tuple(causes),
            }
        )

    def _with_pauses_moved(self, by_s: float, quantile: float, own: Paused) -> Attribution:
        moved = {
            cause: tuple((low + by_s, high + by_s) for low, high in spans)
            for cause, spans in self.pauses.items()
        }
        return attributable_fraction(
            self.start,
            self.latency,
            moved | own,
            quantile=quantile,
            resamples=RESAMPLES,
            seed=self.seed,
        )


def _over_all(estimate: Estimate, others: Sequence[Estimate]) -> Estimate:
    """Widen an interval until it covers those of the others."""
    every = [estimate, *others]
    lows, highs = [e.low for e in every if e.low is not None], [e.high for e in every if e.high is not None]
    if estimate.low is None or estimate.high is None:
        return estimate
    return estimate.model_copy(
        update={
            "low": min(lows),
            "high": max(highs),
            "method": f"{estimate.method}, over all places that the pauses may have",
        }
    )


def _inside(events: Paused, window: Span) -> Paused:
    return {
        cause: tuple(span for span in spans if span[1] >= window[0] and span[0] <= window[1])
        for cause, spans in events.items()
    }


def _most_taken_s(spans: Sequence[Span], length_s: float) -> float:
    """The longest time that pauses fill within any window of this length."""
    if not spans:
        return 0.0
    low, high = np.array(spans).T
    at = np.concatenate([low, high - length_s])  # the most is reached with an edge on an edge
    filled = np.minimum(high, at[:, None] + length_s) - np.maximum(low, at[:, None])
    return float(min(np.maximum(filled, 0.0).sum(axis=1).max(), length_s))


def _union_s(spans: Sequence[Span]) -> float:
    total, reached = 0.0, -np.inf
    for low, high in spans:
        total += max(0.0, high - max(low, reached))
        reached = max(reached, high)
    return float(total)


def _resolution(record: TrialRecord) -> float:
    return record.load.resolution_s if record.load else 0.0
