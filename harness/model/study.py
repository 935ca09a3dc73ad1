# SPDX-License-Identifier: Apache-2.0
"""What is studied: variants, an experiment with its factors, and how much is measured under each profile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Frozen
from harness.model.load import CapacityGoals, ClosedLoad, Load, OpenLoad, refuse_tool
from harness.model.load_tools import TOTALS_ONLY
from harness.model.runtime import RuntimeSettings
from harness.model.scaled_load import CalibrationSpec, ClosedShare, OpenShare, ScaledLoad
from harness.model.started import BackingSettings, SettingValue
from harness.model.warm_up import WarmUpSpec


class DeclaredComparison(Frozen):
    """Ratios of some metrics, and the family of their p-values.

    Every variant over a reference, variants in pairs, or the levels of a factor over one of them.
    """

    metrics: dict[str, str] = Field(min_length=1)  # name of the result -> column of the trials
    where: dict[str, str] = Field(default_factory=dict)  # factor -> level: only trials of these
    by: tuple[str, ...] = ()  # factors; each combination is compared on its own
    against: str | None = None  # variant in the denominator; None: the reference
    # variant -> the variant that it is compared with, in place of all
    pairs: dict[str, str] = Field(default_factory=dict)
    along: str | None = None  # factor whose levels are compared within each variant
    base: str | None = None  # of ``along``: the level in the denominator
    margin: float | None = Field(default=None, gt=0)  # share that is negligible; None: the metric's
    bounded: bool = True  # no verdict where something else than the services bounded the trials

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.along is None) != (self.base is None):
            raise ValueError("along and base belong together")
        if sum(way is not None for way in (self.along, self.against, self.pairs or None)) > 1:
            raise ValueError("along, against and pairs exclude each other")
        return self

    def problems(
        self, place: str, variants: Sequence[str], factors: Mapping[str, Sequence[str]]
    ) -> Iterator[str]:
        """Yield each name that is none of the experiment's, in words; ``factors``: factor -> its levels."""
        yield from _unknown(place, "variant ", (self.against, *self.pairs, *self.pairs.values()), variants)
        yield from _unknown(place, "factor ", (self.along, *self.by, *self.where), factors)
        for factor, level in (*self.where.items(), (self.along, self.base)):
            if factor is not None:
                yield from _unknown(place, "level ", (level,), factors[factor], of=f" of {factor}")


def _unknown(
    place: str, what: str, names: Iterable[str | None], allowed: Collection[str], of: str = ""
) -> Iterator[str]:
    for name in names:
        if name is not None and name not in allowed:
            yield f"{place}: unknown {what}{name!r}{of}; allowed: {sorted(allowed)}"


def _refuse(problems: Iterator[str]) -> None:
    for problem in problems:
        raise ValueError(problem)


#: Stands for a capacity nobody has measured yet: a plan's order and length do not depend on it.
NOMINAL_PER_S = 100.0
Name = str
ProfileName = Literal["smoke", "quick", "full"]
#: Of the requests of a warm-up: one after another on a connection, or each on one of its own.
Connections = Literal["kept", "fresh"]
#: ``alternating``: one trial at a time. ``duet``: a variant and the reference at the same time, each with its own load
#: generator on its own set of CPUs, and the sets exchanged again and again.
Design = Literal["alternating", "duet"]


class Variant(Frozen):
    """An implementation plus its settings: the thing compared."""

    implementation: Name
    label: str | None = None  # how figures name it; default: its name
    settings: dict[str, SettingValue] = Field(default_factory=dict)
    runtime: RuntimeSettings = Field(default_factory=RuntimeSettings)
    lean: bool = False  # bench baseline: the leanest handler

    @model_validator(mode="after")
    def _what_is_trained_is_the_program(self) -> Self:
        if self.lean and self.runtime.pgo:
            raise ValueError("pgo is of the program with its settings, and not of a lean handler")
        return self

    @property
    def trained(self) -> tuple[str, ...]:
        """The settings in words: a CPU profile that a program is compiled with is one of the program with them."""
        return tuple(f"{name}={value}" for name, value in sorted(self.settings.items()))

    @property
    def build_name(self) -> str:
        """The key of ``builds.json``: the implementation, after it ``+aot`` with an AOT cache, or ``+form``, and the
        toolchain where the variant names one: ``go-nethttp+go1.25.14+nogreenteagc``, ``java-jaxrs+java21``,
        ``go-nethttp+v3+pgo(craft=tuned)``."""
        runtime = self.runtime
        form = None if runtime.form == "jvm" else runtime.form
        made = (
            "aot" if runtime.aot_cache else form,
            None if runtime.go is None else f"go{runtime.go}",
            runtime.goexperiment,
            runtime.goamd64,
            f"pgo({','.join(self.trained)})" if runtime.pgo else None,
            None if runtime.java is None else f"java{runtime.java}",
        )
        return "+".join([self.implementation, *(item for item in made if item is not None)])


