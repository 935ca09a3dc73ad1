# SPDX-License-Identifier: Apache-2.0
"""A load during which a JVM compiled or the CPUs were slowed is offered again to the same process, and kept beside it.

Some services are compiled once more long after their warm-up has settled, at a moment that cannot be foreseen, and for
longer than a warm load allows (``docs/warm-and-cold.md``). Which load counts is decided by the time of the compilers
and by the speed of the CPUs, and never by throughput, CPU time of requests or latency (``rematch verify repeats``).
"""

from __future__ import annotations

from harness.model import EarlierLoad, Outcome, Phase
from harness.runner.context import Notes, TrialContext, TrialSpec
from harness.runner.load_phase import used_in_load
from harness.runner.speed_gate import REPEATS as SPEED_REPEATS

#: In the trial's folder, followed by a number: the files of a load that does not count.
_EARLIER = "earlier-load"
#: Of the trial's folder; the files of the load that counts.
_LOAD = "load"
_BOUNDARIES = ("before-load", "after-load")
#: How names of files that were read at these boundaries begin.
_FILES = tuple(f"boundary-{name}." for name in _BOUNDARIES)


def to_be_repeated(spec: TrialSpec, context: TrialContext, notes: Notes) -> bool:
    """Whether a load that is over shall be offered again.

    It shall where the JVM's compilers worked for more of it than the warm-up allows a settled service, or another guest
    slowed the CPUs of a session that waits for their speed, and it was not yet repeated as often as it may be. Arms of
    a duet go on together, so theirs is not.
    """
    asked, load = spec.planned.configuration.warm_up, notes.load
    if asked is None or load is None or notes.outcome != Outcome.OK:  # a load that failed is not made good
        return False
    n_loads, gate = len(notes.earlier_loads), context.speed_gate
    if context.duet is not None:
        return False
    may_wait = gate is not None and n_loads < SPEED_REPEATS and not gate.is_over(notes.speed_wait_s or 0.0)
    if gate is not None and may_wait and gate.slowed(notes.cpu_speeds):
        return True
    compiled_s = used_in_load(notes, "compile_s")
    return (
        n_loads < asked.repeats
        and compiled_s is not None
        and asked.compiled_too_long(compiled_s, load.duration_s)
    )


def set_aside(spec: TrialSpec, notes: Notes) -> None:
    """Write down what the load came to, move its files aside, and make room for the next one.

    Its phase becomes one of the warm-up, which it has been.

    Raises:
        OSError: the trial's folder cannot be written.
    """
    load = notes.load
    if load is None:
        raise ValueError("no load to set aside")
    aside = spec.folder / f"{_EARLIER}-{len(notes.earlier_loads) + 1}"
    notes.earlier_loads.append(
        EarlierLoad(
            folder=aside.name,
            duration_s=load.duration_s,
            n_requests=load.n_requests,
            n_errors=load.n_errors,
            cpu_s=used_in_load(notes, "cpu_s"),
            compile_s=used_in_load(notes, "compile_s"),
            cpu_speeds=notes.cpu_speeds,
        )
    )
    (spec.folder / _LOAD).rename(aside)
    (spec.folder / _LOAD).mkdir()
    for file in list(spec.folder.iterdir()):
        if file.name.startswith(_FILES):
            file.rename(aside / file.name)
    notes.boundaries = [boundary for boundary in notes.boundaries if boundary.name not in _BOUNDARIES]
    notes.phases = [
        Phase(name="warm-up", start=phase.start, end=phase.end) if phase.name == "measurement" else phase
        for phase in notes.phases
    ]
    notes.load, notes.answers = None, {}


__all__ = ["set_aside", "to_be_repeated"]
