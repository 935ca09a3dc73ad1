# SPDX-License-Identifier: Apache-2.0
"""Where every cause of a trial's peaks was looked for, and what was not recorded and so is not excluded.

CPU denied by a quota, and CPU that was waited for, are counters in ``machine.csv``, read twice a second; whose wait it
was is not known.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from harness.analysis.attribution.event_matching import Beside
from harness.analysis.attribution.log_clock import AlignedLog, clock_shift
from harness.analysis.attribution.spans import CauseName, Span, covered_s, inside, joined
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.formats.counters import throttle_spans
from harness.formats.jfr_json import read_jfr_json
from harness.model import Frozen, TrialRecord
from harness.store import SessionFolder

#: file -> whose machine; the second is there when the load came from a machine of its own.
MACHINES = {"machine.csv": "the service's machine", "machine-load.csv": "the load's machine"}
#: Somebody waited for a CPU in this share of the time between two readings, and in so much more of it than in
#: the trial's ordinary moment: then the moment stands out.
LARGE_SHARE, ABOVE_ORDINARY = 0.5, 0.25
#: With fewer readings than this under load nothing is ordinary.
FEWEST = 5


def throttling(session: SessionFolder, record: TrialRecord) -> Beside | str:
    """Return when the service's control group was denied CPU, in epoch seconds; or why that is not known."""
    frame = _readings(session, record, "machine.csv", ("n_throttled", "throttled_s"))
    if isinstance(frame, str):
        return frame
    at, n, denied_s = (frame[name].to_numpy(dtype=np.float64) for name in frame.columns)
    try:
        spans = tuple(throttle_spans(list(zip(at.tolist(), map(int, n.tolist()), strict=True))))
    except InputError as error:
        return f"machine.csv: {error}"
    # summed over CPUs, so it may have grown faster than time
    lost = np.clip(np.diff(denied_s), 0.0, np.diff(at))[np.diff(n) > 0]
    words = (
        f"machine.csv: the quota ran out between {len(spans)} of {len(at) - 1} readings, {_apart(at)} s apart"
    )
    return Beside(cause="cgroup_throttle", spans=spans, lost_s=tuple(lost.tolist()), words=words)


def waiting(session: SessionFolder, record: TrialRecord, window: Span) -> tuple[Beside, ...] | str:
    """Return how long somebody waited for a CPU between readings, of each machine; or why that is not known."""
    results: list[Beside] = []
    missing: list[str] = []
    for name, where in MACHINES.items():
        frame = _readings(session, record, name, ("psi_cpu_some_s",))
        if isinstance(frame, str):
            if name == "machine.csv" or session.has(record.planned.trial_id, name):
                missing.append(f"{where}: {frame}")
            continue
        results.append(_waits(frame, where, window))
    return tuple(results) if results else "; ".join(missing)


def _waits(frame: pd.DataFrame, where: str, window: Span) -> Beside:
    at, pressed_s, stolen_s = (frame[name].to_numpy(dtype=np.float64) for name in frame.columns)
    length = np.diff(at)
    # the kernel's pressure does not know of what the hypervisor took
    lost = np.clip(np.diff(pressed_s) + np.nan_to_num(np.diff(stolen_s)), 0.0, length)
    share = lost / length
    under_load = (at[1:] > window[0]) & (at[:-1] < window[1])
    ordinary = float(np.median(share[under_load])) if under_load.sum() >= FEWEST else None
    usual = "too few readings under load to tell what is ordinary"
    if ordinary is not None:
        out = under_load & (share >= max(LARGE_SHARE, ordinary + ABOVE_ORDINARY))
        n_out, n = int(out.sum()), int(under_load.sum())
        usual = f"ordinarily {ordinary:.0%} of the time, more in {n_out} of {n} readings"
    steal = "" if np.isfinite(stolen_s).any() else ", steal is not recorded"
    words = f"pressure and steal of {where}, {_apart(at)} s apart: {usual}{steal}"
    spans = tuple(pairwise(at.tolist()))
    return Beside(cause="run_queue", spans=spans, lost_s=tuple(lost.tolist()), words=words)


