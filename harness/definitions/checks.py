# SPDX-License-Identifier: Apache-2.0
"""Whether all that an experiment refers to is there: implementations, settings, mixes, files of SQL.

Each function raises an ``InputError`` that names the first thing that is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from harness.definitions.strict_files import short, to_model, unknown
from harness.errors import InputError
from harness.model import BackingSettings, Experiment, Implementation, Level, ProfileName, RuntimeSettings

#: Settings that mean nothing to a Go program; naming one in a Go variant is a mistake worth a word.
_JVM_ONLY = ("java", "gc", "heap_max", "heap_min", "aot_cache", "form", "nmt", "jvm_flags")
_GO_ONLY = ("gogc", "gomemlimit", "goexperiment", "go", "goamd64", "pgo")
_USELESS = {"go": _JVM_ONLY, "jvm": _GO_ONLY}


def _levels(experiment: Experiment) -> list[tuple[str, Level]]:
    """Place in the file -> level."""
    return [
        (f"factors.{factor}.{name}", level)
        for factor, levels in experiment.factors.items()
        for name, level in levels.items()
    ]


def check_variants(experiment: Experiment, known: Mapping[str, Implementation], path: Path) -> None:
    """Refuse variants of nothing, settings that mean nothing to what they are of, and a backing service of a duet."""
    duets = any(experiment.design_of(profile) == "duet" for profile in experiment.profiles)
    for name, variant in experiment.variants.items():
        place = f"variants.{name}"
        if variant.implementation not in known:
            raise unknown(
                "implementation", variant.implementation, known, file=path, place=f"{place}.implementation"
            )
        implementation = known[variant.implementation]
        _check_settings(variant.settings, implementation, path, f"{place}.settings")
        for key in sorted(variant.runtime.model_fields_set & set(_USELESS.get(implementation.runtime, ()))):
            reason = f"not supported by the {implementation.runtime} runtime"
            raise InputError(reason, file=path, place=f"{place}.runtime.{key}")
        if duets and implementation.needs:
            raise InputError(
                "the arms of a duet would share a backing service, and either would slow the other", file=path,
                place=place, found=", ".join(implementation.needs),
                allowed="implementations that need none, or design = 'alternating'",
            )  # fmt: skip
    for place, level in _levels(experiment):
        for variant in experiment.variants.values():
            _check_settings(level.settings, known[variant.implementation], path, f"{place}.settings")


def _check_settings(settings: Iterable[str], implementation: Implementation, path: Path, place: str) -> None:
    for key in settings:
        if key not in implementation.settings:
            raise unknown(
                f"setting of {implementation.name}", key, implementation.settings, file=path, place=place
            )


def check_levels(experiment: Experiment, mixes: Mapping[str, object], path: Path) -> None:
    """Refuse an unknown mix, and levels with changes that are no settings."""
    named = [("mix", experiment.mix)]
    for place, level in _levels(experiment):
        named += [(f"{place}.mix", level.mix or experiment.mix)]
        named += [(f"{place}.warm_up_mix", level.warm_up_mix or experiment.mix)]
        to_model(RuntimeSettings, level.runtime, path, at=f"{place}.runtime.")
        to_model(BackingSettings, level.backing, path, at=f"{place}.backing.")
    for place, mix in named:
        if mix not in mixes:
            raise unknown("mix", mix, mixes, file=path, place=place)


def with_backing(
    contract: Path, experiment: Experiment, known: Mapping[str, Implementation], path: Path
) -> Experiment:
    """Return the experiment with the backing settings it ends up with, checked against the contract's files."""
    needs = {need for variant in experiment.variants.values() for need in known[variant.implementation].needs}
    levels = [(f"{place}.backing", level.backing) for place, level in _levels(experiment) if level.backing]
    if not needs:
        places = ["backing"] * (experiment.backing is not None) + [place for place, _ in levels]
        for place in places:
            raise InputError("not supported here: no variant needs a backing service", file=path, place=place)
        return experiment
    backing = experiment.backing or BackingSettings()
    base = backing.model_dump(mode="json")
    for place, changes in [("backing", base), *levels]:
        if "upstream-api" in known:
            _check_settings(changes.get("upstream", {}), known["upstream-api"], path, f"{place}.upstream")
        if "postgresql" in needs:
            changed = to_model(BackingSettings, {**base, **changes}, path, at=f"{place}.")
            _check_sql(contract, changed, path, place)
    return experiment.model_copy(update={"backing": backing})


