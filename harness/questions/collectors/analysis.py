# SPDX-License-Identifier: Apache-2.0
"""What each collector gives for the memory it holds, and the least memory that is enough for each language.

A family is one collector with all its sizes of memory: a line of the figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from harness.analysis.stats.about_services import not_about_services
from harness.analysis.stats.ages import age_of_arm, of_one_age
from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.pairing import counting
from harness.analysis.stats.summaries import summarised
from harness.evidence.warm import Warm
from harness.model import Estimate, Variant
from harness.model.age import YOUNG
from harness.publish.load_words import COLLECTORS

THROUGHPUT, CPU, MEMORY = "throughput_per_s", "cpu_s_per_request", "rss_after_bytes"
#: Who reaches this share of the best throughput of its language has enough memory.
ENOUGH_SHARE = 0.95
_COMPACT = "-XX:+UseCompactObjectHeaders"


@dataclass(frozen=True, kw_only=True)
class Point:
    """One variant at saturation: what it held and what it gave.

    ``about``: why this is not about the warm service.
    """

    variant: str
    family: str
    language: str
    memory: Estimate
    throughput: Estimate
    cpu: Estimate
    about: str | None


@dataclass(frozen=True, kw_only=True)
class Enough:
    """The variant of a language that held the least memory among those with ``ENOUGH_SHARE`` of the best throughput.

    Both the best and those that come near it are chosen by their estimates, so memory between two sizes is not seen.
    ``share``: its throughput over the best one's; ``None``: it is the best one. ``rising``: it is the best one and held
    the most memory of its family, so more might give more, and what is enough is not known.
    """

    language: str
    variant: str
    best: str
    memory: Estimate
    share: Estimate | None
    rising: bool


def family_of(variant: Variant) -> str:
    """Return the line that a variant belongs to."""
    runtime = variant.runtime
    if runtime.gc is not None:
        return f"{COLLECTORS.get(runtime.gc, runtime.gc)}{', compact headers' if _COMPACT in runtime.jvm_flags else ''}"
    if runtime.goexperiment is not None:
        return "Go without Green Tea"
    return "Go, a limit alone" if runtime.gogc == "off" else "Go, GOGC"


def points(warm: Warm | None) -> tuple[Point, ...] | None:
    """Return every variant that was measured, families together, each from little memory to much; ``None``: none."""
    if warm is None:
        return None
    variants, found = warm.evidence.header.experiment.variants, list[Point]()
    for name, arm in _arms(warm.saturation).items():
        found.append(
            Point(
                variant=name,
                family=family_of(variants[name]),
                language=str(arm["language"].iloc[0]),
                memory=summarised(arm, MEMORY),
                throughput=summarised(arm, THROUGHPUT),
                cpu=summarised(arm, CPU),
                about=_not_about(arm),
            )
        )
    families = list(dict.fromkeys(family_of(one) for one in variants.values()))
    told = [one for one in found if one.memory.value is not None]
    return tuple(sorted(told, key=lambda one: (families.index(one.family), one.memory.value or 0.0)))


def enough(warm: Warm | None, language: str) -> Enough | None:
    """Return what is enough for a language; ``None``: not measured, or its best throughput is not about services."""
    if warm is None:
        return None
    mine = warm.saturation[warm.saturation["language"] == language]
    arms = {name: arm for name, arm in _arms(mine).items() if _not_about(arm) is None}
    means = {
        name: value for name, arm in arms.items() if (value := summarised(arm, THROUGHPUT).value) is not None
    }
    if not means:
        return None
    best = max(means, key=lambda name: means[name])
    shares = {
        one.variant: one.ratio
        for one in compare(mine, THROUGHPUT, reference=best)
        if one.about_services
        and not one.young
        and one.ratio.value is not None
        and one.ratio.value >= ENOUGH_SHARE
    }
    memory = {name: summarised(arms[name], MEMORY) for name in (best, *shares) if name in arms}
    least = min(memory, key=lambda name: memory[name].value or float("inf"))
    variants = warm.evidence.header.experiment.variants
    family = [name for name in arms if family_of(variants[name]) == family_of(variants[best])]
    most = max(family, key=lambda name: summarised(arms[name], MEMORY).value or 0.0)
    return Enough(
        language=language, variant=least, best=best, memory=memory[least], share=shares.get(least),
        rising=least == best == most,
    )  # fmt: skip


def memory_ratio(warm: Warm | None, java: Enough | None, go: Enough | None) -> Comparison | None:
    """Return the memory that is enough for Java over that for Go, paired by block; ``None``: one is not known."""
    if warm is None or java is None or go is None:
        return None
    both = warm.saturation[warm.saturation["variant"].isin([java.variant, go.variant])]
    return next(iter(compare(both, MEMORY, reference=go.variant)), None)


def unlike_only_in_build(warm: Warm) -> Sequence[str]:
    """Return the variants that differ from the reference in the Go experiment they were built with, and in nothing
    else."""
    variants = warm.evidence.header.experiment.variants
    runtime = variants[warm.evidence.reference].runtime
    return [
        name
        for name, one in variants.items()
        if one.runtime.goexperiment is not None
        and one.runtime.model_copy(update={"goexperiment": runtime.goexperiment}) == runtime
    ]


def _not_about(arm: pd.DataFrame) -> str | None:
    age = age_of_arm(arm)
    if age is not None and age.age == YOUNG:
        return f"{YOUNG} processes"
    return not_about_services(arm, arm, THROUGHPUT)


def _arms(trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The kept trials of each variant, without duplicates, and of a warm one without young trials."""
    kept = counting(trials)
    return {str(name): of_one_age(arm) for name, arm in kept.groupby("variant", sort=False)}
