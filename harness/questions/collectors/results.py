# SPDX-License-Identifier: Apache-2.0
"""What README and paper say of collectors: means by memory, least heaps, and the memory that is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.attribution.memory_labels import memory_fit, memory_words
from harness.analysis.stats.comparisons import Comparison
from harness.evidence.requests import labels_of
from harness.evidence.warm import Warm
from harness.model import Experiment, LeastHeap
from harness.model.digits import whole_percent
from harness.model.formatting import ratio_words, show, verdict_words
from harness.model.phrases import capital
from harness.publish.findings import FINDING, Phrase, finding
from harness.publish.memory_words import asked_words, least_words
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, Words, for_each
from harness.publish.warm_results import warm_tree
from harness.publish.warm_words import CPU, answer
from harness.questions.collectors.analysis import (
    ENOUGH_SHARE,
    Enough,
    enough,
    family_of,
    memory_ratio,
    unlike_only_in_build,
)

_LANGUAGES = ("go", "java")
_PHRASE = Phrase(
    who="Java services",
    more="need more memory than Go to come near their best throughput",
    less="need less memory than Go to come near their best throughput",
    more_short="larger",
    less_short="smaller",
    one="the memory that Java needs to come near its best throughput is {} than Go's",
)


def results(warm: Warm | None, definition: Experiment) -> Tree:
    """Return what is said of every variant of the definition, measured or not: the tree of ``warm_tree``, and

    ``p99``, at saturation; ``setting.<variant>``: what bounded its memory; ``least`` and ``least_load``: least heaps
    and limits, and how they were searched; ``enough.{with,memory,share}.{go,java}``: the variant with the least memory
    that holds 95 % of the best throughput of its language, and ``enough.java``, Java's memory over Go's; and the
    sentences ``answer_memory`` and ``answer_former``, on the collector that Go had before; ``finding``: title,
    take-away and how sure, of the memory that is enough.
    """
    variants = labels_of(None if warm is None else warm.evidence, definition)
    fit = None if warm is None else memory_fit(warm.evidence.header)
    found = {language: enough(warm, language) for language in _LANGUAGES}
    ratio = memory_ratio(warm, found["java"], found["go"])
    settings = {} if warm is None else _settings(warm, variants)
    searched = fit is not None and bool(fit.least)
    return {
        **warm_tree(warm, definition, also={"p99": "latency_p99_s"}),
        FINDING: _finding(warm, found, ratio),
        "setting": for_each(variants, settings, NO_TEXT),
        "least": least_words(fit, lambda one: _family(warm, one)) if warm and fit and searched else NO_TEXT,
        "least_load": asked_words(fit) if fit and searched else NO_TEXT,
        "enough": {
            "java": ratio or NO_COMPARISON,
            "with": for_each(_LANGUAGES, {name: _name(warm, one) for name, one in found.items()}, NO_TEXT),
            "memory": for_each(
                _LANGUAGES, {name: one.memory for name, one in found.items() if one}, Absent(unit="B")
            ),
            "share": for_each(
                _LANGUAGES,
                {name: one.share for name, one in found.items() if one},
                Absent(why="the best itself" if warm is not None else Absent().why),
            ),
        },
        "answer_memory": _answer_memory(warm, found, ratio) or NO_TEXT,
        "answer_former": _answer_former(warm, variants) or NO_TEXT,
    }


def _finding(warm: Warm | None, found: Mapping[str, Enough | None], ratio: Comparison | None) -> Tree:
    """What the memory that is enough is for Java over that for Go; or that it is not known, as more gave more."""
    told = finding([ratio], _PHRASE)
    rising = _rising(found)
    answered = _answer_memory(warm, found, ratio)
    if not rising or answered is None:
        return told
    title = f"no memory that was measured is shown to be enough for {' and '.join(rising)}"
    return {**told, "title": Words(capital(title), answered.inputs), "takeaway": answered}


def _rising(found: Mapping[str, Enough | None]) -> list[str]:
    """The languages whose throughput was still rising with the most memory that was measured."""
    return [name.capitalize() for name, one in found.items() if one is not None and one.rising]


def _settings(warm: Warm, variants: Mapping[str, str]) -> Mapping[str, Leaf | None]:
    there = set(warm.saturation["variant"])
    return {name: memory_words(warm.evidence.header, name) for name in variants if name in there}


def _family(warm: Warm | None, found: LeastHeap) -> str:
    assert warm is not None  # a search belongs to a session
    return family_of(warm.evidence.header.experiment.variants[found.variants[0]])


def _name(warm: Warm | None, found: Enough | None) -> str | None:
    """``Java Helidon SE with G1, 6x (6x: 84 MiB)``."""
    if warm is None or found is None:
        return None
    header = warm.evidence.header
    variant = header.experiment.variants[found.variant]
    program = header.implementations[variant.implementation]
    label = (variant.label or found.variant).removeprefix("Go, ")
    setting = memory_words(header, found.variant)
    size = "" if setting is None or setting == label else f" ({setting.partition(': ')[2] or setting})"
    return f"{program.language.capitalize()} {program.framework} with {label}{size}"


def _answer_memory(
    warm: Warm | None, found: Mapping[str, Enough | None], ratio: Comparison | None
) -> Words | None:
    """The memory that is enough for each language, their ratio with its verdict, and what is called enough."""
    java, go = found["java"], found["go"]
    if warm is None or ratio is None or java is None or go is None:
        return None
    words = verdict_words(ratio)
    held = [show(one.memory, rounded=True).interval for one in (java, go)]
    names = [_name(warm, one) or one.variant for one in (java, go)]
    mix = warm.evidence.header.experiment.mix
    if rising := _rising(found):
        who = " and ".join(rising)
        return Words(
            f"What memory is enough for {who} is not known: throughput was still rising at the largest one that was "
            f"measured. {names[0]} held {held[0]}, and {names[1]} {held[1]}, a ratio of "
            f"{ratio_words(ratio, rounded=True)} over {ratio.n_blocks} blocks; these are the settings with the "
            f"least resident memory and {whole_percent(ENOUGH_SHARE)} of the best throughput of their language, with "
            f"the request mix {mix}.",
            ratio.ratio.inputs,
        )
    said = (
        f"The memory that is enough for Java is {words} Go's: {held[0]} against {held[1]}, a ratio of "
        f"{ratio_words(ratio, rounded=True)} over {ratio.n_blocks} blocks. "
        f"Enough is the least resident memory, of the settings that were measured, with {whole_percent(ENOUGH_SHARE)} "
        f"of a language's best throughput, with the request mix {mix}: {names[0]}, and {names[1]}."
    )
    return Words(said, ratio.ratio.inputs)


def _answer_former(warm: Warm | None, variants: Mapping[str, str]) -> Words | None:
    """What the collector that Go had before costs in CPU time per request, with the same growth rule."""
    if warm is None:
        return None
    names = unlike_only_in_build(warm)
    found: Sequence[Comparison] = [one for one in warm.compared("cpu_s_per_request") if one.variant in names]
    said = answer(found, variants, CPU, "with the same growth rule")
    return Words(said, found[0].ratio.inputs) if said else None