class Level(Frozen):
    """One value of a factor: what it changes in a configuration."""

    settings: dict[str, SettingValue] = Field(default_factory=dict)
    runtime: dict[str, Any] = Field(default_factory=dict)
    mix: str | None = None
    load: str | None = None  # name of one of the profile's loads
    warm_up_requests: int | None = Field(default=None, ge=0)
    warm_up_mix: str | None = None  # of the warm-up's requests; None: the load's own
    # fresh: each request of the warm-up on a connection of its own; None: kept
    warm_up_connections: Connections | None = None
    # false: without the profile's warm-up in windows, so that the process is cold
    warm_up_windows: bool = True
    backing: dict[str, Any] = Field(default_factory=dict)  # changes to the experiment's [backing]


class ProfileDefinition(Frozen):
    """How much is measured under one profile name."""

    blocks: int = Field(ge=1)
    loads: dict[str, Load] = Field(default_factory=dict)
    # shares of the capacity that `calibration` finds
    scaled_loads: dict[str, ScaledLoad] = Field(default_factory=dict)
    calibration: CalibrationSpec | None = None
    variants: tuple[Name, ...] | None = None  # None: all
    levels: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # factor -> the levels used; absent: all
    # explicit combinations of levels; None: every combination
    cells: tuple[dict[str, str], ...] | None = None
    design: Design | None = None  # None: the experiment's
    idle_s: float = Field(default=0.0, ge=0)  # start-up trials: how long to stay idle
    # head of each load in which generator and service still warm up: kept in the data, and no part of any
    # metric
    settle_s: float = Field(default=0.0, ge=0)
    # load in windows until the service is settled, before anything is measured
    warm_up: WarmUpSpec | None = None
    # the highest rate that keeps these goals is searched for in each trial, on its process, once its load is
    # over; the search begins at what that load reached
    search: CapacityGoals | None = None
    # after each load offer a short one, in which the kernel counts the service's system calls
    system_calls: bool = False
    large_host: bool = False  # planned for a large host

    @model_validator(mode="after")
    def _can_be_measured(self) -> Self:
        _refuse(self._problems())
        if self.search is not None and self.search.generator is None:
            for load in self.loads.values():
                refuse_tool(load.generator)
        return self

    def _problems(self) -> Iterator[str]:
        loads: dict[str, Load | ScaledLoad] = {**self.loads, **self.scaled_loads}
        rates = sorted(name for name, load in loads.items() if not isinstance(load.profile, ClosedLoad))
        if self.search is not None and rates:
            yield f"search begins at what users without a pause reach, found a rate: {rates}"
        short = sorted(
            name
            for name, load in loads.items()
            if (lasts_s := _lasts_s(load.profile)) is not None and lasts_s <= self.settle_s
        )
        if short:
            yield f"settle_s = {self.settle_s:g} leaves nothing of loads {short}"
        totals = sorted(
            name for name, load in loads.items() if load.generator in TOTALS_ONLY or load.rows == "counted"
        )
        if self.settle_s and totals:
            yield f"settle_s = {self.settle_s:g} needs single requests, which loads {totals} do not keep"
        calibration = self.calibration
        if bool(self.scaled_loads) != (calibration is not None):
            yield "scaled_loads and calibration need each other"
        generators = {load.generator for load in self.scaled_loads.values()}
        of_one_tool = calibration is not None and calibration.of == "reference"
        if calibration is not None and of_one_tool and generators != {calibration.generator}:
            yield f"a capacity is that of its generator: calibrate with {sorted(generators)}"
        own = sorted(name for name, load in self.scaled_loads.items() if load.of == "variant")
        if own and (of_one_tool or (calibration is not None and calibration.among)):
            yield (
                f"loads {own} are of each variant's capacity: calibrate with of = 'slowest' and all variants"
            )
        if twice := sorted(set(self.loads) & set(self.scaled_loads)):
            yield f"a load is either scaled or not, found both: {twice}"

    def load(self, name: str, capacity_per_s: float = NOMINAL_PER_S, *, variant: Name | None = None) -> Load:
        """Return a load by its name; a scaled one for this capacity (the nominal one: for planning only).

        ``variant``: who takes it, where it may be a share of that one's own capacity.
        """
        own = None if variant is None else self.loads.get(own_load(name, variant))
        if own is not None:
            return own
        return self.loads[name] if name in self.loads else self.scaled_loads[name].at(capacity_per_s)


