# SPDX-License-Identifier: Apache-2.0
"""From a name to a plan that can be carried out here: what is available, how long, which commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.backing import BackingNeed, source_of
from harness.definitions import Study, contract_folder, load_study
from harness.errors import InputError, MissingTool, RematchError, UnsupportedLoad
from harness.headroom import bounded, wanted_readings
from harness.loadgen.base import Endpoint, LoadOrder
from harness.loadgen.distribution import planned
from harness.model import (
    BackingSettings,
    Calibration,
    Configuration,
    Experiment,
    Implementation,
    Level,
    Load,
    Plan,
    ProfileDefinition,
    ProfileName,
    Request,
    Unavailable,
    configurations,
    make_plan,
)
from harness.provenance import without_paths
from harness.session.assembly import Assembly
from harness.session.descriptors import allowed, too_large
from harness.workloads import load_all_requests

#: Beside the load: launch, conformance, boundaries, stop and packing. Seen on two cores; for planning only.
OVERHEAD_S = {"go": 1.5, "jvm": 3.5}
BUILD_S = 20.0
ECHO_OVERHEAD_S = 1.5
BACKING_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A plan with everything it refers to."""

    study: Study
    plan: Plan
    session_id: str
    unavailable: tuple[Unavailable, ...]

    @property
    def experiment(self) -> Experiment:
        return self.study.experiment


def prepare(
    assembly: Assembly, name: str, *, profile: str, host: str, seed: int, launcher: str = "process"
) -> Prepared:
    """Load the experiment, find out which of its variants can run here, and plan those.

    Raises:
        InputError: the definition is wrong; the reference, or every other variant, cannot run here.
    """
    study = _as_written(assembly.root, load_study(assembly.root, name))
    profile_name = study.profile_name(profile)
    unavailable = _unavailable(assembly, study, profile_name)
    plan = plan_without(study.experiment, profile_name, unavailable, host=host, seed=seed, launcher=launcher)
    return Prepared(
        study=study,
        plan=plan,
        session_id=session_name(profile, host, launcher, seed),
        unavailable=unavailable,
    )


def session_name(profile: str, host: str, launcher: str, seed: int) -> str:
    """Return the session's id: a plain process is not mentioned."""
    place = host if launcher == "process" else f"{host}-{launcher}"
    return f"{profile}-{place}-{seed}"


def _as_written(root: Path, study: Study) -> Study:
    """Return the study with the decimals of right answers as the contract writes them.

    Load generators compare text, and ``3000.00`` is not ``3000.0`` there.
    """
    mixes: dict[str, tuple[Request, ...]] = {}
    for request in load_all_requests(contract_folder(root, study.experiment.workload)):
        mixes[request.mix] = (*mixes.get(request.mix, ()), request)
    return study.model_copy(update={"requests": mixes})


def calibrated(prepared: Prepared, calibration: Calibration) -> Prepared:
    """Return the same plan with every scaled load made a load for the measured capacity."""
    plan = prepared.plan
    experiment = prepared.experiment.calibrated(plan.profile, calibration.capacity_per_s)
    return replace(
        prepared,
        study=prepared.study.model_copy(update={"experiment": experiment}),
        plan=plan_without(
            experiment,
            plan.profile,
            prepared.unavailable,
            host=plan.host,
            seed=plan.seed,
            launcher=plan.launcher,
        ),
    )


def first_configuration(prepared: Prepared) -> Configuration:
    """Return the reference's first configuration, in the definition's order, that is in the plan."""
    planned = {trial.configuration.key for trial in prepared.plan.trials}
    every = configurations(prepared.experiment, prepared.plan.profile)
    return next(configuration for configuration in every if configuration.key in planned)


