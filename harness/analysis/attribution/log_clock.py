# SPDX-License-Identifier: Apache-2.0
"""What was recorded of the causes of a trial's peaks, on the clock of its requests: logs, counters, a flight recording.

A JVM's log carries wall time. Go's counts from the start of the runtime, which follows to a millisecond from what
``/metrics`` told of the last collection (``runtime_start``), else from the launch to ``LAUNCH_TO_CLOCK_S``. CPU denied
by a quota, and CPU that was waited for, are counters in ``machine.csv``, read twice a second. What was not recorded is
not excluded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from harness.analysis.attribution.event_matching import Beside, estimate_clock_offset
from harness.analysis.attribution.spans import CauseName, Paused, Span, joined
from harness.analysis.tables.runtime_columns import process_metrics
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.formats.gc_events import GcLog
from harness.formats.jfr_json import read_jfr_json
from harness.formats.row_files import HELD_UP_S
from harness.formats.runtime_log import read_runtime_log
from harness.formats.runtime_metrics import LastCollection, throttle_spans
from harness.model import ClockReading, Frozen, TrialRecord
from harness.store import SessionFolder

JVM_LOG, GO_LOG, GENERATOR_LOG = "gc.log", "service.stderr.txt", "load/generator-gc.log"
METRONOME_ROWS = "load/samples.csv"
#: From right before a Go program is executed to the first reading of its runtime's clock, at the most.
LAUNCH_TO_CLOCK_S = 0.005


class AlignedLog(Frozen):
    """A runtime's pauses on the wall clock, in seconds since the epoch. ``refused``: why there are none."""

    collector: str | None
    events: Paused
    cycles: tuple[Span, ...] = ()  # when the collector worked beside the program, joined, in time order
    collections: tuple[float, ...] = ()  # when each collection's first step began, beside the program or not
    placed_within_s: float | None  # how far off any of them may be, to either side
    placed_by: str | None = None  # what places them, in words
    refused: str | None = None


def service_log(session: SessionFolder, record: TrialRecord) -> AlignedLog:
    """Read the service's own log, from wherever its runtime writes one, and place it on the wall clock."""
    trial = record.planned.trial_id
    runtime = session.header.implementations[record.planned.configuration.variant.implementation].runtime
    try:
        if runtime == "jvm":
            log = read_runtime_log(session.path(trial, JVM_LOG))
            return placed(log, clock=clock_shift(record, "service"))
        if runtime == "go" and session.has(trial, GO_LOG):
            launched = record.instance.launched if record.instance else None
            log = read_runtime_log(session.path(trial, GO_LOG), of_go=True)
            known = last_collections(session, record)
            # what /metrics told is of the service's own clock; the launch stands in the record on ours
            of_service, of_harness = clock_shift(record, "service"), clock_shift(record, None)
            if launched is not None:
                wall_epoch_s = launched.wall_epoch_s + of_harness.shift_s - of_service.shift_s
                launched = launched.model_copy(update={"wall_epoch_s": wall_epoch_s})
            return placed(log, launched, reported=known, clock=of_service)
    except InputError as error:
        return _nothing(str(error))
    return _nothing(f"the runtime {runtime!r} left no log of its pauses")


def generator_log(session: SessionFolder, record: TrialRecord) -> AlignedLog:
    """Read the pauses of the load generator itself; one without a log (wrk, Locust) has none that are known.

    metronome writes for how long it held up each request, so its pauses are known by those that were due within them.
    """
    trial = record.planned.trial_id
    load = record.planned.configuration.load
    if load is not None and load.generator == "metronome" and session.has(trial, METRONOME_ROWS):
        return _held_up(session, trial)
    if not session.has(trial, GENERATOR_LOG):
        return _nothing("the load generator writes no log of pauses")
    try:
        log = placed(read_runtime_log(session.path(trial, GENERATOR_LOG)))
    except InputError as error:
        return _nothing(str(error))
    spans = tuple(sorted(span for spans in log.events.values() for span in spans))
    return log.model_copy(update={"events": {"generator_stall": spans}, "cycles": ()})


