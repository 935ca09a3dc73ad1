# SPDX-License-Identifier: Apache-2.0
"""The pauses behind one trial's latencies: the logs of service and load generator, placed on the wall clock.

A JVM's log carries wall and monotonic time and needs no help. Go's counts from the start of the process
in whole milliseconds, so it is placed by the moment of launch, to within ``LAUNCH_TO_CLOCK_S``. Pauses
that are shorter than twice what their place is known to are not laid over requests: the trial says
that this was refused, and how much they could explain at the most, for which no clock is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from harness.analysis.matching import Span, match_events
from harness.analysis.slow_periods import Stall
from harness.analysis.stalls import detect_stalls, detectability_limit
from harness.errors import InputError
from harness.formats.gc_events import GcLog
from harness.formats.gctrace import read_gctrace
from harness.formats.jvm_log import read_jvm_log
from harness.model import ClockReading, Frozen, TrialRecord
from harness.store import SessionFolder

FloatArray = npt.NDArray[np.float64]

JVM_LOG, GO_LOG, GENERATOR_LOG = "gc.log", "service.stderr.txt", "load/generator-gc.log"
#: From right before a Go program is executed to the first reading of its runtime's clock, at the most.
LAUNCH_TO_CLOCK_S = 0.005
#: A stall and a pause belong together when they touch within this.
TOLERANCE_S = 0.005
#: Causes that are the service's own; the generator's pauses delay the sending, not the service.
SERVICE_CAUSES: tuple[CauseName, ...] = ("gc_pause", "allocation_stall", "other_safepoint")
QUANTILES: Mapping[str, float] = {"p99": 0.99, "p99.9": 0.999}
#: Intervals over trials come from the trials; within one, these are enough for a look.
RESAMPLES = 200

Paused = dict[CauseName, tuple[Span, ...]]


class PlacedLog(Frozen):
    """A runtime's pauses on the wall clock, in seconds since the epoch. ``refused``: why there are none."""

    collector: str | None
    events: Paused
    placed_within_s: float | None = Field(description="how far off all of them may be together")
    refused: str | None = None
    warnings: tuple[str, ...] = ()


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
    refused: str | None = Field(description="why the service's pauses were not laid over its requests")
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


def service_log(session: SessionFolder, record: TrialRecord) -> PlacedLog:
    """Read the service's own log, from wherever its runtime writes one, and place it on the wall clock."""
    trial = record.planned.trial_id
    runtime = session.header.implementations[record.planned.configuration.variant.implementation].runtime
    try:
        if runtime == "jvm":
            log = read_jvm_log(session.path(trial, JVM_LOG))
            return placed(log, None, clock=clock_shift(record, "service"))
        if runtime == "go" and session.has(trial, GO_LOG):
            launched = record.instance.launched if record.instance else None
            # when it was launched stands in the record on the clock of the machine that measured
            from_launch = clock_shift(record, None)
            return placed(read_gctrace(session.path(trial, GO_LOG)), launched, clock=from_launch)
    except InputError as error:
        return _nothing(str(error))
    return _nothing(f"the runtime {runtime!r} left no log of its pauses")


def generator_log(session: SessionFolder, record: TrialRecord) -> PlacedLog:
    """Read the pauses of the load generator itself; one without a log (wrk, Locust) has none that are known."""
    trial = record.planned.trial_id
    if not session.has(trial, GENERATOR_LOG):
        return _nothing("the load generator writes no log of pauses")
    try:
        log = placed(read_jvm_log(session.path(trial, GENERATOR_LOG)), None)
    except InputError as error:
        return _nothing(str(error))
    spans = tuple(sorted(span for spans in log.events.values() for span in spans))
    return log.model_copy(update={"events": {"generator_stall": spans}})


class ClockShift(Frozen):
    """What to add to a log's moments to have them on the clock of the requests, and how sure that is."""

    shift_s: float = 0.0
    within_s: float = 0.0