def plan_without(
    experiment: Experiment,
    profile: ProfileName,
    unavailable: Iterable[Unavailable],
    *,
    host: str,
    seed: int,
    launcher: str,
) -> Plan:
    """Return the plan of the variants and levels that are left; a level is named ``factor=level``.

    Raises:
        InputError: the reference is not among them.
    """
    reasons = {gone.variant: gone.reason for gone in unavailable}
    definition = experiment.profiles[profile]
    names = definition.variants or tuple(experiment.variants)
    if experiment.reference in reasons:
        raise InputError(
            f"the reference {experiment.reference} cannot run here, and without it nothing can be compared: "
            f"{reasons[experiment.reference]}",
            place=experiment.name,
        )
    left = tuple(name for name in names if name not in reasons)
    changes: dict[str, object] = {} if len(left) == len(names) else {"variants": left}
    if any("=" in name for name in reasons):
        changes |= _levels_left(experiment, definition, reasons)
    reduced = experiment.model_copy(
        update={"profiles": {**experiment.profiles, profile: definition.model_copy(update=changes)}}
    )
    return make_plan(reduced, profile, seed, host=host, launcher=launcher)


def _levels_left(
    experiment: Experiment, definition: ProfileDefinition, reasons: Mapping[str, str]
) -> dict[str, object]:
    """What is left of a profile without the levels ``factor=level`` that cannot be had here."""
    if definition.cells is not None:
        cells = tuple(
            cell for cell in definition.cells if not any(f"{f}={lev}" in reasons for f, lev in cell.items())
        )
        return {"cells": cells}
    used = {
        factor: definition.levels.get(factor) or tuple(levels)
        for factor, levels in experiment.factors.items()
    }
    return {
        "levels": {
            factor: tuple(level for level in levels if f"{factor}={level}" not in reasons)
            for factor, levels in used.items()
        }
    }


def variant_reasons(assembly: Assembly, study: Study) -> dict[str, str | None]:
    """Return variant -> why it cannot run here, or ``None``."""
    return {
        name: assembly.launcher.unavailable(study.implementations[variant.implementation], variant)
        or _backing_problem(assembly, study.implementations[variant.implementation], study.experiment.backing)
        for name, variant in study.experiment.variants.items()
    }


def _backing_problem(
    assembly: Assembly, implementation: Implementation, settings: BackingSettings | None
) -> str | None:
    """Return why what the implementation needs cannot be had here with these settings, or ``None``."""
    need = BackingNeed(
        workload=implementation.workload,
        contract=contract_folder(assembly.root, implementation.workload),
        settings=settings or BackingSettings(),
    )
    for name in implementation.needs:
        try:
            problem = source_of(name, assembly.backing).unavailable(need)
        except MissingTool as missing:
            problem = str(missing)
        if problem is not None:
            return problem
    return None


def _level_problem(assembly: Assembly, study: Study, level: Level) -> str | None:
    """Return why a level's CPUs, or its changes to the backing services, cannot be had here, or ``None``."""
    problem = _size_problem(assembly, level.runtime)
    if problem is not None or not level.backing:
        return problem
    changes = level.backing
    before = (study.experiment.backing or BackingSettings()).model_dump()
    settings = BackingSettings.model_validate_json(json.dumps({**before, **changes}))
    problems = (_backing_problem(assembly, one, settings) for one in study.implementations.values())
    return next((problem for problem in problems if problem is not None), None)


def _size_problem(assembly: Assembly, changes: Mapping[str, object]) -> str | None:
    """Return why a level's CPUs cannot be had here, or ``None``."""
    wanted = changes.get("cpus")
    if not isinstance(wanted, int) or wanted <= len(assembly.cpus):
        return None
    return f"{wanted} CPUs are wanted for the service, and there are {len(assembly.cpus)}"


def expected_s(assembly: Assembly, study: Study, configuration: Configuration) -> float:
    """Return about how long one trial of the configuration takes, in seconds."""
    implementation = study.implementations[configuration.variant.implementation]
    around_s = OVERHEAD_S.get(implementation.runtime, OVERHEAD_S["jvm"]) + configuration.idle_s
    around_s += configuration.warm_up_requests * 0.001 + BACKING_S * len(implementation.needs)
    if configuration.load is None:
        return around_s
    return around_s + load_s(assembly, configuration.load, study.requests[configuration.mix])


