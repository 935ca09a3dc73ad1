# SPDX-License-Identifier: Apache-2.0
"""From a name to a plan that can be carried out here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

from harness.definitions import Study, load_study
from harness.errors import InputError, MissingTool, NothingRunsHere
from harness.measure.runner.duet_arm import failed_with
from harness.measure.runner.pinning import place_two
from harness.measure.session.availability import unavailable_here
from harness.measure.session.wiring import Assembly
from harness.model import (
    Configuration,
    Experiment,
    Outcome,
    Plan,
    PlannedTrial,
    ProfileName,
    Request,
    SessionHeader,
    TrialRecord,
    Unavailable,
    configurations,
    make_plan,
)
from harness.model.plan import Pairs
from harness.places.hosts.base import now
from harness.store import Store
from harness.workloads import load_all_requests


def refuse_duets_here(
    assembly: Assembly, experiment: Experiment, profile: ProfileName, launcher: str
) -> None:
    """Refuse a duet on far hosts, in containers and clusters, and on a machine that is too small.

    Raises:
        InputError: says why, and what is allowed.
    """
    if experiment.design_of(profile) != "duet":
        return
    hosts = (assembly.host, assembly.load_host, assembly.database_host)
    far = [host.name for host in hosts if host is not None and not host.is_local]
    if launcher != "process" or far:
        raise InputError(
            "the CPUs of plain processes of this machine are exchanged, and no others",
            place=f"{experiment.name}: design = 'duet'",
            found=f"--host {far[0]}" if far else f"--launcher {launcher}",
            allowed="--launcher process --host local, without other hosts",
        )
    placed, _ = place_two(assembly.stations.cpus, experiment.exchange_s, assembly.stations.cores)
    n_cpus = len(placed.service or ())
    for name, variant in experiment.variants.items():
        if variant.runtime.cpus not in (None, n_cpus):
            raise InputError(
                "each arm of a duet has half of the CPUs", place=f"{experiment.name}: variants.{name}.runtime.cpus",
                found=variant.runtime.cpus, allowed=f"{n_cpus} on this machine, or leave it out",
            )  # fmt: skip


def by_start(trials: Iterable[PlannedTrial]) -> list[list[PlannedTrial]]:
    """Return the trials by what is started together: those that share a process, and the two of a duet."""
    groups: dict[str, list[PlannedTrial]] = {}
    for trial in trials:
        groups.setdefault(trial.process_of or trial.pair, []).append(trial)
    return list(groups.values())


def lost_partner(trial: PlannedTrial, header: SessionHeader) -> TrialRecord:
    """Return the record of a trial that was lost by an interruption after its partner was recorded.

    It cannot be made again: a duet is two loads over the same seconds.
    """
    when, partner = now(), trial.duet.partner if trial.duet is not None else ""
    return TrialRecord(
        experiment=header.experiment.name,
        session_id=header.session_id,
        planned=trial,
        outcome=Outcome.FAILED,
        reason=failed_with(partner, "recorded before the session was interrupted"),
        started=when,
        ended=when,
    )


#: More is taken for a slip: even short blocks would take days.
MOST_BLOCKS = 1000


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A plan with everything it refers to. ``blocks_asked``: how many, in place of the profile's number.

    ``refused``: why this machine can measure nothing of it; the plan is then that of a machine that can. ``None``: it
    can.
    """

    study: Study
    plan: Plan
    session_id: str
    unavailable: tuple[Unavailable, ...]
    refused: str | None = None
    blocks_asked: int | None = None

    @property
    def experiment(self) -> Experiment:
        return self.study.experiment

    def planned_again(
        self, *, experiment: Experiment | None = None, seed: int | None = None, blocks: int | None = None
    ) -> Prepared:
        """Return the same plan with another definition, seed or number of blocks; its id stays."""
        blocks = blocks or self.blocks_asked
        plan = plan_without(
            experiment or self.experiment,
            self.plan.profile,
            self.unavailable,
            host=self.plan.host,
            seed=self.plan.seed if seed is None else seed,
            launcher=self.plan.launcher,
            blocks=blocks,
        )
        study = self.study.model_copy(update={"experiment": experiment or self.experiment})
        return replace(self, study=study, plan=plan, blocks_asked=blocks)