def _held_up(session: SessionFolder, trial: str) -> AlignedLog:
    """Return when metronome held up a request for longer than ``HELD_UP_S``, from its own rows."""
    with session.open(trial, METRONOME_ROWS) as stream:
        rows = pd.read_csv(stream, usecols=["due_epoch_s", "latency_s", "service_time_s", "send_delay_s"])
    held_up = rows[rows["send_delay_s"] > HELD_UP_S]
    # a request may first have waited for a connection, which is not the generator's doing
    sent = held_up["due_epoch_s"] + held_up["latency_s"] - held_up["service_time_s"]
    ready = np.maximum(held_up["due_epoch_s"], sent - held_up["send_delay_s"])
    spans = joined(zip(ready.tolist(), (ready + held_up["send_delay_s"]).tolist(), strict=True))
    return AlignedLog(collector=None, events={"generator_stall": spans}, placed_within_s=0.0)


def last_collections(session: SessionFolder, record: TrialRecord) -> tuple[LastCollection, ...]:
    """Return what the service, of several pods the first one, said of its last collection at the edges of phases."""
    known = (process_metrics(session, record, boundary.name)[:1] for boundary in record.boundaries)
    return tuple(item.last_collection for ones in known for item in ones if item.last_collection is not None)


class ClockShift(Frozen):
    """What to add to a log's moments to have them on the clock of the requests, and how sure that is."""

    shift_s: float = 0.0
    within_s: float = 0.0


def clock_shift(record: TrialRecord, role: Literal["service", "load"] | None) -> ClockShift:
    """Return the way from the wall clock of a role's machine, ``None``: the harness's, to that the load came from."""

    def offset(of: Literal["service", "load"] | None) -> tuple[float, float]:
        results = [clock for clock in record.clocks if clock.role == of]
        if not results:  # on the harness's own machine
            return 0.0, 0.0
        walls = [clock.wall_offset_s for clock in results]
        within_s = max(clock.uncertainty_s for clock in results) + (max(walls) - min(walls)) / 2
        return sum(walls) / len(walls), within_s

    if role == "service" and record.clocks:
        service, load = (
            {clock.host for clock in record.clocks if clock.role == of} for of in ("service", "load")
        )
        if service == load:  # one far machine, whose one clock needs no help
            return ClockShift()
    local, here_within = offset(role)
    remote, there_within = offset("load")
    return ClockShift(shift_s=remote - local, within_s=here_within + there_within)


def placed(
    log: GcLog,
    launched: ClockReading | None = None,
    *,
    reported: Sequence[LastCollection] = (),
    clock: ClockShift | None = None,
) -> AlignedLog:
    """Put a log on the wall clock of the requests.

    Args:
        launched: on the process's own machine, for a log that counts from its start (Go).
        reported: what the process said of its last collection. clock: from that machine's clock to the requests'.
    """
    aligned = _placed_there(log, launched, reported)
    if clock is None or clock == ClockShift() or aligned.placed_within_s is None:
        return aligned
    by_s = clock.shift_s
    return aligned.model_copy(
        update={
            "events": {cause: _shifted(spans, by_s) for cause, spans in aligned.events.items()},
            "cycles": _shifted(aligned.cycles, by_s),
            "collections": tuple(at + by_s for at in aligned.collections),
            "placed_within_s": aligned.placed_within_s + clock.within_s,
            "placed_by": f"{aligned.placed_by}, and what the machines' clocks are apart",
        }
    )


def _shifted(spans: Iterable[Span], by_s: float) -> tuple[Span, ...]:
    return tuple((low + by_s, high + by_s) for low, high in spans)


