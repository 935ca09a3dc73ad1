# SPDX-License-Identifier: Apache-2.0
"""What of a study cannot be measured here, and why: variants, and levels of its factors.

A connection is a descriptor at either end. Beyond the limit of open files a service refuses and a generator fails,
which looks like overload and is none, so such a load is refused before it is offered.
"""

from __future__ import annotations

import resource
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.agent.platforms import has_proc
from harness.backing import BackingNeed, source_of
from harness.definitions import Study, contract_of
from harness.errors import MissingTool, NothingRunsHere, RematchError, UnsupportedLoad
from harness.launchers.arguments import ONLY_PODS, of_pods_alone
from harness.launchers.cgroup import remark_on_limits
from harness.loadgen.base import LoadSpec, refuse
from harness.model import (
    BackingSettings,
    ClosedLoad,
    Configuration,
    Implementation,
    Level,
    Load,
    ProfileDefinition,
    ProfileName,
    Request,
    Unavailable,
    Variant,
    configurations,
)
from harness.model.endpoint import Endpoint
from harness.session.capacity_trials import arrivals
from harness.session.wiring import Assembly

NO_PROC = "this system has no /proc; measuring requires Linux"


def load_orders(assembly: Assembly, load: Load, requests: tuple[Request, ...]) -> list[LoadSpec]:
    """Return what each generator of a load is asked for, with place holders for endpoint and folder."""
    divided = assembly.shares_of(load)
    return [
        LoadSpec(
            profile=share,
            requests=requests,
            endpoint=Endpoint(host="127.0.0.1", port=8080),
            folder=Path("/TRIAL/load") if len(divided) == 1 else Path(f"/TRIAL/load/{number}"),
        )
        for number, share in enumerate(divided, start=1)
    ]


def load_s(assembly: Assembly, load: Load, requests: tuple[Request, ...]) -> float:
    """Return about how long the generator takes for a load, start and stop included."""
    try:
        generator = assembly.generator(load.generator)
        return max(generator.expected_s(share, requests) for share in assembly.shares_of(load))
    except RematchError:  # there is no such adapter, or no such division: whoever starts the session is told
        return load.profile.whole_s or 10.0


def load_problems(
    assembly: Assembly, study: Study, definition: ProfileDefinition
) -> dict[str | None, RematchError]:
    """Return load name -> why it cannot be offered here.

    Raises:
        MissingTool, UnsupportedLoad: nothing can be warmed up, or searched for, as the profile says.
    """
    if definition.warm_up is not None:
        asked = definition.warm_up
        profile = ClosedLoad(users=asked.users, duration_s=asked.window_s)
        refuse(assembly.generator(asked.generator), profile, study.requests[study.experiment.mix])
    if (goals := definition.search) is not None:
        for tool in {goals.generator or load.generator for load in definition.loads.values()}:
            rates = arrivals(goals, tool).profile
            refuse(assembly.generator(tool), rates, study.requests[study.experiment.mix])
            assembly.load_words(tool)
    problems: dict[str | None, RematchError] = {}
    for name in (*definition.loads, *definition.scaled_loads):
        load = definition.load(name)
        try:
            requests = study.requests[study.experiment.mix]
            for order in load_orders(assembly, load, requests):
                refuse(assembly.generator(load.generator), order.profile, order.requests)
            assembly.load_words(load.generator)
        except (MissingTool, UnsupportedLoad) as problem:
            problems[name] = problem
    return problems


def unavailable_here(
    assembly: Assembly,
    study: Study,
    profile: ProfileName,
    reasons: Mapping[str, str | None] | None = None,
) -> tuple[Unavailable, ...]:
    """Return the variants that cannot run here, and the levels whose load, CPUs or backing cannot be had.

    ``reasons``: what ``variant_reasons`` said of this study; ``None``: it is asked.

    Raises:
        MissingTool, NothingRunsHere, UnsupportedLoad: nothing at all would be left.
    """
    experiment, definition = study.experiment, study.experiment.profiles[profile]
    names = definition.variants or tuple(experiment.variants)
    if reasons is None:
        reasons = variant_reasons(assembly, study)
    results = [Unavailable(variant=name, reason=reason) for name in names if (reason := reasons[name])]
    problems = load_problems(assembly, study, definition)
    if assembly.host.is_local:
        problems |= too_large(configurations(experiment, profile), study.implementations, allowed())
    for factor, levels in experiment.factors.items():
        used = [name for name in levels if name in experiment.levels_used(definition)[factor]]
        without = [name for name in used if levels[name].load in problems]
        if without and len(without) == len(used):
            raise problems[levels[without[0]].load or ""]
        results += [
            Unavailable(variant=f"{factor}={name}", reason=str(problems[levels[name].load or ""]))
            for name in without
        ]
        cannot = {
            name: problem
            for name in used
            if (problem := _level_problem(assembly, study, levels[name])) is not None
        }
        if cannot and len(cannot) == len(used):
            raise NothingRunsHere(next(iter(cannot.values())), place=f"{experiment.name}: factors.{factor}")
        results += [
            Unavailable(variant=f"{factor}={name}", reason=problem) for name, problem in cannot.items()
        ]
    named = any(level.load for levels in experiment.factors.values() for level in levels.values())
    if not named and experiment.load in problems:
        raise problems[experiment.load]
    return tuple(results)


