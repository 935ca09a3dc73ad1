# SPDX-License-Identifier: Apache-2.0
"""What a trial's processes used while the load ran: CPU time, memory, pods; and how fast its CPUs were meanwhile.

A guest on the other hardware thread of a core makes a service a third slower, and neither steal nor pressure says so; a
fixed calculation, timed on each CPU while the load runs, does (:mod:`harness.agent.cpu_speed`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np
import pandas as pd

from harness.model import MachineWindow, Phase, ResourceReading, TrialRecord
from harness.model.digits import whole_percent
from harness.model.started import difference

#: Role in the samples of the process that reads a request log from a pipe.
LOG_READER = "log-reader"
#: Column -> field of the reading of a control group.
_OF_GROUP = {
    "service_throttled_s": "throttled_s", "group_memory_bytes": "memory_bytes", "group_cpu_s": "cpu_s",
    "process_rss_bytes": "rss_bytes", "process_cpu_s": "process_cpu_s",
}  # fmt: skip


def load_window(record: TrialRecord, settle_s: float) -> tuple[float, float] | None:
    """Return when the part of the load that counts ran: from ``settle_s`` after the first request to the last answer,
    seconds on the monotonic clock of the samples."""
    phase = phase_of(record, "measurement")
    if phase is None:
        return None
    begin, end = phase.start.monotonic_s, phase.end.monotonic_s
    load = record.load
    if load is None or load.start_epoch_s is None or load.duration_s <= 0:
        return None if settle_s else (begin, end)
    first = load.start_epoch_s - phase.start.wall_epoch_s + begin
    return max(begin, first + settle_s), min(end, first + load.duration_s)


def phase_of(record: TrialRecord, name: str) -> Phase | None:
    """Return a phase by name, the last one of that name; ``None``: the trial did not get there."""
    return next((phase for phase in reversed(record.phases) if phase.name == name), None)


def used_columns(
    record: TrialRecord, samples: pd.DataFrame | None, *, n_requests: int | None, settle_s: float
) -> dict[str, object]:
    """Return CPU time and greatest memory in the part of the load that counts; none: it or samples are not known."""
    window = load_window(record, settle_s)
    if window is None or samples is None:
        return {}
    rows = (samples["role"] == "service") & samples["monotonic_s"].between(*window)
    inside = samples["rss_bytes"][rows].dropna()
    columns: dict[str, object] = {"rss_max_bytes": float(inside.max()) if len(inside) else None}
    if window[1] <= window[0]:
        return columns
    used = {
        "service": cpu_in_window(samples, "service", window),
        "generator": cpu_in_window(samples, "generator", window),
    }
    if record.request_log is not None:
        used["log_reader"] = cpu_in_window(samples, LOG_READER, window)
    span, service = window[1] - window[0], used["service"]
    if service is not None and n_requests:
        columns["cpu_s_per_request"] = service / n_requests
        columns["kernel_cpu_s_per_request"] = _kernel_part(record, service / n_requests)
    return columns | {
        f"{role}_cores": None if cpu_s is None else cpu_s / span for role, cpu_s in used.items()
    }


def _kernel_part(record: TrialRecord, cpu_s: float) -> float | None:
    """Return how much of ``cpu_s`` the kernel spent, by the share of it between the boundaries; ``None``: not read."""
    used_s, system_s = (grown_under_load(record, name) for name in ("cpu_s", "system_s"))
    if used_s is None or system_s is None or used_s <= 0:
        return None
    return cpu_s * min(1.0, max(0.0, system_s / used_s))


def grown_under_load(record: TrialRecord, name: str) -> float | None:
    """Return how much a counter of the instance's readings grew between the boundaries; ``None``: it was not read."""
    return difference(*(getattr(reading_at(record, at), name, None) for at in ("before-load", "after-load")))


def grown_within(readings: pd.DataFrame, name: str, window: tuple[float, float]) -> float | None:
    """Return how much a counter grew within a window, interpolated; ``None``: fewer than two readings have it."""
    known = readings.reindex(columns=["monotonic_s", name]).dropna()
    if len(known) < 2:
        return None
    begin, end = np.interp(window, known["monotonic_s"], known[name])
    return float(max(0.0, end - begin))


