# SPDX-License-Identifier: Apache-2.0
"""From an experiment to the ordered list of its trials.

Randomised complete blocks: every configuration once per block, in an order shuffled
anew, plus a duplicate of the reference in every cell (the A/A pair of that cell).
A smoke run draws no conclusion and has one duplicate a block, in its first cell.
The order follows from (experiment, profile, seed) alone. Scaled loads stand in it at a nominal
capacity until the experiment is the calibrated one (``Experiment.calibrated``).
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field

from harness.model.base import Frozen
from harness.model.load import CapacityGoals, Load
from harness.model.started import BackingSettings
from harness.model.study import Connections, Experiment, ProfileDefinition, ProfileName, Variant
from harness.model.warm_up import WarmUpSpec

#: The cells that have a duplicate of the reference in each block.
Pairs = Literal["first cell", "every cell"]


class Configuration(Frozen):
    """Workload x variant x load profile x host, with the factor levels that led to it."""

    workload: str
    variant_name: str
    variant: Variant  # settings of all factor levels already applied
    levels: dict[str, str]  # factor -> level
    mix: str
    load_name: str | None
    load: Load | None
    warm_up_requests: int
    warm_up_users: int = Field(default=1, ge=1)  # who send them, each over a connection of their own
    warm_up_mix: str | None = None  # of these requests; None: the load's own
    warm_up_connections: Connections = "kept"
    warm_up: WarmUpSpec | None = None  # windows of load until it is settled
    search: CapacityGoals | None = None  # after the load; None: no capacity is searched for
    system_calls: bool = False  # counted in a load of its own, after this one
    kind: str
    idle_s: float = 0.0
    # changes of all factor levels already applied; None: nothing is needed
    backing: BackingSettings | None = None

    @property
    def key(self) -> str:
        """Stable, readable and unique within an experiment: ``java-helidon,logging=on,warm_up=none``."""
        return ",".join([self.variant_name, *(f"{f}={v}" for f, v in sorted(self.levels.items()))])


class DuetSeat(Frozen):
    """The place of a trial in a duet: who runs at the same time, and where either begins."""

    partner: str  # trial id of who runs at the same time
    leads: bool  # the earlier one of the two in the plan, which stands for the pair
    side: Literal[0, 1]  # of the two sets of CPUs the one where it begins
    interval_s: float = Field(gt=0)  # about how long until the sets are exchanged


class PlannedTrial(Frozen):
    """One trial to be made. ``trial_id`` is also its folder's name."""

    # a folder's name: one that leads elsewhere would be written there by whoever reads a session of others
    trial_id: str = Field(pattern=r"^[^./\\\x00-\x1f][^/\\\x00-\x1f]*$")
    block: int = Field(ge=1)
    position: int = Field(ge=1)  # running number within the session, from 1
    duplicate: bool  # the second trial of the reference in its block and cell (A/A pair)
    process_of: str | None = None  # the trial whose process this one goes on with; None: it has a fresh one
    duet: DuetSeat | None = None  # None: nothing runs beside it
    configuration: Configuration

    @property
    def pair(self) -> str:
        """The trial id that stands for all that run at the same time: its own, or that of the one that leads."""
        return self.trial_id if self.duet is None or self.duet.leads else self.duet.partner

    @property
    def shares_cpus(self) -> bool:
        """Whether service and generator are on the same CPUs by design: in a duet, or with ``pin = "same"``."""
        return self.duet is not None or self.configuration.variant.runtime.pin == "same"


class Plan(Frozen):
    """The ordered trials of a session."""

    experiment: str
    profile: ProfileName
    seed: int
    host: str
    launcher: str
    trials: tuple[PlannedTrial, ...]
    # cells with an A/A pair; sessions recorded before this was noted have it in the first cell
    pairs: Pairs = "first cell"

    @property
    def n_blocks(self) -> int:
        return max((trial.block for trial in self.trials), default=0)


def configurations(experiment: Experiment, profile: ProfileName) -> tuple[Configuration, ...]:
    """Every configuration of one block, in the file's order; variants of the reference first."""
    definition = experiment.profiles[profile]
    names = definition.variants or tuple(experiment.variants)
    ordered = sorted(names, key=lambda name: name != experiment.reference)
    return tuple(
        _configuration(experiment, definition, name, cell)
        for name in ordered
        for cell in _cells(experiment, definition)
    )


def make_plan(
    experiment: Experiment,
    profile: ProfileName,
    seed: int,
    *,
    host: str = "local",
    launcher: str = "process",
    pairs: Pairs | None = None,
    blocks: int | None = None,
) -> Plan:
    """Return the plan that follows from (experiment, profile, seed).

    More blocks leave the order of the earlier ones unchanged.

    Args:
        pairs: cells with an A/A pair; default: every cell, under ``smoke`` the first one. A session that is
            continued passes what its recorded plan has.
        blocks: how many; default: the profile's number.
    """
    chosen: Pairs = pairs or ("first cell" if profile == "smoke" else "every cell")
    n_blocks = blocks or experiment.profiles[profile].blocks
    trials = _duet_trials if experiment.design_of(profile) == "duet" else _single_trials
    return Plan(
        experiment=experiment.name,
        profile=profile,
        seed=seed,
        host=host,
        launcher=launcher,
        trials=tuple(trials(experiment, profile, seed, n_blocks, chosen)),
        pairs=chosen,
    )


