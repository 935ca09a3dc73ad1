# SPDX-License-Identifier: Apache-2.0
"""Whether all that an experiment refers to is there: implementations, settings, mixes, files of SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.definitions.strict_files import short, to_model, unknown
from harness.errors import InputError
from harness.model import BackingSettings, Experiment, Implementation, ProfileDefinition, RuntimeSettings

#: Settings that mean nothing to a Go program; naming one in a Go variant is a mistake worth a word.
_JVM_ONLY = ("java", "gc", "heap_max", "heap_min", "aot_cache", "form", "nmt", "jvm_flags")
_GO_ONLY = ("gogc", "gomemlimit", "goexperiment", "go", "goamd64", "pgo")


def check_variants(experiment: Experiment, known: Mapping[str, Implementation], path: Path) -> None:
    """Refuse variants of nothing, and settings that mean nothing to what they are of.

    Raises:
        InputError: names the first.
    """
    for name, variant in experiment.variants.items():
        place = f"variants.{name}"
        if variant.implementation not in known:
            raise unknown(
                "implementation", variant.implementation, known, file=path, place=f"{place}.implementation"
            )
        implementation = known[variant.implementation]
        _check_settings(variant.settings, implementation, path, f"{place}.settings")
        useless = {"go": _JVM_ONLY, "jvm": _GO_ONLY}.get(implementation.runtime, ())
        for key in sorted(variant.runtime.model_fields_set & set(useless)):
            raise InputError(
                f"not supported by the {implementation.runtime} runtime",
                file=path,
                place=f"{place}.runtime.{key}",
            )
    for factor, levels in experiment.factors.items():
        for level_name, level in levels.items():
            for variant in experiment.variants.values():
                place = f"factors.{factor}.{level_name}.settings"
                _check_settings(level.settings, known[variant.implementation], path, place)


def _check_settings(settings: Iterable[str], implementation: Implementation, path: Path, place: str) -> None:
    for key in settings:
        if key not in implementation.settings:
            raise unknown(
                f"setting of {implementation.name}", key, implementation.settings, file=path, place=place
            )


def check_duets(experiment: Experiment, known: Mapping[str, Implementation], path: Path) -> None:
    """Refuse a duet whose arms would share a database or another backing service.

    Raises:
        InputError: names the first variant that needs one.
    """
    if all(experiment.design_of(profile) != "duet" for profile in experiment.profiles):
        return
    for name, variant in experiment.variants.items():
        needs = known[variant.implementation].needs
        if needs:
            raise InputError(
                "the arms of a duet would share a backing service, and either would slow the other", file=path,
                place=f"variants.{name}", found=", ".join(needs),
                allowed="implementations that need none, or design = 'alternating'",
            )  # fmt: skip


def check_levels(experiment: Experiment, mixes: Mapping[str, object], path: Path) -> None:
    """Refuse levels with an unknown mix, or with changes that are no settings.

    Raises:
        InputError: names the first.
    """
    if experiment.mix not in mixes:
        raise unknown("mix", experiment.mix, mixes, file=path, place="mix")
    for factor, levels in experiment.factors.items():
        for name, level in levels.items():
            place = f"factors.{factor}.{name}"
            if level.mix is not None and level.mix not in mixes:
                raise unknown("mix", level.mix, mixes, file=path, place=f"{place}.mix")
            if level.warm_up_mix is not None and level.warm_up_mix not in mixes:
                raise unknown("mix", level.warm_up_mix, mixes, file=path, place=f"{place}.warm_up_mix")
            to_model(RuntimeSettings, level.runtime, path, at=f"{place}.runtime.")
            to_model(BackingSettings, level.backing, path, at=f"{place}.backing.")


def with_backing(
    contract: Path, experiment: Experiment, known: Mapping[str, Implementation], path: Path
) -> Experiment:
    """Return the experiment with the backing settings it ends up with, checked against the contract's files.

    Raises:
        InputError: they mean nothing here, or name what the contract does not have.
    """
    implementations = [known[variant.implementation] for variant in experiment.variants.values()]
    needed = any(implementation.needs for implementation in implementations)
    levels = [
        (f"factors.{factor}.{name}.backing", level.backing)
        for factor, levels in experiment.factors.items()
        for name, level in levels.items()
        if level.backing
    ]
    if not needed:
        text = ["backing"] * (experiment.backing is not None) + [place for place, _ in levels]
        if text:
            raise InputError(
                "not supported here: no variant needs a backing service", file=path, place=text[0]
            )
        return experiment
    backing = experiment.backing or BackingSettings()
    if "upstream-api" in known:
        for place, changes in [("backing", backing.model_dump()), *levels]:
            _check_settings(changes.get("upstream", {}), known["upstream-api"], path, f"{place}.upstream")
    if any("postgresql" in implementation.needs for implementation in implementations):
        base = backing.model_dump(mode="json")
        _check_sql(contract, backing, path, "backing")
        for place, changes in levels:
            changed = to_model(BackingSettings, {**base, **changes}, path, at=f"{place}.")
            _check_sql(contract, changed, path, place)
    return experiment.model_copy(update={"backing": backing})


def _check_sql(contract: Path, backing: BackingSettings, path: Path, place: str) -> None:
    seeds = sorted(seed.stem.removeprefix("seed-") for seed in contract.glob("seed-*.sql"))
    if backing.seed is not None and backing.seed not in seeds:
        raise unknown("seed", backing.seed, seeds, file=path, place=f"{place}.seed")
    wanted = ["schema.sql", *(["index.sql"] if backing.index else [])]
    for name in wanted:
        if not (contract / name).is_file():
            raise InputError(
                "missing, and a database is needed", file=short(contract / name), allowed="a file of SQL"
            )


def check_memory(experiment: Experiment, known: Mapping[str, Implementation], path: Path) -> None:
    """Refuse memory that nobody could measure before the first trial.

    What is measured belongs to one program under one mix: so it stands in a variant, never in a level, and no
    factor changes what the program does.

    Raises:
        InputError: names the first.
    """
    for factor, levels in experiment.factors.items():
        for name, level in levels.items():
            place = f"factors.{factor}.{name}.runtime"
            asked = to_model(RuntimeSettings, level.runtime, path, at=f"{place}.").memory_asked
            if asked is not None:
                raise InputError(
                    "measured memory belongs in a variant", file=path, place=place, found=asked,
                    allowed="a size",
                )  # fmt: skip
    asking = [name for name, variant in experiment.variants.items() if variant.runtime.memory_asked]
    if not asking:
        return
    if experiment.kind != "load":
        place = f"variants.{asking[0]}.runtime"
        raise InputError("memory is measured under a load, and there is none", file=path, place=place)
    for name in asking:
        _check_variant(name, experiment, known, path)
    _check_factors(experiment, path)
    for profile, definition in experiment.profiles.items():
        _check_profile(profile, definition, experiment, path)


def _check_variant(
    name: str, experiment: Experiment, known: Mapping[str, Implementation], path: Path
) -> None:
    variant = experiment.variants[name]
    place = f"variants.{name}.runtime"
    if known[variant.implementation].needs:
        raise InputError(
            f"the memory of {variant.implementation} is not measured: it needs backing services",
            file=path, place=place, found=variant.runtime.memory_asked, allowed="a size",
        )  # fmt: skip
    java_variant = variant.runtime.memory_of
    if java_variant is None:
        return
    java = [
        each
        for each, item in experiment.variants.items()
        if item.implementation in known and known[item.implementation].runtime == "jvm"
    ]
    if java_variant not in experiment.variants:
        raise unknown("variant", java_variant, java, file=path, place=f"{place}.gomemlimit")
    if java_variant not in java:
        raise InputError(
            "a limit is what a Java variant holds", file=path, place=f"{place}.gomemlimit", found=java_variant,
            allowed=", ".join(sorted(java)) or "none: there is no Java variant",
        )  # fmt: skip


def _check_factors(experiment: Experiment, path: Path) -> None:
    for factor, levels in experiment.factors.items():
        for name, level in levels.items():
            if level.mix or level.settings or level.runtime or level.backing:
                raise InputError(
                    "what is measured of memory would be that of another program or mix", file=path,
                    place=f"factors.{factor}.{name}", allowed="levels of load and warm_up_requests",
                )  # fmt: skip


def _check_profile(name: str, profile: ProfileDefinition, experiment: Experiment, path: Path) -> None:
    planned = profile.variants or tuple(experiment.variants)
    for variant in planned:
        java_variant = experiment.variants[variant].runtime.memory_of
        if java_variant is not None and java_variant not in planned:
            raise InputError(
                f"{variant} has the memory of {java_variant}, which is not among them", file=path,
                place=f"profiles.{name}.variants", allowed=f"{java_variant} as well, or neither",
            )  # fmt: skip
    if profile.calibration is None:
        return
    of_all = profile.calibration.among or planned
    for saturated in (experiment.reference,) if profile.calibration.of == "reference" else of_all:
        asked = experiment.variants[saturated].runtime.memory_asked
        if asked is not None:
            raise InputError(
                f"the capacity is that of {saturated}, whose memory is measured only after it", file=path,
                place=f"profiles.{name}.calibration", found=f"{saturated}: {asked}",
                allowed="variants of which all is known: of, among",
            )  # fmt: skip