def machine_of(record: TrialRecord, samples: pd.DataFrame | None) -> MachineWindow | None:
    """Return the machine during the measurement, without the reader of a request log, which old records count in."""
    machine, log, phase = record.machine, record.request_log, phase_of(record, "measurement")
    if machine is None or machine.other_cpu_s is None or samples is None or phase is None:
        return machine
    if log is None or log.sink != "pipe" or log.reader_cpu_s is not None:
        return machine
    used_s = cpu_in_window(samples, LOG_READER, (phase.start.monotonic_s, phase.end.monotonic_s))
    if used_s is None:
        return machine
    return machine.model_copy(update={"other_cpu_s": max(0.0, machine.other_cpu_s - used_s)})


def cpu_in_window(samples: pd.DataFrame, role: str, window: tuple[float, float]) -> float | None:
    """Return the CPU seconds of a role within the window, interpolated; ``None``: few readings, or none near an end."""
    own = samples[(samples["role"] == role) & samples["cpu_s"].notna()]
    slack = 0.1 * (window[1] - window[0])
    at = own["monotonic_s"].to_numpy()
    if at.size < 2 or at[0] > window[0] + slack or at[-1] < window[1] - slack:
        return None
    return grown_within(own, "cpu_s", window)


def reading_at(record: TrialRecord, name: str) -> ResourceReading | None:
    """Return what the instance used at a boundary by name; ``None``: the trial did not get there."""
    return next((b.reading for b in record.boundaries if b.name == name), None)


def limit_columns(record: TrialRecord) -> dict[str, object]:
    """Return who enforced the service's limits, and what its group counted under load and until it was stopped."""
    instance = record.instance
    if instance is not None and instance.container is not None:
        limits, reading = "container", instance.container.at_stop
    elif instance is not None and instance.limits is not None:
        limits, reading = instance.limits.enforced_by or "not enforced", instance.limits.at_stop
    else:
        return {}
    columns: dict[str, object] = {
        "limits": limits,
        "load_throttled_s": grown_under_load(record, "throttled_s"),
    }
    return columns | {column: getattr(reading, name, None) for column, name in _OF_GROUP.items()}


def pod_columns(record: TrialRecord) -> dict[str, object]:
    """Return the columns of pods; none of a trial outside a cluster. ``last_pod_*``: since the pods were asked for, of
    the last pod; empty where one lacks it, as sums are."""
    instance = record.instance
    if instance is None or instance.kubernetes is None:
        return {}
    around = instance.kubernetes
    pods, scaled_s, n = around.pods, around.scaled_after_s or 0.0, around.replicas
    asked = instance.launched.wall_epoch_s + scaled_s

    def after(
        moments: Iterable[float | None], from_s: float = scaled_s, least_s: float = -math.inf
    ) -> float | None:
        known = _of_all(moments, n)
        return max(least_s, max(known) - from_s) if known else None

    def total(name: str) -> float | None:
        known = _of_all((getattr(pod.at_stop, name, None) for pod in pods), len(pods))
        return math.fsum(known) if known else None

    runtimes = [pod.runtime_cpus for pod in pods]
    collectors = {runtime.collector for runtime in runtimes if runtime is not None} - {None}
    columns: dict[str, object] = {
        "limits": "pod", "n_pods": n, "image_bytes": around.image_bytes, "image_import_s": around.image_import_s,
        "last_pod_process_s": after(pod.process_after_s for pod in pods),
        # in whole seconds a moment may be before the request that it follows
        "last_pod_event_s": after((pod.events_epoch_s.get("Started") for pod in pods), asked, 0.0),
        "last_pod_condition_s": after((pod.conditions_epoch_s.get("Ready") for pod in pods), asked, 0.0),
        "last_pod_served_s": after(pod.first_served_after_s for pod in pods),
        "last_pod_routed_s": after(pod.routed_after_s for pod in pods),
        "runtime_cpus": min(_of_all((getattr(runtime, "cpus", None) for runtime in runtimes), n), default=None),
        "gc_found": ", ".join(sorted(map(str, collectors))) or None,
    }  # fmt: skip
    answered = answered_by_pod(record)
    if answered is not None and len(answered) == n:
        total_answered = sum(answered.values())
        share = min(answered.values()) * n / total_answered if total_answered else None
        columns |= {"pods_answered": total_answered, "least_pod_share": share}
    return columns | {column: total(name) for column, name in _OF_GROUP.items()}