def _check_sql(contract: Path, backing: BackingSettings, path: Path, place: str) -> None:
    seeds = sorted(seed.stem.removeprefix("seed-") for seed in contract.glob("seed-*.sql"))
    if backing.seed is not None and backing.seed not in seeds:
        raise unknown("seed", backing.seed, seeds, file=path, place=f"{place}.seed")
    for name in ("schema.sql", "index.sql") if backing.index else ("schema.sql",):
        if not (contract / name).is_file():
            raise InputError(
                "missing, and a database is needed", file=short(contract / name), allowed="a file of SQL"
            )


def check_memory(experiment: Experiment, known: Mapping[str, Implementation], path: Path) -> None:
    """Refuse memory that nobody could measure before the first trial.

    What is measured belongs to one program under one mix: so it stands in a variant, never in a level, and no
    factor changes what the program does.
    """

    refuse = partial(_refuse_memory, path)
    asked = {name: variant.runtime.memory_asked for name, variant in experiment.variants.items()}
    asking = [name for name, what in asked.items() if what]
    for place, level in _levels(experiment):
        of_level = RuntimeSettings().with_changes(level.runtime).memory_asked
        if of_level is not None:
            refuse("measured memory belongs in a variant", f"{place}.runtime", of_level, "a size")
        if asking and (level.mix or level.settings or level.runtime or level.backing):
            reason = "what is measured of memory would be that of another program or mix"
            refuse(reason, place, allowed="levels of load and warm_up_requests")
    java = {name for name, item in experiment.variants.items() if known[item.implementation].runtime == "jvm"}
    for name in asking:
        variant, place = experiment.variants[name], f"variants.{name}.runtime"
        java_variant = variant.runtime.memory_of
        if experiment.kind != "load":
            refuse("memory is measured under a load, and there is none", place)
        if known[variant.implementation].needs:
            reason = f"the memory of {variant.implementation} is not measured: it needs backing services"
            refuse(reason, place, asked[name], "a size")
        if java_variant is not None and java_variant not in experiment.variants:
            raise unknown("variant", java_variant, java, file=path, place=f"{place}.gomemlimit")
        if java_variant is not None and java_variant not in java:
            allowed = ", ".join(sorted(java)) or "none: there is no Java variant"
            refuse("a limit is what a Java variant holds", f"{place}.gomemlimit", java_variant, allowed)
    for name in experiment.profiles if asking else ():
        _check_memory_of_profile(name, experiment, asked, path)


def _check_memory_of_profile(
    name: ProfileName, experiment: Experiment, asked: Mapping[str, str | None], path: Path
) -> None:
    profile = experiment.profiles[name]
    planned = profile.variants or tuple(experiment.variants)
    for variant in planned:
        java_variant = experiment.variants[variant].runtime.memory_of
        if java_variant is not None and java_variant not in planned:
            reason = f"{variant} has the memory of {java_variant}, which is not among them"
            place = f"profiles.{name}.variants"
            _refuse_memory(path, reason, place, allowed=f"{java_variant} as well, or neither")
    if profile.calibration is None:
        return
    of_all = profile.calibration.among or planned
    for variant in (experiment.reference,) if profile.calibration.of == "reference" else of_all:
        if asked[variant]:
            reason = f"the capacity is that of {variant}, whose memory is measured only after it"
            known = "variants of which all is known: of, among"
            place = f"profiles.{name}.calibration"
            _refuse_memory(path, reason, place, f"{variant}: {asked[variant]}", known)


def _refuse_memory(
    path: Path, reason: str, place: str, value: str | None = None, allowed: str | None = None
) -> None:
    raise InputError(reason, file=path, place=place, found=value, allowed=allowed)