def load_s(assembly: Assembly, load: Load, requests: tuple[Request, ...]) -> float:
    """Return about how long the generator takes for a load, start and stop included."""
    try:
        generator, asked = assembly.generator(load.generator), _orders(assembly, load, requests)
        return max(generator.command(order).expected_s for order in asked)
    except RematchError:  # the tool is missing: whoever starts the session is told
        return load.profile.duration_s or 10.0


def session_s(assembly: Assembly, prepared: Prepared) -> float:
    """Return about how long the whole session takes, builds and headroom included."""
    trials = [trial.configuration for trial in prepared.plan.trials]
    total = sum(expected_s(assembly, prepared.study, configuration) for configuration in trials)
    for load, mix in wanted_readings(trials, ()):
        short = load.model_copy(update={"profile": bounded(load.profile)})
        total += ECHO_OVERHEAD_S + load_s(assembly, short, prepared.study.requests[mix])
    return total


def load_command(assembly: Assembly, configuration: Configuration, study: Study) -> tuple[str, ...]:
    """Return the load generator's command line, with a place holder for the trial's folder; of several the
    first one's, or the one of who commands them."""
    if configuration.load is None:
        return ()
    generator = assembly.generator(configuration.load.generator)
    orders = _orders(assembly, configuration.load, study.requests[configuration.mix])
    if configuration.load.coordination == "tool":
        return planned(generator, orders, configuration.load).argv
    return generator.command(orders[0]).argv


def _orders(assembly: Assembly, load: Load, requests: tuple[Request, ...]) -> list[LoadOrder]:
    """What each generator of a load is asked for."""
    divided = assembly.shares_of(load)
    return [
        LoadOrder(
            profile=share,
            requests=requests,
            endpoint=Endpoint(host="127.0.0.1", port=8080),
            folder=Path("/TRIAL/load") if len(divided) == 1 else Path(f"/TRIAL/load/{number}"),
        )
        for number, share in enumerate(divided, start=1)
    ]


def _unavailable(assembly: Assembly, study: Study, profile: ProfileName) -> tuple[Unavailable, ...]:
    """Variants that cannot run here, and levels whose load generator is not here.

    Raises:
        MissingTool, UnsupportedLoad: without the generator nothing at all would be left.
    """
    experiment, definition = study.experiment, study.experiment.profiles[profile]
    names = definition.variants or tuple(experiment.variants)
    reasons = variant_reasons(assembly, study)
    found = [Unavailable(variant=name, reason=reason) for name in names if (reason := reasons[name])]
    problems = _load_problems(assembly, study, definition)
    if assembly.host.here:
        problems |= too_large(experiment, study.implementations, profile, allowed())
    for factor, levels in experiment.factors.items():
        used = definition.levels.get(factor) or tuple(levels)
        without = [name for name in used if levels[name].load in problems]
        if without and len(without) == len(used):
            raise problems[levels[without[0]].load or ""]
        found += [
            Unavailable(variant=f"{factor}={name}", reason=str(problems[levels[name].load or ""]))
            for name in without
        ]
        cannot = {
            name: problem
            for name in used
            if (problem := _level_problem(assembly, study, levels[name])) is not None
        }
        if cannot and len(cannot) == len(used):
            raise InputError(next(iter(cannot.values())), place=f"{experiment.name}: factors.{factor}")
        found += [Unavailable(variant=f"{factor}={name}", reason=problem) for name, problem in cannot.items()]
    named = any(level.load for levels in experiment.factors.values() for level in levels.values())
    if not named and experiment.load in problems:
        raise problems[experiment.load]
    return tuple(found)


def _load_problems(
    assembly: Assembly, study: Study, definition: ProfileDefinition
) -> dict[str | None, RematchError]:
    """Return load name -> why it cannot be offered here."""
    problems: dict[str | None, RematchError] = {}
    for name in (*definition.loads, *definition.scaled_loads):
        load = definition.load(name)
        try:
            requests = study.requests[study.experiment.mix]
            for order in _orders(assembly, load, requests):
                assembly.generator(load.generator).command(order)
            assembly.load_words(load.generator)
        except (MissingTool, UnsupportedLoad) as problem:
            problems[name] = problem
    return problems


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
