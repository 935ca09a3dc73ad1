# SPDX-License-Identifier: Apache-2.0
"""Pairs of variants that differ in one thing: the release that runs or builds them, or how they wait."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence.warm import Warm
from harness.model import Experiment, Variant

Pairs = Mapping[str, str]
#: What a pair differs in: the release, or virtual threads (or another way to wait) in place of platform threads.
Kind = Literal["release", "threads"]
#: Settings that say how a program waits.
_WAITING = ("threads", "mode")


def pairs(experiment: Experiment, kind: Kind, measured: Collection[str] | None = None) -> dict[str, str]:
    """Return variant -> the variant it is compared with, among those that were measured (``None``: all).

    ``release``: with the oldest release of the same program and settings. ``threads``: with the same program on the
    same release as it waits by default.
    """
    variants = {
        name: one for name, one in experiment.variants.items() if measured is None or name in measured
    }
    told: dict[str, str] = {}
    for name, one in variants.items():
        base = _oldest(one, variants) if kind == "release" else _platform(one, variants)
        if base is not None and base != name:
            told[name] = base
    return told


def compared(warm: Warm | None, kind: Kind, metric: str) -> list[Comparison]:
    """Return the comparisons of all pairs in one metric at saturation, paired by block."""
    if warm is None:
        return []
    trials = warm.saturation
    found = []
    for name, base in pairs(warm.evidence.header.experiment, kind, set(trials["variant"])).items():
        found += list(compare(trials[trials["variant"].isin([name, base])], metric, reference=base))
    return found


def release_of(variant: Variant) -> tuple[int, ...] | None:
    """Return the release of the JDK or of Go that a variant names; ``None``: it names none."""
    runtime = variant.runtime
    if runtime.java is not None:
        return (runtime.java,)
    return None if runtime.go is None else tuple(int(part) for part in runtime.go.split("."))


def _oldest(one: Variant, variants: Mapping[str, Variant]) -> str | None:
    if release_of(one) is None:
        return None
    alike = {name: other for name, other in variants.items() if _plain(other) == _plain(one)}
    return min(alike, key=lambda name: release_of(alike[name]) or (0,))


def _plain(variant: Variant) -> Variant:
    runtime = variant.runtime.model_copy(update={"java": None, "go": None})
    return variant.model_copy(update={"runtime": runtime, "label": None})


def _platform(one: Variant, variants: Mapping[str, Variant]) -> str | None:
    """The variant that differs in how it waits alone; that is the one defined first."""
    alike = [name for name, other in variants.items() if _waits_alike(other) == _waits_alike(one)]
    return alike[0] if len(alike) > 1 else None


def _waits_alike(variant: Variant) -> Variant:
    settings = {name: value for name, value in variant.settings.items() if name not in _WAITING}
    return variant.model_copy(update={"settings": settings, "label": None})