def _placed_there(
    log: GcLog, launched: ClockReading | None, reported: Sequence[LastCollection]
) -> AlignedLog:
    """Put a log on the wall clock of the machine it was written on."""
    if log.clock == "epoch":
        # the wall clock's own stamps are milliseconds
        return _at(log, 0.0, max(log.resolution_s, 1e-3), "the log's own wall-clock stamps")
    if log.clock != "process_start":
        return _nothing("the log has no wall-clock stamps, and nothing anchors it", log)
    start = runtime_start(log, reported)
    if start is not None:
        since_s = None if launched is None else start.epoch_s - launched.wall_epoch_s
        if since_s is not None and not (_SOONEST_S - start.within_s <= since_s <= _LATEST_S + start.within_s):
            told_of = "the log's collections and those that /metrics told of"
            return _nothing(f"{told_of} are not of the process that was launched", log)
        # what was cut to whole milliseconds lies half of one later on average, and no farther off than that
        half = log.resolution_s / 2
        words = f"{start.n_collections} collections that /metrics told of"
        return _at(log, start.epoch_s + half, start.within_s + half, words)
    if launched is None:
        return _nothing("the log has no wall-clock stamps, and nothing anchors it", log)
    return _at(log, launched.wall_epoch_s, LAUNCH_TO_CLOCK_S + log.resolution_s, "the moment of launch")


def _at(log: GcLog, shift_s: float, within_s: float, by: str) -> AlignedLog:
    events: dict[CauseName, list[Span]] = {}
    for event in log.events:
        events.setdefault(event.cause, []).append((event.start_s, event.end_s))
    return AlignedLog(
        collector=log.collector, events={cause: _shifted(spans, shift_s) for cause, spans in events.items()},
        collections=_begins(log, shift_s), placed_within_s=within_s, placed_by=by,
        cycles=joined((cycle.start_s + shift_s, cycle.end_s + shift_s) for cycle in log.cycles),
    )  # fmt: skip


def _begins(log: GcLog, shift_s: float) -> tuple[float, ...]:
    """Return when each collection began, by its number; steps without one count only where none has any."""
    first: dict[int, float] = {}
    unnumbered: list[float] = []
    steps = [(event.gc_id, event.start_s) for event in log.events if event.cause == "gc_pause"]
    for number, start_s in [*steps, *((cycle.gc_id, cycle.start_s) for cycle in log.cycles)]:
        if number is None:
            unnumbered.append(start_s + shift_s)
        else:
            first[number] = min(first.get(number, math.inf), start_s + shift_s)
    return tuple(sorted(first.values() or unnumbered))


def _nothing(why: str, log: GcLog | None = None) -> AlignedLog:
    collector = None if log is None else log.collector
    return AlignedLog(collector=collector, events={}, placed_within_s=None, refused=why)


#: Between the two clocks that the runtime reads one after the other when a collection ends.
_BETWEEN_READINGS_S = 2e-5
#: Bounds that miss each other by no more: the wall clock was slewed meanwhile, not set.
_SLEWED_S = 2e-3
#: A runtime starts no sooner than its process is launched, and in a container not much later.
_SOONEST_S, _LATEST_S = -2e-3, 5.0


class RuntimeStart(NamedTuple):
    """The wall-clock time at which the runtime's own clock began to count, the middle of what is possible, and half the
    width of that, in seconds; and how many collections both sides told of."""

    epoch_s: float
    within_s: float
    n_collections: int


def runtime_start(log: GcLog, reported: Sequence[LastCollection]) -> RuntimeStart | None:
    """Bound the start of gctrace's clock; ``None``: no collection stands in both, or they contradict each other."""
    by_number = {cycle.gc_id: cycle for cycle in log.cycles}
    low, high = float("-inf"), float("inf")
    seen = set()
    for last in reported:
        cycle = by_number.get(last.number)
        if cycle is None:
            continue
        seen.add(last.number)
        high = min(high, last.ended_epoch_s - cycle.end_s + _BETWEEN_READINGS_S)
        low = max(low, last.ended_epoch_s - cycle.end_s - cycle.late_by_s - _BETWEEN_READINGS_S)
    if not seen or low - high > _SLEWED_S:
        return None
    return RuntimeStart((low + high) / 2, abs(high - low) / 2, len(seen))


