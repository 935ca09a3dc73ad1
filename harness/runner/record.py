# SPDX-License-Identifier: Apache-2.0
"""What a trial leaves: its record, made of the notes taken on the way, and its samples in one file."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

from pydantic import JsonValue

from harness.hosts.base import now
from harness.launchers.arguments import GC_LOG
from harness.model import TrialRecord
from harness.runner.backing_phase import lay_together
from harness.runner.context import Notes, tidy_values, tidy_words
from harness.runner.load_phase import headroom_ratio, used_in_load
from harness.runner.load_process import OWN_SAMPLES
from harness.runner.outcome import trial_flags
from harness.runner.request_log import count_lines
from harness.runner.start_up import SERVICE_STDERR
from harness.sampling import as_earlier, merge

SAMPLES = "samples.csv"
#: The request log that logging experiments write can outgrow everything else; its size is kept, not its text.
REQUEST_LOG = "requests.log"
#: Of the whole life of a process.
LOGS = (GC_LOG, SERVICE_STDERR)


def keep_logs(first: Path, later: Path) -> None:
    """Give a trial that went on with another one's process that process's logs."""
    for name in LOGS:
        if (first / name).is_file():
            shutil.copyfile(first / name, later / name)


def trial_record(notes: Notes) -> TrialRecord:
    """Return the record of a trial that is over; everything it started has been stopped.

    Samples that load generators took of themselves are merged into the trial's own, and its request log goes.

    Raises:
        OSError: the trial's folder cannot be written.
    """
    spec, generator = notes.spec, notes.generator
    if generator is not None:
        generator = generator.model_copy(update={"headroom_ratio": headroom_ratio(notes)})
    instance = notes.instance
    if instance is not None:
        instance = instance.model_copy(
            update={
                "argv": tidy_words(instance.argv, notes),
                "environment": tidy_values(instance.environment, notes),
                "cpus_allowed": notes.cpus_allowed,
            }
        )
    for folder in [item.folder for item in notes.generators] or ["load"]:
        merge(spec.folder / SAMPLES, spec.folder / folder / OWN_SAMPLES)
    lay_together(spec.folder, SAMPLES)
    if notes.earlier_loads:
        began = [phase.start.monotonic_s for phase in notes.phases if phase.name == "measurement"]
        as_earlier(spec.folder / SAMPLES, began[0] if began else math.inf)
    optional: dict[str, JsonValue] = {
        "memory_asked": spec.memory_asked,
        "speed_wait_s": None if notes.speed_wait_s is None else round(notes.speed_wait_s, 2),
        "system_calls": notes.system_calls,
    }
    extra: dict[str, JsonValue] = {
        "missed_ticks": notes.missed_ticks,
        "ticks_by": notes.ticks_by,
        "ticks_hz": dict(notes.ticks_hz),
        **{name: value for name, value in optional.items() if value is not None},
    }
    if spec.planned.configuration.variant.lean:
        extra["conformance"] = "not checked: a lean handler answers a constant"
    log, request_log = spec.folder / REQUEST_LOG, notes.request_log
    if log.is_file():
        extra["request_log_bytes"] = log.stat().st_size
        if request_log is not None and request_log.sink == "file":
            counted = {"lines": count_lines(log), "bytes": log.stat().st_size}
            request_log = request_log.model_copy(update=counted)
        log.unlink()
    return TrialRecord(
        experiment=spec.experiment,
        session_id=spec.session_id,
        planned=spec.planned,
        outcome=notes.outcome,
        reason=notes.reason,
        flags=trial_flags(
            load=notes.load,
            generator=generator,
            instance=instance,
            machine=notes.machine,
            longest_gap_s=notes.longest_gap_s,
            phases=notes.phases,
            placement=notes.placement,
            clocks=notes.clocks,
            shared_by_design=spec.planned.shares_cpus,
            service_wait_s=used_in_load(notes, "wait_s"),
        ),
        started=notes.started,
        ended=now(),
        anchors=tuple(notes.anchors),
        phases=tuple(notes.phases),
        backing=tuple(
            record.model_copy(update={"argv": spec.tidy(record.argv)}) for record in notes.backing_records
        ),
        instance=instance,
        start_up=notes.start_up,
        conformance=notes.conformance,
        warm_up=notes.warm_up,
        load=notes.load,
        earlier_loads=tuple(notes.earlier_loads),
        request_log=request_log,
        generator=generator,
        generators=notes.generators if len(notes.generators) > 1 else (),
        boundaries=tuple(notes.boundaries),
        invariants=notes.invariants,
        stored=notes.stored,
        machine=notes.machine,
        cpu_speeds=notes.cpu_speeds,
        placement=notes.placement.words if notes.placement else "",
        clocks=tuple(notes.clocks),
        extra=extra,
    )