def clock_shift(record: TrialRecord, role: Literal["service", "load"] | None) -> ClockShift:
    """Return the way from one machine's wall clock to that of the machine the load came from.

    Args:
        role: whose clock the log is on; ``None``: that of the machine the harness ran on.
    """

    def offset(of: Literal["service", "load"] | None) -> tuple[float, float]:
        found = [clock for clock in record.clocks if clock.role == of]
        if not found:  # on the harness's own machine
            return 0.0, 0.0
        middle = float(np.mean([clock.wall_offset_s for clock in found]))
        drift = max(clock.wall_offset_s for clock in found) - min(clock.wall_offset_s for clock in found)
        return middle, max(clock.uncertainty_s for clock in found) + drift / 2

    if role == "service" and record.clocks and _same_machine(record):
        return ClockShift()
    here, here_within = offset(role)
    there, there_within = offset("load")
    return ClockShift(shift_s=there - here, within_s=here_within + there_within)


def _same_machine(record: TrialRecord) -> bool:
    """Whether service and load ran on one far machine, whose one clock needs no help."""
    return {clock.host for clock in record.clocks if clock.role == "service"} == {
        clock.host for clock in record.clocks if clock.role == "load"
    }


def placed(log: GcLog, launched: ClockReading | None, *, clock: ClockShift | None = None) -> PlacedLog:
    """Put a log on the wall clock of the requests.

    Args:
        launched: when the process was launched, for a log that counts from its start (Go).
        clock: from the log's machine (or the one that noted the launch) to that of the load.
    """
    clock = clock or ClockShift()
    shift_s, within_s = 0.0, max(log.resolution_s, 1e-3)  # the wall clock's own stamps are milliseconds
    if log.clock != "epoch":
        if log.clock != "process_start" or launched is None:
            return _nothing("the log has no wall-clock stamps, and nothing anchors it", log)
        shift_s, within_s = launched.wall_epoch_s, LAUNCH_TO_CLOCK_S + log.resolution_s
    shift_s, within_s = shift_s + clock.shift_s, within_s + clock.within_s
    events: dict[CauseName, list[Span]] = {}
    for event in log.events:
        events.setdefault(event.cause, []).append((event.start_s + shift_s, event.end_s + shift_s))
    said = list(log.warnings)
    if log.n_unknown:
        said.append(f"{log.n_unknown} lines could not be read, such as {log.unknown_examples[0]!r}")
    return PlacedLog(
        collector=log.collector,
        events={cause: tuple(spans) for cause, spans in events.items()},
        placed_within_s=within_s,
        warnings=tuple(said),
    )


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
    offset, refused = _why_not(service, pauses, record, start, latency)
    events = ({} if refused else pauses) | _inside(generator.events, window)
    said = {name: q for name, q in quantiles.items() if len(start) * (1 - q) >= MIN_TAIL}
    rate = len(start) / (window[1] - window[0])
    levels = {name: float(np.quantile(latency, q)) for name, q in {"p50": 0.5, **said}.items()}
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
        refused=refused,
        clock_offset_s=offset.offset_s if offset else None,
        whole={name: _apart(start, latency, events, q, seed) for name, q in said.items()},
        by_service={} if refused else {n: _apart(start, latency, pauses, q, seed) for n, q in said.items()},
        stalls=stalls,
        stall_causes=stall_causes(stalls, events),
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
    service: PlacedLog, pauses: Paused, record: TrialRecord, start: FloatArray, latency: FloatArray
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
    # Stamps of whole milliseconds scatter around the truth; a launch's delay shifts every pause alike.
    if service.placed_within_s > LAUNCH_TO_CLOCK_S and typical / 2 < service.placed_within_s:
        return None, (
            f"the median pause of {typical * 1e3:.2g} ms cannot be placed: the log counts from the start of "
            f"the process, which is known to {service.placed_within_s * 1e3:.0f} ms"
        )
    ordinary = float(np.median(latency))
    visible = [span for span in spans if span[1] - span[0] >= 2 * ordinary]
    offset = estimate_clock_offset(start + latency, visible, median_service_s=ordinary)
    wrong = offset.offset_s is not None and not offset.supports_attribution
    return offset, offset.why if wrong else None


def _apart(
    start: FloatArray, latency: FloatArray, events: Mapping[CauseName, Sequence[Span]], q: float, seed: int
) -> Attribution:
    return attributable_fraction(start, latency, events, quantile=q, resamples=RESAMPLES, seed=seed)


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


def _nothing(why: str, log: GcLog | None = None) -> PlacedLog:
    return PlacedLog(
        collector=log.collector if log else None,
        events={},
        placed_within_s=None,
        refused=why,
        warnings=log.warnings if log else (),
    )