def own_load(name: str, variant: Name) -> str:
    """Return the name of a load that is a share of a variant's own capacity, once that is known."""
    return f"{name} of {variant}"


def _lasts_s(profile: ClosedLoad | OpenLoad | ClosedShare | OpenShare) -> float | None:
    """How long a load, or the first part of one, lasts; ``None``: until every user has made its loops."""
    if isinstance(profile, OpenLoad | OpenShare):
        return profile.duration_s
    return profile.whole_s if isinstance(profile, ClosedLoad) else None


class Experiment(Frozen):
    """A question with its factors: one TOML file."""

    name: Name
    title: str
    question: str
    workload: Name
    kind: Literal["load", "startup"] = "load"
    reference: Name
    # part of what is measured when all is asked for; or under which profiles
    in_paper: bool | tuple[ProfileName, ...] = True
    mix: str = "hello"
    load: str | None = None  # default load name, when no factor names one
    warm_up_requests: int = Field(default=0, ge=0)
    # how many at once send the warm-up requests, which they divide
    warm_up_users: int = Field(default=1, ge=1, le=1000)
    # factor whose levels follow each other on one process, in the file's order; None: each trial has a fresh
    # one
    same_process: Name | None = None
    # of these levels: the file's, or one that is drawn for each process
    same_process_order: Literal["file", "random"] = "file"
    design: Design = "alternating"  # whether trials of a block run one by one or in pairs
    # of a duet: about how long until the sets of CPUs are exchanged
    exchange_s: float = Field(default=0.5, ge=0.1, le=10)
    # how its services are started unless --launcher says otherwise; None: process
    launcher: Literal["process", "container", "kubernetes"] | None = None
    backing: BackingSettings | None = None  # None: the defaults where a variant needs any, else nothing
    variants: dict[Name, Variant] = Field(min_length=1)
    factors: dict[Name, dict[str, Level]] = Field(default_factory=dict)
    profiles: dict[ProfileName, ProfileDefinition] = Field(min_length=1)
    # comparisons that the experiment is for; no part of what is measured
    compare: tuple[DeclaredComparison, ...] = ()

    def measured_unasked(self, profile: str) -> bool:
        """Tell whether it is measured when all is asked for under this profile."""
        return self.in_paper if isinstance(self.in_paper, bool) else profile in self.in_paper

    @property
    def labels(self) -> dict[str, str]:
        """Variant -> what it is called."""
        return {name: variant.label or name for name, variant in self.variants.items()}

    def design_of(self, profile: ProfileName) -> Design:
        """Return how trials of a block are arranged under this profile."""
        return self.profiles[profile].design or self.design

    def calibrated(
        self, profile: ProfileName, capacity_per_s: float, of_variants: Mapping[Name, float] | None = None
    ) -> Experiment:
        """Return the experiment with the profile's scaled loads replaced by loads for this capacity.

        ``of_variants``: variant -> its own capacity, for loads that are shares of that.
        """
        definition = self.profiles[profile]
        loads = {name: definition.load(name, capacity_per_s) for name in definition.scaled_loads}
        loads |= {
            own_load(name, variant): scaled.at(own_per_s)
            for name, scaled in definition.scaled_loads.items()
            if scaled.of == "variant"
            for variant, own_per_s in (of_variants or {}).items()
        }
        changed = definition.model_copy(
            update={"loads": {**definition.loads, **loads}, "scaled_loads": {}, "calibration": None}
        )
        return self.model_copy(update={"profiles": {**self.profiles, profile: changed}})

    def with_memory(self, resolved: Mapping[Name, Mapping[str, str]]) -> Experiment:
        """Return the experiment with what was measured in the place of multiples and of what others hold.

        Args:
            resolved: variant -> the runtime settings it was resolved to, such as ``{"heap_max": "13m"}``.
        """
        changed = {
            name: variant.model_copy(
                update={"runtime": variant.runtime.model_copy(update=dict(resolved.get(name, {})))}
            )
            for name, variant in self.variants.items()
        }
        return self.model_copy(update={"variants": changed})

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        _refuse(self._problems())
        return self

    def _problems(self) -> Iterator[str]:
        if self.reference not in self.variants:
            yield f"reference {self.reference!r} is not one of the variants {sorted(self.variants)}"
        for name, profile in self.profiles.items():
            yield from self._profile_problems(f"profiles.{name}", profile)
        levels = [level for levels in self.factors.values() for level in levels.values()]
        warmed = self.warm_up_requests or any(level.warm_up_requests for level in levels)
        if self.warm_up_users > 1 and not warmed:
            yield "warm_up_users requires warm_up_requests"
        levels_of = {factor: list(levels) for factor, levels in self.factors.items()}
        for number, declared in enumerate(self.compare):
            yield from declared.problems(f"compare[{number}]", list(self.variants), levels_of)
        if self.same_process is None and self.same_process_order != "file":
            yield "same_process_order = 'random' requires same_process"
        if self.same_process is not None:
            yield from _unknown("same_process", "factor ", (self.same_process,), self.factors)
            for place, level in self.factors[self.same_process].items():
                changed = sorted(level.model_dump(exclude_defaults=True).keys() - {"load", "mix"})
                if changed:
                    yield (
                        f"factors.{self.same_process}.{place}: {changed} cannot change on a process that runs; "
                        "allowed: load, mix"
                    )
        for name, profile in self.profiles.items():
            duet = self.design_of(name) == "duet"
            # a search loads the process of one trial, which nobody else needs
            alone = self.kind == "load" and self.same_process is None and not duet
            if profile.search is not None and not alone:
                yield f"profiles.{name}.search: only of trials under load that have a process of their own"
            if duet:
                yield from self._duet_problems(f"profiles.{name}", profile, levels)

    def _duet_problems(self, where: str, profile: ProfileDefinition, levels: list[Level]) -> Iterator[str]:
        """A duet is two loads over the same seconds, on one set of CPUs each."""
        if self.kind != "load":
            yield "design = 'duet': start-up trials have no load to run side by side"
        if self.same_process is not None:
            yield "design = 'duet' and same_process exclude each other"
        if profile.scaled_loads:
            yield f"{where}.scaled_loads: a capacity is that of other CPUs than a duet's; allowed: loads"
        for name, load in profile.loads.items():
            if not isinstance(load.profile, ClosedLoad):
                yield f"{where}.loads.{name}: a closed loop is needed, found a rate, in a duet"
            elif load.profile.duration_s is None:
                yield f"{where}.loads.{name}: duration_s is needed, so that both loads end together, in a duet"
        pinned = [variant.runtime.pin for variant in self.variants.values()]
        if any((*pinned, *(level.runtime.get("pin") for level in levels))):
            yield "design = 'duet' and runtime.pin exclude each other: each arm has a set of CPUs"

    def _profile_problems(self, where: str, profile: ProfileDefinition) -> Iterator[str]:
        yield from _unknown(f"{where}.variants", "", profile.variants or (), self.variants)
        if profile.variants is not None and self.reference not in profile.variants:
            yield f"{where}.variants: must contain the reference {self.reference!r}"
        cells = ({factor: (level,) for factor, level in cell.items()} for cell in profile.cells or ())
        combinations: list[tuple[str, Mapping[str, tuple[str, ...]]]] = [("levels", profile.levels)]
        for place, asked in [*combinations, *(("cells", cell) for cell in cells)]:
            if place == "cells" and set(asked) != set(self.factors):
                yield f"{where}.cells: {sorted(asked)} must name each of {sorted(self.factors)} once"
            yield from _unknown(f"{where}.{place}", "factor ", asked, self.factors)
            for factor, names in asked.items():
                yield from _unknown(
                    f"{where}.{place}", "level ", names, self.factors[factor], of=f" of {factor}"
                )
        for variant in () if profile.calibration is None else profile.calibration.among:
            if variant not in (profile.variants or self.variants):
                yield f"{where}.calibration.among: {variant!r} is not among the profile's variants"
        if self.kind == "load":
            used = self.levels_used(profile)
            wanted = {
                level.load
                for factor, levels in self.factors.items()
                for name, level in levels.items()
                if level.load and name in used[factor]
            }
            wanted |= {self.load} if self.load else set()
            defined = {**profile.loads, **profile.scaled_loads}
            missing = sorted(wanted - set(defined))
            if missing or not wanted:
                yield f"{where}.loads: missing {missing or 'a load'}; found {sorted(defined)}"

    def levels_used(self, profile: ProfileDefinition) -> dict[str, set[str]]:
        """Return factor -> the levels that a profile of this experiment measures."""
        if profile.cells is not None:
            return {factor: {cell[factor] for cell in profile.cells} for factor in self.factors}
        return {factor: set(levels) for factor, levels in self.axes(profile).items()}

    def axes(self, profile: ProfileDefinition) -> dict[str, tuple[str, ...]]:
        """Return factor -> the levels of a profile without cells, in the file's order."""
        return {
            factor: profile.levels.get(factor) or tuple(levels) for factor, levels in self.factors.items()
        }