def _single_trials(
    experiment: Experiment, profile: ProfileName, seed: int, n_blocks: int, pairs: Pairs
) -> Iterator[PlannedTrial]:
    """Each process of a block, and that of the reference once more where ``pairs`` says, in a drawn order."""
    block_of = by_process(configurations(experiment, profile), experiment.same_process)
    of_reference = [item for item in block_of if item[0].variant_name == experiment.reference]
    doubled = of_reference if pairs == "every cell" else of_reference[:1]
    positions = itertools.count(1)
    for block in range(1, n_blocks + 1):
        members = [*((process, False) for process in block_of), *((process, True) for process in doubled)]
        rng = _block_rng(experiment.name, profile, seed, block)
        rng.shuffle(members)
        for process, duplicate in members:
            drawn = experiment.same_process_order == "random"
            first: str | None = None
            for configuration in rng.sample(process, len(process)) if drawn else process:
                position = next(positions)
                trial = PlannedTrial(
                    trial_id=_trial_id(position, configuration, duplicate),
                    block=block,
                    position=position,
                    duplicate=duplicate,
                    process_of=first,
                    configuration=configuration,
                )
                first = first or trial.trial_id
                yield trial


def _trial_id(position: int, configuration: Configuration, duplicate: bool) -> str:
    return f"{position:04d}-{configuration.variant_name}{'-aa' if duplicate else ''}"


def _duet_trials(
    experiment: Experiment, profile: ProfileName, seed: int, n_blocks: int, pairs: Pairs
) -> Iterator[PlannedTrial]:
    """Each variant beside the reference in every cell, and the reference beside itself where ``pairs`` says.

    Pairs are shuffled within a block. Who leads, and who begins on which set of CPUs, is drawn for each.
    """
    all_of_block = configurations(experiment, profile)
    references = [item for item in all_of_block if item.variant_name == experiment.reference]
    of_cell = {tuple(item.levels.items()): item for item in references}
    of_variants = [item for item in all_of_block if item.variant_name != experiment.reference]
    planned = [(item, of_cell[tuple(item.levels.items())], False) for item in of_variants]
    planned += [(item, item, True) for item in (references if pairs == "every cell" else references[:1])]
    positions = itertools.count(1)
    for block in range(1, n_blocks + 1):
        rng, members = _block_rng(experiment.name, profile, seed, block), list(planned)
        rng.shuffle(members)
        for item, reference, duplicate in members:
            arms = [(item, duplicate), (reference, False)]
            if rng.random() < 0.5:
                arms.reverse()
            first_side = rng.randrange(2)
            places = [next(positions), next(positions)]
            ids = [_trial_id(at, *arm) for at, arm in zip(places, arms, strict=True)]
            for place, (arm, again) in enumerate(arms):
                yield PlannedTrial(
                    trial_id=ids[place],
                    block=block,
                    position=places[place],
                    duplicate=again,
                    duet=DuetSeat(
                        partner=ids[1 - place],
                        leads=place == 0,
                        side=1 if (first_side + place) % 2 else 0,
                        interval_s=experiment.exchange_s,
                    ),
                    configuration=arm,
                )


def by_process(
    configurations: Iterable[Configuration], same_process: str | None
) -> list[tuple[Configuration, ...]]:
    """Return the configurations by the process that they share, each process in the order of its loads.

    ``same_process``: see ``Experiment``; ``None``: each configuration has a process of its own.
    """
    groups: dict[str, list[Configuration]] = {}
    for item in configurations:
        levels = {factor: level for factor, level in item.levels.items() if factor != same_process}
        groups.setdefault(item.model_copy(update={"levels": levels}).key, []).append(item)
    return [tuple(group) for group in groups.values()]


def _block_rng(name: str, profile: str, seed: int, block: int) -> random.Random:
    digest = hashlib.sha256(f"{name}/{profile}/{seed}/{block}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def _cells(experiment: Experiment, profile: ProfileDefinition) -> tuple[dict[str, str], ...]:
    if profile.cells is not None:
        return profile.cells
    axes = experiment.axes(profile)
    return tuple(dict(zip(axes, levels, strict=True)) for levels in itertools.product(*axes.values()))


def _configuration(
    experiment: Experiment, profile: ProfileDefinition, name: str, cell: dict[str, str]
) -> Configuration:
    base = experiment.variants[name]
    settings, runtime, changes = dict(base.settings), dict[str, Any](), dict[str, Any]()
    mix, load_name, warm_up = experiment.mix, experiment.load, experiment.warm_up_requests
    warm_up_mix: str | None = None
    warm_up_connections: Connections = "kept"
    windows = profile.warm_up
    for level in (experiment.factors[factor][level] for factor, level in cell.items()):
        settings |= level.settings
        runtime |= level.runtime
        changes |= level.backing
        mix = level.mix or mix
        load_name = level.load or load_name
        warm_up = warm_up if level.warm_up_requests is None else level.warm_up_requests
        warm_up_mix = level.warm_up_mix or warm_up_mix
        warm_up_connections = level.warm_up_connections or warm_up_connections
        windows = windows if level.warm_up_windows else None
    variant = base.model_copy(update={"settings": settings, "runtime": base.runtime.with_changes(runtime)})
    backing = experiment.backing
    if backing is not None or changes:
        backing = (backing or BackingSettings()).with_changes(changes)
    return Configuration(
        workload=experiment.workload,
        variant_name=name,
        variant=variant,
        levels=cell,
        mix=mix,
        load_name=load_name,
        load=profile.load(load_name, variant=name) if load_name else None,
        warm_up_requests=warm_up,
        warm_up_users=experiment.warm_up_users,
        warm_up_mix=warm_up_mix,
        warm_up_connections=warm_up_connections,
        warm_up=windows,
        search=profile.search,
        system_calls=profile.system_calls,
        kind=experiment.kind,
        idle_s=profile.idle_s,
        backing=backing,
    )