def _readings(
    session: SessionFolder, record: TrialRecord, name: str, wanted: tuple[str, ...]
) -> pd.DataFrame | str:
    """Return the readings that have everything wanted, ``at_s`` (epoch seconds, clock of the requests) first."""
    trial = record.planned.trial_id
    if not session.has(trial, name):
        return f"there is no {name}"
    with session.open(trial, name) as stream:
        frame = pd.read_csv(stream)
    lacking = [column for column in ("monotonic_s", *wanted) if column not in frame.columns]
    if lacking:
        return f"{name} has no {', '.join(lacking)}"
    known = frame.dropna(subset=["monotonic_s", *wanted])
    known = known[known["monotonic_s"].diff().fillna(1.0) > 0]
    if len(known) < 2:
        return f"{name} has fewer than two readings of {', '.join(wanted)}: this kernel does not tell"
    to_epoch_s = record.started.wall_epoch_s - record.started.monotonic_s + clock_shift(record, None).shift_s
    columns = {name: known[name].astype(float) for name in wanted}
    if wanted == ("psi_cpu_some_s",):
        columns["steal_s"] = known.get("steal_s", known["monotonic_s"] * np.nan).astype(float)
    return pd.DataFrame({"at_s": known["monotonic_s"].astype(float) + to_epoch_s, **columns})


def _apart(at: FloatArray) -> str:
    return f"{float(np.median(np.diff(at))):.2g}"


#: As ``harness.runner.snapshots`` names it.
RECORDING = "recording.json"


def compiling(session: SessionFolder, record: TrialRecord, window: Span) -> Beside | str:
    """Return when compilers were at work, in epoch seconds; or why that is not known. ``window``: of the words."""
    trial = record.planned.trial_id
    if not session.has(trial, RECORDING):
        return "no flight recording: a variant asks for one with runtime.flight_recording"
    try:
        recording = read_jfr_json(session.path(trial, RECORDING))
    except InputError as error:
        return str(error)
    if "jdk.Compilation" not in recording.n_by_type:
        return "the flight recording has no jdk.Compilation in it: was it asked for?"
    by_s = clock_shift(record, "service").shift_s
    spans = joined((low + by_s, high + by_s) for low, high in recording.compilations)
    near = inside({"jit": spans}, window)["jit"]
    share = covered_s(near) / max(window[1] - window[0], 1e-9)
    n_deoptimised = sum(window[0] <= at + by_s <= window[1] for at in recording.deoptimisations)
    words = f"flight recording: compilers at work {min(share, 1.0):.0%} of the time, {n_deoptimised} deoptimisations"
    return Beside(cause="jit", spans=spans, lost_s=tuple(high - low for low, high in spans), words=words)


#: Causes that are the service's own; the generator's pauses delay the sending, not the service.
SERVICE_CAUSES: tuple[CauseName, ...] = ("gc_pause", "allocation_stall", "other_safepoint")
#: Causes of which is known that they were at work, and not how much they took.
BESIDE: tuple[CauseName, ...] = ("cgroup_throttle", "jit", "run_queue")


class Source(Frozen):
    """Where a cause was looked for. Not ``recorded``: it may have been at work all the same."""

    recorded: bool
    words: str  # what was read, and how finely it is known; or why there is nothing


def beside_sources(
    session: SessionFolder, record: TrialRecord, window: Span, *, has_connect: bool
) -> tuple[tuple[Beside, ...], dict[CauseName, Source]]:
    """Return what was recorded of causes beside the program, and where these and connecting were looked for."""
    words = "the load tool's time to connect, request by request"
    if not has_connect:
        words = "not recorded: the load tool does not report the time to connect"
    sources: dict[CauseName, Source] = {"connect": Source(recorded=has_connect, words=words)}
    results: list[Beside] = []
    looked: tuple[tuple[CauseName, Beside | tuple[Beside, ...] | str], ...] = (
        ("cgroup_throttle", throttling(session, record)),
        ("jit", compiling(session, record, window)),
        ("run_queue", waiting(session, record, window)),
    )
    for cause, read in looked:
        ones = () if isinstance(read, str) else (read,) if isinstance(read, Beside) else read
        words = f"not recorded: {read}" if isinstance(read, str) else "; ".join(item.words for item in ones)
        sources[cause] = Source(recorded=bool(ones), words=words)
        results += ones
    return tuple(results), sources


def log_sources(service: AlignedLog, refused: str | None, generator: AlignedLog) -> dict[CauseName, Source]:
    """Return of the causes that logs tell where they stood; ``refused``: why the service's were not laid."""
    laid = f"; not aligned with the requests: {refused}" if refused else ""
    own = _log_as_source(service, "the service's own log", laid)
    load = _log_as_source(generator, "the load generator's own log", "")
    return {**dict.fromkeys(SERVICE_CAUSES, own), "generator_stall": load}


def _log_as_source(log: AlignedLog, words: str, laid: str) -> Source:
    if log.placed_within_s is None:
        return Source(recorded=False, words=f"not recorded: {log.refused}")
    return Source(recorded=True, words=f"{words}, placed by {log.placed_by}{laid}")
