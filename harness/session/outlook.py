# SPDX-License-Identifier: Apache-2.0
"""What is to be expected of a session before it starts: how long it takes, which commands it gives."""

from __future__ import annotations

from harness.definitions import Study
from harness.errors import RematchError
from harness.memory.order import tried
from harness.memory.wanted import asked_of, fit_s
from harness.model import Configuration
from harness.provenance import without_paths
from harness.runner.rehearsal import bounded
from harness.session.assembly import Assembly
from harness.session.headroom import wanted_readings
from harness.session.loads import load_command, load_s
from harness.session.planning import Prepared, first_configuration, planned_variants

#: Beside the load: launch, conformance, boundaries, stop and packing. Seen on two cores; for planning only.
OVERHEAD_S = {"go": 1.5, "jvm": 3.5}
ECHO_OVERHEAD_S = 1.5
BACKING_S = 1.0


def expected_s(assembly: Assembly, study: Study, configuration: Configuration) -> float:
    """Return about how long one trial of the configuration takes, in seconds."""
    implementation = study.implementations[configuration.variant.implementation]
    around_s = OVERHEAD_S.get(implementation.runtime, OVERHEAD_S["jvm"]) + configuration.idle_s
    around_s += configuration.warm_up_requests * 0.001 + BACKING_S * len(implementation.needs)
    if configuration.load is None:
        return around_s
    return around_s + load_s(assembly, configuration.load, study.requests[configuration.mix])


def session_s(assembly: Assembly, prepared: Prepared) -> float:
    """Return about how long the whole session takes, headroom and memory included, builds not."""
    trials = [trial.configuration for trial in prepared.plan.trials]
    total = sum(expected_s(assembly, prepared.study, configuration) for configuration in trials)
    for load, mix in wanted_readings(trials, ()):
        short = load.model_copy(update={"profile": bounded(load.profile)})
        total += ECHO_OVERHEAD_S + load_s(assembly, short, prepared.study.requests[mix])
    return total + _memory_s(assembly, prepared)


def _memory_s(assembly: Assembly, prepared: Prepared) -> float:
    """What is measured of memory: each least heap is tried under the load that trials have, too."""
    asked, first, experiment = memory_asked(prepared), first_configuration(prepared), prepared.experiment
    if not asked or first.load is None:
        return 0.0
    load = tried(first.load, experiment.profiles[prepared.plan.profile].settle_s)
    variant = experiment.variants[next(iter(asked))]
    trial = first.model_copy(update={"variant": variant, "load": load})
    trial_s = expected_s(assembly, prepared.study, trial)
    return fit_s(experiment, planned_variants(prepared), trial_s)


def memory_asked(prepared: Prepared) -> dict[str, str]:
    """Return variant -> what of its memory will be measured before the first trial, as the definition says it."""
    return asked_of(prepared.experiment, planned_variants(prepared))


def commands_of(assembly: Assembly, prepared: Prepared) -> dict[str, tuple[str, ...]]:
    """Return what -> command line of everything a session would start, paths of this machine named.

    A command that cannot be told (its tool is missing) stands there as a comment with the reason.
    """
    study = prepared.study
    said: dict[str, tuple[str, ...]] = {}
    for trial in prepared.plan.trials:
        configuration = trial.configuration
        implementation = study.implementations[configuration.variant.implementation]
        said.setdefault(f"build {implementation.name}", implementation.build)
        said.setdefault(f"start {configuration.key}", _start_command(assembly, study, configuration))
        if configuration.load is not None:
            key = f"load {configuration.load.generator} {configuration.load_name} {configuration.mix}"
            try:
                n = len(assembly.shares_of(configuration.load))
                told = configuration.load.coordination == "tool"
                key += (f" (commanding {n})" if told else f" (1 of {n} alike)") if n > 1 else ""
                command = load_command(assembly, configuration, study)
            except RematchError as problem:
                command = ("#", str(problem))
            said.setdefault(key, command)
    return {key: without_paths(argv, places=assembly.places) for key, argv in said.items()}


def _start_command(assembly: Assembly, study: Study, configuration: Configuration) -> tuple[str, ...]:
    implementation = study.implementations[configuration.variant.implementation]
    try:
        return assembly.launch_command(implementation, configuration.variant)
    except RematchError as problem:
        return ("#", str(problem))
