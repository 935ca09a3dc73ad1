# SPDX-License-Identifier: Apache-2.0
"""What is to be expected of a session before it starts: how long it takes, which commands it gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness.definitions import Study
from harness.errors import RematchError
from harness.loadgen.base import LoadSpec
from harness.measure.session.availability import load_s
from harness.measure.session.headroom import echo_load, wanted_readings
from harness.measure.session.memory import fit_s, memory_asked, tried
from harness.measure.session.planning import Prepared, first_configuration
from harness.measure.session.wiring import Assembly
from harness.model import Configuration, Endpoint, Load, PlannedTrial, Request
from harness.provenance import without_paths

# Seen on two cores; for planning only.
#: Of a warm-up in windows, as a share of the longest.
WARM_UP_SHARE = {"go": 0.15, "jvm": 0.5}
#: Beside the load: launch, conformance, boundaries, stop and packing; and of each pod beyond the first.
OVERHEAD_S, POD_S = {"go": 1.5, "jvm": 3.5}, {"go": 0.4, "jvm": 3.0}
#: A search takes so many times what decides on one rate.
SEARCHED_RATES = 8
#: Of the echo service; of each backing service; of a load in which system calls are counted.
ECHO_OVERHEAD_S, BACKING_S, COUNTING_S = 1.5, 1.0, 3.0


def trial_s(assembly: Assembly, study: Study, trial: PlannedTrial) -> float:
    """Return about how long a trial of a plan takes, in seconds; one that goes on with a process is loaded only, and
    the later one of a duet takes none: it runs beside its partner."""
    configuration = trial.configuration
    if trial.pair != trial.trial_id:
        return 0.0
    if trial.process_of is not None and configuration.load is not None:
        return load_s(assembly, configuration.load, study.requests[configuration.mix])
    return expected_s(assembly, study, configuration)


def expected_s(assembly: Assembly, study: Study, configuration: Configuration) -> float:
    """Return about how long one trial of the configuration takes on a fresh process, in seconds."""
    implementation = study.implementations[configuration.variant.implementation]
    around_s = OVERHEAD_S.get(implementation.runtime, OVERHEAD_S["jvm"]) + configuration.idle_s
    runtime = configuration.variant.runtime
    around_s += ((runtime.replicas or 1) - 1) * POD_S.get(implementation.runtime, POD_S["jvm"])
    if configuration.warm_up is not None:
        share = WARM_UP_SHARE.get(implementation.runtime, WARM_UP_SHARE["jvm"])
        shortest_s = 2 * configuration.warm_up.n_windows * configuration.warm_up.window_s
        around_s += max(shortest_s, share * configuration.warm_up.at_most_s)
    around_s += configuration.warm_up_requests * 0.001 + BACKING_S * len(implementation.needs)
    if configuration.load is None:
        return around_s
    if (goals := configuration.search) is not None:
        around_s += min(goals.at_most_s, SEARCHED_RATES * goals.trials_s)
    if configuration.system_calls:
        around_s += COUNTING_S
    return around_s + load_s(assembly, configuration.load, study.requests[configuration.mix])


def session_s(assembly: Assembly, prepared: Prepared) -> float:
    """Return about how long the whole session takes, headroom and memory included, builds not."""
    # blocks share their configurations: of a plan of thousands of trials there are some dozens
    alike: dict[tuple[str, bool, bool], list[PlannedTrial]] = {}
    once: dict[str, Configuration] = {}
    for trial in prepared.plan.trials:
        key = trial.configuration.key
        alike.setdefault((key, trial.process_of is None, trial.pair == trial.trial_id), []).append(trial)
        if trial.duet is None:
            once.setdefault(key, trial.configuration)
    total = sum(len(own) * trial_s(assembly, prepared.study, own[-1]) for own in alike.values())
    for load, mix in wanted_readings(once.values(), ()):
        total += ECHO_OVERHEAD_S + load_s(assembly, echo_load(load), prepared.study.requests[mix])
    return total + _memory_s(assembly, prepared)


def _memory_s(assembly: Assembly, prepared: Prepared) -> float:
    """What is measured of memory: each least heap is tried under the load that trials have, too."""
    asked, experiment = memory_asked(prepared), prepared.experiment
    if not asked:  # nor is there a first configuration where no variant can be measured here
        return 0.0
    first = first_configuration(prepared)
    if first.load is None:
        return 0.0
    load = tried(first.load, experiment.profiles[prepared.plan.profile].settle_s)
    variant = experiment.variants[next(iter(asked))]
    trial = first.model_copy(update={"variant": variant, "load": load, "warm_up": None})
    return fit_s(prepared, expected_s(assembly, prepared.study, trial))


def commands_of(assembly: Assembly, prepared: Prepared) -> dict[str, tuple[str, ...]]:
    """Return what -> command line of everything a session would start, paths of this machine named.

    A command that cannot be told (its tool is missing) stands there as a comment with the reason.
    """
    study, text = prepared.study, dict[str, tuple[str, ...]]()
    started: dict[str, tuple[str, ...]] = {}
    planned = {trial.configuration.key: trial.configuration for trial in prepared.plan.trials}
    for configuration in planned.values():
        variant, load = configuration.variant, configuration.load
        implementation = study.implementations[variant.implementation]
        text.setdefault(f"build {implementation.name}", implementation.build)
        alike = variant.model_dump_json()
        if alike not in started:
            started[alike] = _or_reason(partial(assembly.launch_command, implementation, variant))
        text[f"start {configuration.key}"] = started[alike]
        if load is not None:
            key = f"load {load.generator} {configuration.load_name} {configuration.mix}"
            if key not in text:
                text[key] = _or_reason(
                    partial(_load_command, assembly, load, study.requests[configuration.mix])
                )
    return {key: without_paths(argv, places=assembly.places) for key, argv in text.items()}


def _load_command(assembly: Assembly, load: Load, requests: tuple[Request, ...]) -> tuple[str, ...]:
    """The load generator's command line, with place holders for the endpoint and the trial's folder."""
    asked = LoadSpec(
        profile=load.profile,
        requests=requests,
        endpoint=Endpoint(host="127.0.0.1", port=8080),
        folder=Path("/TRIAL/load"),
    )
    return assembly.generator(load.generator).command(asked).argv


def _or_reason(command: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    try:
        return command()
    except RematchError as problem:
        return ("#", str(problem))