#: file -> whose machine; the second is there when the load came from a machine of its own.
MACHINES = {"machine.csv": "the service's machine", "machine-load.csv": "the load's machine"}
#: As ``harness.measure.runner.snapshots`` names it.
RECORDING = "recording.json"
#: Causes that are the service's own; the generator's pauses delay the sending, not the service.
SERVICE_CAUSES: tuple[CauseName, ...] = ("gc_pause", "allocation_stall", "other_safepoint")


def throttling(session: SessionFolder, record: TrialRecord) -> list[Beside]:
    """Return when the service's group was denied CPU, epoch seconds. Raises InputError: why it is not known."""
    instance = record.instance
    if instance is not None and (instance.container or (instance.limits and instance.limits.enforced_by)):
        raise InputError("the service has a control group of its own, and machine.csv none but the harness's")
    at, n, denied_s = _readings(session, record, "machine.csv", "n_throttled", "throttled_s")
    try:
        spans = tuple(throttle_spans(list(zip(at.tolist(), map(int, n.tolist()), strict=True))))
    except InputError as error:
        raise InputError(f"machine.csv: {error}") from error
    # summed over CPUs, so it may have grown faster than time
    lost = np.clip(np.diff(denied_s), 0.0, np.diff(at))[np.diff(n) > 0]
    return [Beside(cause="cgroup_throttle", spans=spans, lost_s=tuple(lost.tolist()))]


def waiting(session: SessionFolder, record: TrialRecord) -> list[Beside]:
    """Return how long a CPU was waited for between readings, of each machine. Raises InputError: why none is known."""
    results: list[Beside] = []
    missing: list[str] = []
    for name, where in MACHINES.items():
        try:
            at, pressed_s, stolen_s = _readings(session, record, name, "psi_cpu_some_s", optional="steal_s")
        except InputError as error:
            if name == "machine.csv" or session.has(record.planned.trial_id, name):
                missing.append(f"{where}: {error}")
            continue
        # the kernel's pressure does not know of what the hypervisor took
        lost = np.clip(np.diff(pressed_s) + np.nan_to_num(np.diff(stolen_s)), 0.0, np.diff(at))
        spans = tuple(pairwise(at.tolist()))
        results.append(Beside(cause="run_queue", spans=spans, lost_s=tuple(lost.tolist())))
    if not results:
        raise InputError("; ".join(missing))
    return results


def _readings(
    session: SessionFolder, record: TrialRecord, name: str, *wanted: str, optional: str = ""
) -> list[FloatArray]:
    """Return when a machine was read (epoch seconds, clock of the requests), and what, where all is known."""
    trial = record.planned.trial_id
    if not session.has(trial, name):
        raise InputError(f"there is no {name}")
    with session.open(trial, name) as stream:
        frame = pd.read_csv(stream)
    lacking = [column for column in ("monotonic_s", *wanted) if column not in frame.columns]
    if lacking:
        raise InputError(f"{name} has no {', '.join(lacking)}")
    known = frame.dropna(subset=["monotonic_s", *wanted])
    known = known[known["monotonic_s"].diff().fillna(1.0) > 0]
    if len(known) < 2:
        raise InputError(
            f"{name} has fewer than two readings of {', '.join(wanted)}: this kernel does not tell"
        )
    to_epoch_s = record.started.wall_epoch_s - record.started.monotonic_s + clock_shift(record, None).shift_s
    columns = [column for column in (*wanted, optional) if column]
    read = known.reindex(columns=columns).to_numpy(dtype=np.float64).T
    return [known["monotonic_s"].to_numpy(dtype=np.float64) + to_epoch_s, *read]