def variant_reasons(assembly: Assembly, study: Study) -> dict[str, str | None]:
    """Return variant -> why it cannot run here, or ``None``."""
    if not has_proc():  # no process can be started and asked
        return dict.fromkeys(study.experiment.variants, NO_PROC)
    reasons: dict[str, str | None] = {
        name: assembly.launcher.unavailable(study.implementations[variant.implementation], variant)
        or _backing_problem(assembly, study.implementations[variant.implementation], study.experiment.backing)
        for name, variant in study.experiment.variants.items()
    }
    for name, variant in study.experiment.variants.items():
        java_variant = variant.runtime.memory_of
        if java_variant is not None and reasons[name] is None and reasons[java_variant] is not None:
            reasons[name] = (
                f"its memory is that of {java_variant}, which cannot run here: {reasons[java_variant]}"
            )
    return reasons


def _backing_problem(
    assembly: Assembly, implementation: Implementation, settings: BackingSettings | None
) -> str | None:
    """Return why what the implementation needs cannot be had here with these settings, or ``None``."""
    if implementation.needs and not has_proc():
        return NO_PROC
    need = BackingNeed(
        workload=implementation.workload,
        contract=contract_of(assembly.root, implementation),
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
    problem = _size_problem(assembly, level.runtime) or _pods_problem(assembly, study, level.runtime)
    if problem is not None or not level.backing:
        return problem
    settings = (study.experiment.backing or BackingSettings()).with_changes(level.backing)
    problems = (
        _backing_problem(assembly, implementation, settings)
        for implementation in study.implementations.values()
    )
    return next((problem for problem in problems if problem is not None), None)


def _size_problem(assembly: Assembly, changes: Mapping[str, object]) -> str | None:
    """Return why a level's CPUs cannot be had here, or ``None``."""
    wanted = changes.get("cpus")
    if not isinstance(wanted, int) or wanted <= len(assembly.cpus):
        return None
    return f"{wanted} CPUs are required for the service, and this host has {len(assembly.cpus)}"


def _pods_problem(assembly: Assembly, study: Study, changes: Mapping[str, object]) -> str | None:
    """Return why a level's pods cannot be had here, or ``None``.

    What a cluster lacks for a level it lacks for each variant that it could start without the level.
    """
    asked = [name for name in ONLY_PODS if changes.get(name) is not None]
    if not asked:
        return None
    if assembly.launcher.name == "kubernetes":
        plain = study.experiment.variants[study.experiment.reference]
        implementation = study.implementations[plain.implementation]
        if assembly.launcher.unavailable(implementation, plain) is not None:
            return None
        runtime = plain.runtime.with_changes(
            {name: changes[name] for name in (*asked, "cpus") if name in changes}
        )
        changed = plain.model_copy(update={"runtime": runtime})
        return assembly.launcher.unavailable(implementation, changed)
    asked = of_pods_alone(changes)
    text = f"only pods of a cluster have {', '.join(asked)}: measure it with --launcher kubernetes"
    return text if asked else None


def remarks(assembly: Assembly, variants: Mapping[str, Variant]) -> dict[str, str]:
    """Return variant -> what must be said of it; those of which nothing must are left out.

    A container's limits are its daemon's business, and a far host's processes have none.
    """
    if assembly.launcher.name != "process" or not assembly.host.is_local:
        return {}
    text = {name: remark_on_limits(variant.runtime) for name, variant in variants.items()}
    return {name: remark for name, remark in text.items() if remark is not None}


#: Beside connections: libraries, logs, pipes, and what a runtime opens for itself.
SPARE = 500
#: Far above what any load here needs; a limit of a thousand million makes some programs slow to start.
ENOUGH = 1_048_576
_SYSTEM_LIMIT = Path("/proc/sys/fs/nr_open")


def allowed() -> int:
    """Return how many files a process started here may have open: the hard limit, to which ours is raised."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY:
        return hard
    try:
        return int(_SYSTEM_LIMIT.read_text())
    except OSError:
        return ENOUGH


def raise_limit() -> int:
    """Raise our soft limit, which what we start inherits, to what is allowed; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(allowed(), ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft


def needed(configuration: Configuration, implementation: Implementation) -> int:
    """Return how many files the service may come to have open at once under the configuration's load.

    A service without a limit to its own connections (``pool_size``) may open one for every request under way.
    """
    load = configuration.load
    if load is None:
        return SPARE
    profile = load.profile
    callers = profile.users if isinstance(profile, ClosedLoad) else profile.connections
    pool = configuration.variant.settings.get("pool_size")
    own = 0 if not implementation.needs else pool if isinstance(pool, int) else callers
    return callers + own + SPARE


def too_large(
    planned: Iterable[Configuration], implementations: Mapping[str, Implementation], limit: int
) -> dict[str | None, UnsupportedLoad]:
    """Return load name -> why it cannot be offered where a process may have ``limit`` files open."""
    problems: dict[str | None, UnsupportedLoad] = {}
    for configuration in planned:
        wanted = needed(configuration, implementations[configuration.variant.implementation])
        if wanted > limit and configuration.load_name not in problems:
            problems[configuration.load_name] = UnsupportedLoad(_words(configuration, wanted, limit))
    return problems


def _words(configuration: Configuration, wanted: int, limit: int) -> str:
    load = configuration.load
    profile = None if load is None else load.profile
    callers = (
        f"{profile.users} users" if isinstance(profile, ClosedLoad) else f"load {configuration.load_name}"
    )
    return (
        f"{callers} may need {wanted} open files in {configuration.variant_name}, and the hard limit here "
        f"(RLIMIT_NOFILE) is {limit}: raise it as root (ulimit -Hn {wanted}), or offer fewer users"
    )
