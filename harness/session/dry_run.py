# SPDX-License-Identifier: Apache-2.0
"""What is to be expected of a session before it starts: how long it takes, which commands it gives."""

from __future__ import annotations

import math

from harness.definitions import Study
from harness.errors import InputError, RematchError
from harness.memory_sizing.probe import asked_of, fit_s, tried
from harness.model import Configuration, Load, PlannedTrial, Variant
from harness.provenance import without_paths
from harness.session.availability import load_orders, load_s
from harness.session.headroom import echo_load, wanted_readings
from harness.session.planning import MOST_BLOCKS, Prepared, first_configuration, planned_variants, with_blocks
from harness.session.wiring import Assembly

#: Of a warm-up in windows, as a share of the longest. Seen on two cores; for planning only.
WARM_UP_SHARE = {"go": 0.15, "jvm": 0.5}
#: Beside the load: launch, conformance, boundaries, stop and packing. Seen on two cores; for planning only.
OVERHEAD_S = {"go": 1.5, "jvm": 3.5}
ECHO_OVERHEAD_S = 1.5
#: Of each pod beyond the first. Seen on two cores; for planning only.
POD_S = {"go": 0.4, "jvm": 3.0}
#: A search takes so many times what decides on one rate. Seen on two cores; for planning only.
SEARCHED_RATES = 8
BACKING_S = 1.0
#: A load in which system calls are counted, with what it takes to begin.
COUNTING_S = 3.0


def trial_s(assembly: Assembly, study: Study, trial: PlannedTrial) -> float:
    """Return about how long a trial of a plan takes, in seconds; one that goes on with a process is loaded only, and
    the later one of a duet takes none: it runs beside its partner."""
    configuration = trial.configuration
    if trial.duet is not None and not trial.duet.leads:
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
    shared = {id(trial.configuration): trial.configuration for trial in prepared.plan.trials}
    keys = {number: configuration.key for number, configuration in shared.items()}
    alike: dict[tuple[str, bool, bool], list[PlannedTrial]] = {}
    for trial in prepared.plan.trials:
        key = keys[id(trial.configuration)], trial.process_of is None, trial.pair == trial.trial_id
        alike.setdefault(key, []).append(trial)
    total = sum(len(own) * trial_s(assembly, prepared.study, own[-1]) for own in alike.values())
    alone = {id(trial.configuration) for trial in prepared.plan.trials if trial.duet is None}
    once = {keys[number]: shared[number] for number in shared if number in alone}
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
    one_s = expected_s(assembly, prepared.study, trial)
    return fit_s(experiment, planned_variants(prepared), one_s)


def memory_asked(prepared: Prepared) -> dict[str, str]:
    """Return variant -> what of its memory will be measured before the first trial, as the definition says it."""
    return asked_of(prepared.experiment, planned_variants(prepared))


def commands_of(assembly: Assembly, prepared: Prepared) -> dict[str, tuple[str, ...]]:
    """Return what -> command line of everything a session would start, paths of this machine named.

    A command that cannot be told (its tool is missing) stands there as a comment with the reason.
    """
    study = prepared.study
    text: dict[str, tuple[str, ...]] = {}
    started: list[tuple[Variant, tuple[str, ...]]] = []
    for configuration in {
        trial.configuration.key: trial.configuration for trial in prepared.plan.trials
    }.values():
        implementation = study.implementations[configuration.variant.implementation]
        text.setdefault(f"build {implementation.name}", implementation.build)
        variant = configuration.variant
        command = next((known for item, known in started if item == variant), None)
        if command is None:
            command = _start_command(assembly, study, configuration)
            started.append((variant, command))
        text[f"start {configuration.key}"] = command
        if configuration.load is not None:
            key = _load_key(assembly, configuration.load, configuration)
            if key not in text:
                text[key] = _load_command(assembly, study, configuration.load, configuration.mix)
    return {key: without_paths(argv, places=assembly.places) for key, argv in text.items()}


def _load_key(assembly: Assembly, load: Load, configuration: Configuration) -> str:
    key = f"load {load.generator} {configuration.load_name} {configuration.mix}"
    try:
        n = len(assembly.shares_of(load))
    except RematchError:
        return key
    if n == 1:
        return key
    return f"{key} (1 of {n} alike)"


def _load_command(assembly: Assembly, study: Study, load: Load, mix: str) -> tuple[str, ...]:
    """The load generator's command line, with a place holder for the trial's folder; of several the first one's."""
    try:
        order = load_orders(assembly, load, study.requests[mix])[0]
        return assembly.generator(load.generator).command(order).argv
    except RematchError as problem:
        return ("#", str(problem))


def _start_command(assembly: Assembly, study: Study, configuration: Configuration) -> tuple[str, ...]:
    implementation = study.implementations[configuration.variant.implementation]
    try:
        return assembly.launch_command(implementation, configuration.variant)
    except RematchError as problem:
        return ("#", str(problem))


def within_minutes(assembly: Assembly, prepared: Prepared, minutes: float) -> Prepared:
    """Return the same plan with as many whole blocks as fit into ``minutes``, and one at least.

    What comes once (headroom, memory) is counted; builds are not, as in every estimate.

    Raises:
        InputError: ``minutes`` is not a time.
    """
    if not (math.isfinite(minutes) and minutes > 0):
        raise InputError(
            "not a time to measure for", place="--minutes", found=minutes, allowed="more than 0 minutes"
        )
    item, two = with_blocks(prepared, 1), with_blocks(prepared, 2)
    one_s = session_s(assembly, item)
    block_s = session_s(assembly, two) - one_s
    more = math.floor((minutes * 60.0 - one_s) / block_s)
    return with_blocks(prepared, min(MOST_BLOCKS, 1 + max(0, more)))
