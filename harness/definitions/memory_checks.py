# SPDX-License-Identifier: Apache-2.0
"""Whether memory that is to be measured can be: heaps that are multiples, and limits at what other variants hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.definitions.strict_files import to_model, unknown
from harness.errors import InputError
from harness.model import Experiment, Implementation, ProfileDefinition, RuntimeSettings


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
                    "measured memory belongs in a variant",
                    file=path,
                    place=place,
                    found=asked,
                    allowed="a size",
                )
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
    other = variant.runtime.memory_of
    if other is None:
        return
    java = [
        each
        for each, one in experiment.variants.items()
        if one.implementation in known and known[one.implementation].runtime == "jvm"
    ]
    if other not in experiment.variants:
        raise unknown("variant", other, java, file=path, place=f"{place}.gomemlimit")
    if other not in java:
        raise InputError(
            "a limit is what a Java variant holds",
            file=path,
            place=f"{place}.gomemlimit",
            found=other,
            allowed=", ".join(sorted(java)) or "none: there is no Java variant",
        )


def _check_factors(experiment: Experiment, path: Path) -> None:
    for factor, levels in experiment.factors.items():
        for name, level in levels.items():
            if level.mix or level.settings or level.runtime or level.backing:
                raise InputError(
                    "what is measured of memory would be that of another program or mix",
                    file=path,
                    place=f"factors.{factor}.{name}",
                    allowed="levels of load and warm_up_requests",
                )


def _check_profile(name: str, profile: ProfileDefinition, experiment: Experiment, path: Path) -> None:
    planned = profile.variants or tuple(experiment.variants)
    for variant in planned:
        other = experiment.variants[variant].runtime.memory_of
        if other is not None and other not in planned:
            raise InputError(
                f"{variant} has the memory of {other}, which is not among them",
                file=path,
                place=f"profiles.{name}.variants",
                allowed=f"{other} as well, or neither",
            )
    if profile.calibration is None:
        return
    of_all = profile.calibration.among or planned
    for saturated in (experiment.reference,) if profile.calibration.of == "reference" else of_all:
        asked = experiment.variants[saturated].runtime.memory_asked
        if asked is not None:
            raise InputError(
                f"the capacity is that of {saturated}, whose memory is measured only after it",
                file=path,
                place=f"profiles.{name}.calibration",
                found=f"{saturated}: {asked}",
                allowed="variants of which all is known: of, among",
            )