def answered_by_pod(record: TrialRecord) -> dict[str, int] | None:
    """Return pod -> requests answered while the load ran; ``None``: not known of all, or one was started anew."""
    counts = {boundary.name: boundary.answered_by_pod for boundary in record.boundaries}
    before, after = counts.get("before-load"), counts.get("after-load")
    if before is None or after is None or before.keys() != after.keys():
        return None
    results = {pod: after[pod] - before[pod] for pod in after}
    return results if min(results.values(), default=-1) >= 0 else None


def _of_all(values: Iterable[float | None], n: int) -> list[float]:
    """Return the value of each of ``n`` pods; none where one of them is not known."""
    known = [value for value in values if value is not None]
    return known if len(known) == n else []


#: A trial whose CPUs took longer or shorter by more than this, as a share of the session's faster trials.
SPEED_DIFFERS = 0.10
#: Of fewer trials nobody can say what is usual.
FEWEST_TRIALS = 8
SERVICE, GENERATOR = "service_step_s", "generator_step_s"
_WHOSE = {SERVICE: "the service's", GENERATOR: "the generator's"}
#: At the beginning of the reason.
OTHER_SPEED = "machine"


def speed_columns(record: TrialRecord) -> dict[str, object]:
    """Return the CPU seconds of a step of the fixed calculation on the CPUs of service and generator, on average."""
    read = {cpu_speed.cpu: cpu_speed.step_ns_mean * 1e-9 for cpu_speed in record.cpu_speeds}
    if not read:
        return {}
    service = record.instance.cpu_affinity if record.instance is not None else ()
    generator = record.generator.cpu_affinity if record.generator is not None else ()
    return {SERVICE: _mean(read, service), GENERATOR: _mean(read, generator)}


def _mean(read: dict[int, float], cpus: Sequence[int]) -> float | None:
    results = [read[cpu] for cpu in cpus or read if cpu in read]
    return fmean(results) if results else None


def exclude_other_speeds(rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Exclude the trials of one session that ran at another speed than its faster ones, in place, and return them.
    Usual is the lower quartile under the same load. The generator's CPUs are judged only where the service was not the
    limit. Where fewer than ``FEWEST_TRIALS`` have a reading, none is excluded."""
    results = []
    alike: dict[object, list[dict[str, object]]] = defaultdict(list)
    for row in rows:
        alike[row["load_name"]].append(row)
    for group in alike.values():
        read = {c: [v for row in group if isinstance(v := row.get(c), float)] for c in _WHOSE}
        usual_s = {
            c: sorted(of)[len(of) // 4] if len(of) >= FEWEST_TRIALS else None for c, of in read.items()
        }
        for row in group:
            judged = (SERVICE,) if row.get("bound_by") == "service" else (SERVICE, GENERATOR)
            why = next(filter(None, (_why(row, column, usual_s[column]) for column in judged)), None)
            if why is not None and not row["excluded"]:
                row |= {"excluded": True, "exclusion_reason": f"{OTHER_SPEED}: {why}"}
                results.append(row)
    return results


def at_other_speed(trials: pd.DataFrame) -> pd.Series[bool]:
    """Tell which trials were excluded for the speed of their CPUs."""
    if "exclusion_reason" not in trials:
        return pd.Series(False, index=trials.index)
    return trials["exclusion_reason"].astype("str").str.startswith(f"{OTHER_SPEED}:", na=False)


def _why(row: dict[str, object], column: str, usual_s: float | None) -> str | None:
    """Return in words that a trial's CPUs had another speed; ``None``: they had not, or it is not known."""
    step_s = row.get(column)
    if usual_s is None or not isinstance(step_s, float):
        return None
    ratio = step_s / usual_s
    if 1 / (1 + SPEED_DIFFERS) <= ratio <= 1 + SPEED_DIFFERS:
        return None
    took = f"{whole_percent(abs(ratio - 1))} {'longer' if ratio > 1 else 'shorter'}"
    return f"{_WHOSE[column]} CPUs took {took} for the same work than in the session's faster trials"
