# SPDX-License-Identifier: Apache-2.0
"""What a trial leaves: its record, made of the notes taken on the way, and its samples in one file."""

from __future__ import annotations

import math
from typing import Any

from pydantic import JsonValue

from harness.measure.runner.backing_phase import lay_together
from harness.measure.runner.context import Notes, tidy_values, tidy_words
from harness.measure.runner.load_phase import OWN_SAMPLES, used_in_load
from harness.measure.runner.outcome import trial_flags
from harness.measure.runner.request_log import count_lines
from harness.model import TrialRecord
from harness.places.hosts.base import now
from harness.places.sampling import as_earlier, merge

SAMPLES = "samples.csv"
#: The request log that logging experiments write can outgrow everything else; its size is kept, not its text.
REQUEST_LOG = "requests.log"
#: Of the notes, as the record has it.
_AS_NOTED = (
    "outcome", "reason", "started", "anchors", "phases", "start_up", "conformance", "warm_up", "load", "earlier_loads",
    "boundaries", "invariants", "stored", "machine", "cpu_speeds", "clocks",
)  # fmt: skip


def trial_record(notes: Notes) -> TrialRecord:
    """Return the record of a trial that is over; everything it started has been stopped.

    Samples that load generators took of themselves are merged into the trial's own, and its request log goes.

    Raises:
        OSError: the trial's folder cannot be written.
    """
    spec, generator = notes.spec, notes.generator
    echo_per_s = None if generator is None else generator.echo_achieved_per_s
    if generator is not None and echo_per_s is not None and notes.load and notes.load.achieved_per_s > 0:
        ratio = echo_per_s / notes.load.achieved_per_s
        generator = generator.model_copy(update={"headroom_ratio": ratio})
    instance = notes.instance
    if instance is not None:
        instance = instance.model_copy(
            update={
                "argv": tidy_words(instance.argv, notes),
                "environment": tidy_values(instance.environment, notes),
                "cpus_allowed": notes.cpus_allowed,
            }
        )
    merge(spec.folder / SAMPLES, spec.folder / "load" / OWN_SAMPLES)
    lay_together(spec.folder, SAMPLES)
    if notes.earlier_loads:
        began = [phase.start.monotonic_s for phase in notes.phases if phase.name == "measurement"]
        as_earlier(spec.folder / SAMPLES, began[0] if began else math.inf)
    extra: dict[str, JsonValue] = {
        "missed_ticks": notes.missed_ticks,
        "ticks_by": notes.ticks_by,
        "ticks_hz": dict(notes.ticks_hz),
    }
    if spec.memory_asked is not None:
        extra["memory_asked"] = spec.memory_asked
    if notes.speed_wait_s is not None:
        extra["speed_wait_s"] = round(notes.speed_wait_s, 2)
    if notes.system_calls is not None:
        extra["system_calls"] = notes.system_calls
    if spec.planned.configuration.variant.lean:
        extra["conformance"] = "not checked: a lean handler answers a constant"
    log, request_log = spec.folder / REQUEST_LOG, notes.request_log
    if log.is_file():
        extra["request_log_bytes"] = log.stat().st_size
        if request_log is not None and request_log.sink == "file":
            counted = {"lines": count_lines(log), "bytes": log.stat().st_size}
            request_log = request_log.model_copy(update=counted)
        log.unlink()
    noted: dict[str, Any] = {name: getattr(notes, name) for name in _AS_NOTED}
    noted |= {name: tuple(value) for name, value in noted.items() if isinstance(value, list)}
    return TrialRecord(
        experiment=spec.experiment,
        session_id=spec.session_id,
        planned=spec.planned,
        flags=trial_flags(
            load=notes.load,
            generator=generator,
            instance=instance,
            machine=notes.machine,
            longest_gap_s=notes.longest_gap_s,
            phases=notes.phases,
            shared=notes.placement.shared,
            clocks=notes.clocks,
            shared_by_design=spec.planned.shares_cpus,
            service_wait_s=used_in_load(notes, "wait_s"),
        ),
        ended=now(),
        backing=tuple(
            record.model_copy(update={"argv": spec.tidy(record.argv)}) for record in notes.backing_records
        ),
        instance=instance,
        request_log=request_log,
        generator=generator,
        placement=notes.placement.words,
        extra=extra,
        **noted,
    )