def compiling(session: SessionFolder, record: TrialRecord) -> list[Beside]:
    """Return when compilers were at work, in epoch seconds. Raises InputError: why it is not known."""
    trial = record.planned.trial_id
    if not session.has(trial, RECORDING):
        raise InputError("no flight recording: a variant asks for one with runtime.flight_recording")
    recording = read_jfr_json(session.path(trial, RECORDING))
    if "jdk.Compilation" not in recording.n_by_type:
        raise InputError("the flight recording has no jdk.Compilation in it: was it asked for?")
    by_s = clock_shift(record, "service").shift_s
    spans = joined((low + by_s, high + by_s) for low, high in recording.compilations)
    return [Beside(cause="jit", spans=spans, lost_s=tuple(high - low for low, high in spans))]


def beside_sources(
    session: SessionFolder,
    record: TrialRecord,
    service: AlignedLog,
    generator: AlignedLog,
    *,
    has_connect: bool,
) -> tuple[list[Beside], dict[CauseName, str]]:
    """Return what was recorded of causes beside the program, and cause -> why one was not recorded."""
    missing: dict[CauseName, str] = {}
    if not has_connect:
        missing["connect"] = "not recorded: the load tool does not report the time to connect"
    results: list[Beside] = []
    read: dict[CauseName, Callable[[SessionFolder, TrialRecord], list[Beside]]] = {
        "cgroup_throttle": throttling, "jit": compiling, "run_queue": waiting
    }  # fmt: skip
    for cause, source in read.items():
        try:
            results += source(session, record)
        except InputError as error:
            missing[cause] = f"not recorded: {error}"
    if service.placed_within_s is None:
        missing |= dict.fromkeys(SERVICE_CAUSES, f"not recorded: {service.refused}")
    if generator.placed_within_s is None:
        missing["generator_stall"] = f"not recorded: {generator.refused}"
    return results, missing


#: Nothing is placed better than the requests themselves are: most load generators write whole milliseconds.
FINEST_S = 1e-3
#: Why no pause of a duet is laid over its requests.
IN_DUET = (
    "in a duet the other arm and the exchanges of CPUs stop requests as pauses do, and no log tells when: attribute "
    "the pauses of trials beside which nothing ran"
)


def why_not_aligned(
    service: AlignedLog, pauses: Paused, record: TrialRecord, start: FloatArray, latency: FloatArray,
    in_question_s: float,
) -> str | None:  # fmt: skip
    """Return why attribution would be a guess; ``None``: it is not."""
    if record.duet is not None:
        return IN_DUET
    if service.placed_within_s is None:
        return service.refused
    spans = sorted(span for spans in pauses.values() for span in spans)
    if not spans:
        return None  # the log is this very process's, so no pause in it is a finding
    typical = float(np.median([high - low for low, high in spans]))
    moved = wall_step_s(record)
    if moved > max(typical / 2, 2e-3):
        return f"the wall clock was moved by {moved * 1e3:.1f} ms during the trial"
    if service.placed_within_s > max(typical / 2, in_question_s / 2, FINEST_S):
        known_s = typical, service.placed_within_s, in_question_s
        pause, within, asked = (f"{s * 1e3:.2g} ms" for s in known_s)
        known = f"by {service.placed_by} it is known to {within}, more than half of the {asked}"
        return f"the median pause of {pause} cannot be placed: {known} that are to be explained"
    ordinary = float(np.median(latency))
    visible = [span for span in spans if span[1] - span[0] >= 2 * ordinary]
    offset = estimate_clock_offset(start + latency, visible, median_service_s=ordinary)
    return offset.why if offset.offset_s is not None and not offset.supports_attribution else None


def wall_step_s(record: TrialRecord) -> float:
    """Return by how many seconds the wall clock was moved: against the monotonic one, last three readings to first."""
    readings = [record.started, *record.anchors, record.ended]
    readings += [clock for phase in record.phases for clock in (phase.start, phase.end)]
    readings.sort(key=lambda clock: clock.monotonic_s)
    apart = [clock.wall_epoch_s - clock.monotonic_s for clock in readings]
    return abs(float(np.median(apart[-3:]) - np.median(apart[:3])))
