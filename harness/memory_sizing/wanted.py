# SPDX-License-Identifier: Apache-2.0
"""What of its memory a variant leaves to be measured, whose answers are the same, and about how long it takes."""

from __future__ import annotations

from harness.memory_sizing.spec import HOLD_S
from harness.model import Experiment, Variant

#: About what each takes, for planning only: a search from within, and one program whose memory is read.
SEARCH_TAKES_S, START_TAKES_S = 20.0, 4.0
#: So many trials under the load's own generator end a search: two must hold, and some fail before, sooner.
TRIALS_EACH = 3


def asked_of(experiment: Experiment, names: tuple[str, ...]) -> dict[str, str]:
    """Return variant -> what of its memory must be measured, of these variants and those that they name."""
    asked: dict[str, str] = {}
    for name in names:
        runtime = experiment.variants[name].runtime
        for each in (name, runtime.memory_of):
            what = None if each is None else experiment.variants[each].runtime.memory_asked
            if each is not None and what is not None:
                asked[each] = what
    return asked


def alike(experiment: Experiment, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return those of the variants whose heap is a multiple, together where they differ in nothing but that.

    They share a least heap: it belongs to the program with all its settings but the multiple.
    """
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for name in names:
        variant = experiment.variants[name]
        if variant.runtime.heap_multiple is not None:
            key = _without_multiple(variant)
            found[key] = (*found.get(key, ()), name)
    return list(found.values())


def fit_s(experiment: Experiment, names: tuple[str, ...], trial_s: float) -> float:
    """Return about how long it takes, in seconds. ``trial_s``: one trial under the load's own generator."""
    asked = tuple(asked_of(experiment, names))
    variants = [experiment.variants[name] for name in asked]
    held = {variant.runtime.memory_of for variant in variants} - {None}
    limits = sum(variant.runtime.memory_of is not None for variant in variants)
    searches = len(alike(experiment, asked))
    searches_s = searches * (SEARCH_TAKES_S + TRIALS_EACH * trial_s)
    return searches_s + (len(held) + 2 * limits) * (HOLD_S + START_TAKES_S)


def _without_multiple(variant: Variant) -> tuple[str, str]:
    runtime = variant.runtime.model_copy(update={"heap_max": None})
    return variant.implementation, variant.model_copy(
        update={"runtime": runtime, "label": None}
    ).model_dump_json()