def prepare(
    assembly: Assembly,
    of: str | Study,
    *,
    profile: str,
    host: str,
    seed: int,
    launcher: str = "process",
    reasons: Mapping[str, str | None] | None = None,
    anywhere: bool = False,
) -> Prepared:
    """Find out which variants of an experiment can run here, and plan those; ``reasons`` as of ``unavailable_here``.

    Args:
        of: the experiment, or its name.
        anywhere: for a plan that is only looked at; where nothing can be measured here, it is that of a machine that
            has all of it, and ``refused`` says why.

    Raises:
        InputError: the definition is wrong, or has no such profile; the reference, or every other variant, cannot run
            here.
        MissingTool: the only load generator is not here.
    """
    study = load_study(assembly.root, of) if isinstance(of, str) else of
    study = _as_written(assembly.root, study)
    profile_name = study.profile_name(profile)
    refuse_duets_here(assembly, study.experiment, profile_name, launcher)
    unavailable: tuple[Unavailable, ...] = ()
    refused = None
    planned = partial(plan_without, study.experiment, profile_name, host=host, seed=seed, launcher=launcher)
    try:
        unavailable = unavailable_here(assembly, study, profile_name, reasons)
        plan = planned(unavailable)
    except (MissingTool, NothingRunsHere) as problem:
        if not anywhere:
            raise
        refused = problem.problem if isinstance(problem, NothingRunsHere) else str(problem)
        unavailable, plan = (), planned(())
    return Prepared(
        study=study,
        refused=refused,
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
    for request in load_all_requests(study.contract(root)):
        mixes[request.mix] = (*mixes.get(request.mix, ()), request)
    return study.model_copy(update={"requests": mixes})


def with_blocks(prepared: Prepared, blocks: int) -> Prepared:
    """Return the same plan with so many blocks in place of the profile's number.

    Raises:
        InputError: fewer than one, or more than ``MOST_BLOCKS``.
    """
    if not 1 <= blocks <= MOST_BLOCKS:
        raise InputError(
            "the number of blocks is out of range", place="--blocks", found=blocks,
            allowed=f"1 to {MOST_BLOCKS}",
        )  # fmt: skip
    return prepared.planned_again(blocks=blocks)


def first_configurations(prepared: Prepared) -> list[Configuration]:
    """Return each variant's first configuration that is in the plan, in the definition's order, reference first."""
    planned = {trial.configuration.key for trial in prepared.plan.trials}
    firsts: dict[str, Configuration] = {}
    for configuration in configurations(prepared.experiment, prepared.plan.profile):
        if configuration.key in planned:
            firsts.setdefault(configuration.variant_name, configuration)
    return list(firsts.values())


def first_configuration(prepared: Prepared) -> Configuration:
    """Return the reference's first configuration, in the definition's order, that is in the plan."""
    return first_configurations(prepared)[0]


def plan_without(
    experiment: Experiment,
    profile: ProfileName,
    unavailable: Iterable[Unavailable],
    *,
    host: str,
    seed: int,
    launcher: str,
    pairs: Pairs | None = None,
    blocks: int | None = None,
) -> Plan:
    """Return the plan of the variants and levels that are left; a level is named ``factor=level``.

    ``pairs`` and ``blocks``: as of :func:`harness.model.make_plan`.

    Raises:
        InputError: the reference is not among them.
    """
    reasons = {gone.variant: gone.reason for gone in unavailable}
    definition = experiment.profiles[profile]
    names = definition.variants or tuple(experiment.variants)
    if experiment.reference in reasons:
        raise NothingRunsHere(
            f"the reference {experiment.reference} cannot run here, and without it nothing can be compared: "
            f"{reasons[experiment.reference]}",
            place=experiment.name,
        )
    left = tuple(name for name in names if name not in reasons)
    changes: dict[str, object] = {} if len(left) == len(names) else {"variants": left}
    if any("=" in name for name in reasons) and definition.cells is not None:
        changes["cells"] = tuple(
            cell for cell in definition.cells if not any(f"{f}={lev}" in reasons for f, lev in cell.items())
        )
    elif any("=" in name for name in reasons):
        changes["levels"] = {
            factor: tuple(level for level in levels if f"{factor}={level}" not in reasons)
            for factor, levels in experiment.axes(definition).items()
        }
    reduced = experiment.model_copy(
        update={"profiles": {**experiment.profiles, profile: definition.model_copy(update=changes)}}
    )
    return make_plan(reduced, profile, seed, host=host, launcher=launcher, pairs=pairs, blocks=blocks)


def refuse_other_plan(header: SessionHeader, prepared: Prepared) -> None:
    """A session goes on only as what it began as; where no number of blocks is asked for, with its own.

    Raises:
        InputError: definition, plan or number of blocks differ; says in what.
    """
    plan, key = header.plan, f"{header.experiment.name}/{header.session_id}"
    if prepared.blocks_asked not in (None, plan.n_blocks):
        raise InputError(
            "this session began with another number of blocks",
            file=key,
            found=prepared.blocks_asked,
            allowed=f"{plan.n_blocks}, another --seed, or --new",
        )
    for gone in sorted(prepared.unavailable, key=lambda item: item.variant):
        if gone.variant not in {item.variant for item in header.unavailable}:
            raise InputError(
                f"{gone.variant} could run when this session began and cannot now: {gone.reason}", file=key
            )
    again = plan_without(
        prepared.experiment,
        plan.profile,
        header.unavailable,
        host=plan.host,
        seed=plan.seed,
        launcher=plan.launcher,
        pairs=plan.pairs,
        blocks=prepared.blocks_asked or header.blocks_asked,
    )
    for difference in _differences(header, prepared, again):
        raise InputError(
            f"this session began with another definition: {difference}",
            file=key,
            allowed="the definition as it was, another --seed, or --new",
        )


def _differences(header: SessionHeader, prepared: Prepared, again: Plan) -> Iterator[str]:
    if len(again.trials) != len(header.plan.trials):
        yield f"{len(header.plan.trials)} trials then, {len(again.trials)} now"
    for old, new in zip(header.plan.trials, again.trials, strict=False):
        if old != new:
            for (name, before), (_, after) in zip(old.configuration, new.configuration, strict=True):
                if before != after:
                    yield f"{new.trial_id}: {name} was {before}, is {after}"
            yield f"trial {old.position} was {old.trial_id}, is {new.trial_id}"
    for name, implementation in header.implementations.items():
        now_named = prepared.study.implementations.get(name)
        if now_named is None or now_named.model_dump() != implementation.model_dump():
            yield f"service.toml of {name} differs"


def with_free_seed(prepared: Prepared, store: Store) -> Prepared:
    """Return the same plan under the next seed that no session on disk has."""
    plan = prepared.plan
    for seed in count(plan.seed):
        name = session_name(plan.profile, plan.host, plan.launcher, seed)
        if not store.session(plan.experiment, name).folder.exists():
            break
    return replace(prepared.planned_again(seed=seed), session_id=name)
