# SPDX-License-Identifier: Apache-2.0
"""What a trial's processes used while the load ran: CPU time and memory, from its record and its samples."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.model import ContainerRecord, GroupReading, MachineWindow, Phase, ResourceReading, TrialRecord

#: Role in the samples of the process that reads a request log from a pipe.
LOG_READER = "log-reader"


def load_window(record: TrialRecord, settle_s: float) -> tuple[float, float] | None:
    """Return when the part of the load that counts ran, on the monotonic clock of the samples.

    It begins ``settle_s`` after the first request and ends with the last answer. The measurement phase itself is
    longer: it holds the start of the generator's own process.
    """
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


def processor_columns(
    record: TrialRecord, samples: pd.DataFrame | None, *, n_requests: int | None, settle_s: float
) -> dict[str, object]:
    """Return the columns of CPU time, of service and generator; none where no window or no samples are known.

    Args:
        n_requests: begun in the part of the load that counts; ``None``: not known.
        settle_s: the head of the load that is left out.
    """
    window = load_window(record, settle_s)
    if window is None or samples is None or window[1] <= window[0]:
        return {}
    service = cpu_in_window(samples, "service", window)
    generator = generators_cpu(samples, window)
    span = window[1] - window[0]
    return {
        "cpu_s_per_request": service / n_requests if service is not None and n_requests else None,
        "kernel_cpu_s_per_request": _kernel_part(record, service / n_requests)
        if service is not None and n_requests
        else None,
        "service_cores": None if service is None else service / span,
        "generator_cores": None if generator is None else generator / span,
    }


def _kernel_part(record: TrialRecord, cpu_s: float) -> float | None:
    """Return how much of ``cpu_s`` the kernel spent for the service: the share of it between the boundaries around the
    load. ``None``: it was not read (records of before 2026-11-24 do not have it)."""
    at = {boundary.name: boundary.reading for boundary in record.boundaries}
    before, after = at.get("before-load"), at.get("after-load")
    if before is None or after is None or before.cpu_s is None or after.cpu_s is None:
        return None
    if before.system_s is None or after.system_s is None or after.cpu_s <= before.cpu_s:
        return None
    return cpu_s * min(1.0, max(0.0, (after.system_s - before.system_s) / (after.cpu_s - before.cpu_s)))


def generators_cpu(samples: pd.DataFrame, window: tuple[float, float]) -> float | None:
    """Return the CPU seconds of all generators; of several each has a role of its own: generator, generator-2...

    One of several that has ended before the others uses nothing from then on.
    """
    roles = [role for role in samples["role"].unique() if str(role).startswith("generator")]
    if len(roles) <= 1:
        return cpu_in_window(samples, "generator", window)
    total = 0.0
    for role in roles:
        rows = samples[(samples["role"] == role) & samples["cpu_s"].notna()]
        if len(rows) < 2:
            return None
        begin, end = np.interp(window, rows["monotonic_s"], rows["cpu_s"])
        total += float(end - begin)
    return total


def machine_of(record: TrialRecord, samples: pd.DataFrame | None) -> MachineWindow | None:
    """Return the machine during the measurement, without what the reader of a request log used.

    Records made before ``reader_cpu_s`` was kept count the reader among the other processes; it is taken out by its
    samples. ``None``: the machine was not read.
    """
    machine, log, phase = record.machine, record.request_log, phase_of(record, "measurement")
    if machine is None or machine.other_cpu_s is None or samples is None or phase is None:
        return machine
    if log is None or log.sink != "pipe" or log.reader_cpu_s is not None:
        return machine
    used_s = cpu_in_window(samples, LOG_READER, (phase.start.monotonic_s, phase.end.monotonic_s))
    if used_s is None:
        return machine
    return machine.model_copy(update={"other_cpu_s": max(0.0, machine.other_cpu_s - used_s)})


def request_log_columns(
    record: TrialRecord, samples: pd.DataFrame | None, *, settle_s: float
) -> dict[str, object]:
    """Return what became of the lines of the request log; none of a service that writes none that are counted."""
    log = record.request_log
    if log is None:
        return {}
    window, cores = load_window(record, settle_s), None
    if window is not None and samples is not None and window[1] > window[0]:
        used = cpu_in_window(samples, LOG_READER, window)
        cores = None if used is None else used / (window[1] - window[0])
    return {
        "log_requests": log.requests,
        "log_lines": log.lines,
        "log_lines_lost": log.lost,
        "log_bytes": log.bytes,
        "log_reader_cores": cores,
    }


def cpu_in_window(samples: pd.DataFrame, role: str, window: tuple[float, float]) -> float | None:
    """Return the CPU seconds that a role used within the window, between samples by interpolation.

    ``None``: fewer than two readings, or none near either end (a tenth of the window is the most
    that may be guessed).
    """
    rows = ((samples["role"] == role) & samples["cpu_s"].notna()).to_numpy(dtype=bool)
    at, cpu = (samples[name].to_numpy()[rows].astype(np.float64) for name in ("monotonic_s", "cpu_s"))
    slack = 0.1 * (window[1] - window[0])
    if at.size < 2 or at[0] > window[0] + slack or at[-1] < window[1] - slack:
        return None
    begin, end = np.interp(window, at, cpu)
    return float(max(0.0, end - begin))


def memory_columns(
    record: TrialRecord, samples: pd.DataFrame | None, *, settle_s: float
) -> dict[str, object]:
    """Return the columns of memory: before and after the load, and the most of any sample of the part that counts."""
    before, after = reading_at(record, "before-load"), reading_at(record, "after-load")
    window, highest = load_window(record, settle_s), None
    if window is not None and samples is not None:
        rows = (samples["role"] == "service") & samples["monotonic_s"].between(window[0], window[1])
        inside = samples["rss_bytes"][rows].dropna()
        highest = float(inside.max()) if len(inside) else None
    return {
        "rss_before_bytes": before.rss_bytes if before else None,
        "rss_after_bytes": after.rss_bytes if after else None,
        "rss_max_bytes": highest,
        "pss_after_bytes": after.pss_bytes if after else None,
    }


def reading_at(record: TrialRecord, name: str) -> ResourceReading | None:
    """Return what the instance used at a boundary by name; ``None``: the trial did not get there."""
    return next((b.reading for b in record.boundaries if b.name == name), None)


def limit_columns(record: TrialRecord) -> dict[str, object]:
    """Return who enforced the service's limits, what its group counted until it was stopped, and its container.

    ``process_rss_bytes`` and ``process_cpu_s`` are of the process at the very moment of ``group_*``, so that the two
    ways of counting can be compared. None of a plain process without a memory limit.
    """
    instance = record.instance
    if instance is None:
        return {}
    if instance.container is not None:
        found = _group(instance.container.at_stop) | _container(instance.container)
        return found | {"limits": "container"}
    if instance.limits is not None:
        return _group(instance.limits.at_stop) | {"limits": instance.limits.enforced_by or "not enforced"}
    return {}


def _container(container: ContainerRecord) -> dict[str, object]:
    return {
        "image_bytes": container.image_bytes,
        "container_create_s": container.create_s,
        "container_start_s": container.start_s,
    }


def _group(reading: GroupReading | None) -> dict[str, object]:
    if reading is None:
        return {}
    return {
        "service_throttled_s": reading.throttled_s,
        "group_memory_bytes": reading.memory_bytes,
        "group_memory_max_bytes": reading.memory_max_bytes,
        "group_cpu_s": reading.cpu_s,
        "process_rss_bytes": reading.rss_bytes,
        "process_cpu_s": reading.process_cpu_s,
    }
