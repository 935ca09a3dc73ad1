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
from harness.definitions import Study, contract_of
from harness.errors import MissingTool, NothingRunsHere, RematchError, UnsupportedLoad
from harness.loadgen.base import refuse
from harness.measure.session.capacity_trials import arrivals
from harness.measure.session.wiring import Assembly
from harness.model import (
    BackingSettings,
    ClosedLoad,
    Configuration,
    GeneratorName,
    Implementation,
    Level,
    Load,
    LoadProfile,
    ProfileDefinition,
    ProfileName,
    Request,
    Unavailable,
    Variant,
    configurations,
)
from harness.places.backing import BackingNeed
from harness.places.launchers.arguments import ONLY_PODS, of_pods_alone
from harness.places.launchers.cgroup import remark_on_limits

NO_PROC = "this system has no /proc; measuring requires Linux"


def load_s(assembly: Assembly, load: Load, requests: tuple[Request, ...]) -> float:
    """Return about how long the generator takes for a load, start and stop included."""
    try:
        return assembly.generator(load.generator).expected_s(load.profile, requests)
    except RematchError:  # there is no such adapter: whoever starts the session is told
        return load.profile.whole_s or 10.0


def load_problems(
    assembly: Assembly, study: Study, definition: ProfileDefinition
) -> dict[str | None, RematchError]:
    """Return load name -> why it cannot be offered here.

    Raises:
        MissingTool, UnsupportedLoad: nothing can be warmed up, or searched for, as the profile says.
    """
    requests = study.requests[study.experiment.mix]

    def offered(tool: GeneratorName, profile: LoadProfile) -> None:
        refuse(assembly.generator(tool), profile, requests)
        assembly.load_words(tool)

    if (asked := definition.warm_up) is not None:
        offered(asked.generator, ClosedLoad(users=asked.users, duration_s=asked.window_s))
    if (goals := definition.search) is not None:
        for tool in {goals.generator or load.generator for load in definition.loads.values()}:
            offered(tool, arrivals(goals, tool).profile)
    problems: dict[str | None, RematchError] = {}
    for name in (*definition.loads, *definition.scaled_loads):
        load = definition.load(name)
        try:
            offered(load.generator, load.profile)
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
        without = {name: problems[load] for name in used if (load := levels[name].load) in problems}
        if without and len(without) == len(used):
            raise next(iter(without.values()))
        cannot = {
            name: problem
            for name in used
            if (problem := _level_problem(assembly, study, levels[name])) is not None
        }
        if cannot and len(cannot) == len(used):
            raise NothingRunsHere(next(iter(cannot.values())), place=f"{experiment.name}: factors.{factor}")
        results += [
            Unavailable(variant=f"{factor}={name}", reason=str(problem))
            for problems_of_levels in (without, cannot)
            for name, problem in problems_of_levels.items()
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
        problem = assembly.backing[name].unavailable(need)
        if problem is not None:
            return problem
    return None


def _level_problem(assembly: Assembly, study: Study, level: Level) -> str | None:
    """Return why a level's CPUs, or its changes to the backing services, cannot be had here, or ``None``."""
    wanted, n_cpus = level.runtime.get("cpus"), len(assembly.stations.cpus)
    if isinstance(wanted, int) and wanted > n_cpus:
        return f"{wanted} CPUs are required for the service, and this host has {n_cpus}"
    problem = _pods_problem(assembly, study, level.runtime)
    if problem is not None or not level.backing:
        return problem
    settings = (study.experiment.backing or BackingSettings()).with_changes(level.backing)
    problems = (
        _backing_problem(assembly, implementation, settings)
        for implementation in study.implementations.values()
    )
    return next((problem for problem in problems if problem is not None), None)


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


def too_large(
    planned: Iterable[Configuration], implementations: Mapping[str, Implementation], limit: int
) -> dict[str | None, UnsupportedLoad]:
    """Return load name -> why it cannot be offered where a process may have ``limit`` files open.

    A service without a limit to its own connections (``pool_size``) may open one for every request under way.
    """
    problems: dict[str | None, UnsupportedLoad] = {}
    for configuration in planned:
        load, name = configuration.load, configuration.load_name
        if load is None or name in problems:
            continue
        is_closed = isinstance(load.profile, ClosedLoad)
        callers = load.profile.users if isinstance(load.profile, ClosedLoad) else load.profile.connections
        pool = configuration.variant.settings.get("pool_size")
        needs = implementations[configuration.variant.implementation].needs
        own = 0 if not needs else pool if isinstance(pool, int) else callers
        wanted = callers + own + SPARE
        if wanted > limit:
            problems[name] = UnsupportedLoad(
                f"{f'{callers} users' if is_closed else f'load {name}'} may need {wanted} open files in "
                f"{configuration.variant_name}, and the hard limit here (RLIMIT_NOFILE) is {limit}: "
                f"raise it as root (ulimit -Hn {wanted}), or offer fewer users"
            )
    return problems
