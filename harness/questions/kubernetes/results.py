# SPDX-License-Identifier: Apache-2.0
"""What the paper says of a cluster: the articles' third round, scaling out by three clocks, and CPU limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import cast

import pandas as pd

from harness.analysis.stats.pairing import counting, inputs_of
from harness.evidence.load_response import effect_between
from harness.evidence.runtime_cpus import goes_by
from harness.model.digits import plain
from harness.model.formatting import show
from harness.publish.bounds import bounded, bounds
from harness.publish.comparisons import comparison_notes
from harness.publish.compiling import compiling
from harness.publish.findings import FINDING, Phrase, finding
from harness.publish.leaves import each, mean_of, means
from harness.publish.load_sentence import load_sentence
from harness.publish.metric_words import metric_name
from harness.publish.results import NO_COMPARISON, NO_TEXT, Leaf, Tree, Words, for_each
from harness.questions.kubernetes.analysis import (
    CPU,
    FACTORS,
    LATENCY,
    SERVED,
    TAIL,
    THROUGHPUT,
    Clustered,
    counted,
)
from harness.questions.kubernetes.images import image_results, published_whole

_PHRASE = Phrase(
    who="cells of a Java service in pods",
    more="have more right answers per second than Go in the same cell",
    less="have fewer right answers per second than Go in the same cell",
    more_short="more",
    less_short="fewer",
)
#: Of a rate that was offered, at which every service has the same throughput.
_AT_RATE = Phrase(
    who="cells of a Java service in pods",
    more="take longer to answer on average, at the same rate, than Go in the same cell",
    less="take less time to answer on average, at the same rate, than Go in the same cell",
    more_short="longer",
    less_short="less time",
)
#: experiment -> part of the key -> column
_MEANS: Mapping[str, Mapping[str, str]] = {
    "rounds": {"throughput": THROUGHPUT, "p99": TAIL, "cpu": CPU, "least_share": "least_pod_share"},
    "scale": {
        "process": "last_pod_process_s",
        "event": "last_pod_event_s",
        "condition": "last_pod_condition_s",
        "served": SERVED,
        "routed": "last_pod_routed_s",
        "events_lost": "pod_events_lost",
    },
    "limits": {
        "throughput": THROUGHPUT,
        "latency": LATENCY,
        "p99": TAIL,
        "cpu": CPU,
        "throttled": "service_throttled_s",
    },
}
_LEADS = {"rounds": THROUGHPUT, "scale": SERVED, "limits": THROUGHPUT}
#: Under a rate that was offered, what of ``rounds`` is compared in place of throughput, which is that rate.
_LEAD_AT_RATE = CPU
#: experiment -> part of the key -> column: further ratios over the reference
_ALSO: Mapping[str, Mapping[str, str]] = {"limits": {"cpu_lead": CPU, "latency_lead": LATENCY}}


def results(found: Mapping[str, Clustered | None], variants: Mapping[str, str]) -> Tree:
    """Return what is said of every variant of the definitions, measured or not.

    ``found``: ``rounds``, ``scale`` and ``limits`` -> what was measured of each. For each of them
    ``<part>.<levels>.<variant>``, the means; ``lead.<levels>.<variant>``, over the reference, of the time until the
    last pod served, of throughput, or of CPU time per request where a rate was offered (``lead_of`` says which); of
    ``limits`` also ``cpu_lead`` and ``latency_lead``, and ``denied.<levels>.<variant>``, in words for how long;
    ``goes_by.<levels>.<variant>``, CPUs and collector as the runtime says them, ``bound.<levels>.<variant>``,
    ``counted``, ``bounded``, ``compiling``, ``load``, ``unavailable`` and ``cluster`` in words.
    ``image.<part>.<variant>``: see ``images.py``; ``whole_image``: the published one that has no counterpart.
    ``boost.<variant>``: the time until the last of ten pods served, with a boost over without. ``finding``: title,
    take-away and how sure, of all cells of ``rounds``: of throughput, or of mean latency where a rate was offered.
    """
    return {
        "name": variants,
        FINDING: _finding(found.get("rounds")),
        "image": image_results(found, variants),
        "whole_image": published_whole(),
        "boost": _boost(found.get("scale"), variants),
        **{word: _experiment(word, found.get(word), variants) for word in FACTORS},
    }


def _finding(rounds: Clustered | None) -> Tree:
    if rounds is None:
        return finding([], _PHRASE)
    at_rate = _at_rate(rounds)
    return finding(
        list(rounds.compared(LATENCY if at_rate else THROUGHPUT)), _AT_RATE if at_rate else _PHRASE
    )


def _at_rate(one: Clustered) -> bool:
    return bool((one.trials["load_model"] == "open").all())


def _lead(one: Clustered) -> str:
    return _LEAD_AT_RATE if one.word == "rounds" and _at_rate(one) else _LEADS[one.word]


def lead_of(one: Clustered | None) -> str:
    """Return what the ratios to Go are of, in words; nothing was measured: throughput."""
    return metric_name(THROUGHPUT if one is None else _lead(one))


def _boost(scale: Clustered | None, variants: Mapping[str, str]) -> Mapping[str, Leaf]:
    """The time until the last of ten pods serves, with more CPU until then, over that without."""
    trials = None if scale is None else scale.trials
    found = {
        name: effect_between(trials, "pods", SERVED, variant=name, base="ten", other="boosted")
        for name in variants
    }
    return for_each(variants, found, NO_COMPARISON)


def notes(one: Clustered | None) -> list[str]:
    """Return the notes on an experiment's ratios: what is not about the services, p-values and margin."""
    if one is None:
        return []
    metrics = _ALSO.get(one.word, {"lead": _lead(one)}).values()
    return comparison_notes(
        [each for metric in metrics for each in one.compared(metric)], one.evidence.variants
    )


def _experiment(word: str, one: Clustered | None, variants: Mapping[str, str]) -> Tree:
    def lead(metric: str) -> Callable[[Mapping[str, str]], Mapping[str, Leaf]]:
        compared = () if one is None else one.compared(metric)
        leads = {(*(c.levels[factor] for factor in FACTORS[word]), c.variant): c for c in compared}
        return lambda levels: {name: leads.get((*levels.values(), name), NO_COMPARISON) for name in variants}

    def mean(column: str) -> Callable[[Mapping[str, str]], Mapping[str, Leaf]]:
        return lambda levels: means(_cell(one, levels), variants, column)

    def found_by(levels: Mapping[str, str]) -> Mapping[str, Leaf]:
        return each(_cell(one, levels), variants, _goes_by, NO_TEXT)

    def denied(levels: Mapping[str, str]) -> Mapping[str, Leaf]:
        return each(_cell(one, levels), variants, denied_words, NO_TEXT)

    return {
        **{part: _by_levels(word, mean(column)) for part, column in _MEANS[word].items()},
        **{
            part: _by_levels(word, lead(column))
            for part, column in {
                "lead": _LEADS[word] if one is None else _lead(one),
                **_ALSO.get(word, {}),
            }.items()
        },
        **(
            {"goes_by": _by_levels(word, found_by), "denied": _by_levels(word, denied)}
            if word == "limits"
            else {}
        ),
        "bound": _by_levels(word, lambda levels: bounds(_cell(one, levels), variants)),
        "bounded": bounded(None if one is None else one.trials),
        "compiling": compiling(None if one is None else one.trials),
        **_sentences(one, variants),
    }


def _goes_by(trials: pd.DataFrame) -> Leaf:
    said = goes_by(trials)
    return Words(said, inputs_of(trials)) if said else NO_TEXT


def denied_words(trials: pd.DataFrame) -> Leaf:
    """For how long the CPU limit held a pod back during its load."""
    found = mean_of(trials, _MEANS["limits"]["throttled"])
    if found.value is None:
        return NO_TEXT
    said = f"was denied CPU for {show(found).interval}" if found.value else "was never denied CPU"
    return Words(said, found.inputs)


def _cell(one: Clustered | None, levels: Mapping[str, str]) -> pd.DataFrame | None:
    """The kept trials at these levels; ``None``: none was measured."""
    if one is None:
        return None
    trials = counting(one.at(levels))
    return None if trials.empty else trials


def _by_levels(word: str, leaves: Callable[[Mapping[str, str]], Mapping[str, Leaf]]) -> Tree:
    """Return level of the first factor -> of the second ... -> variant -> leaf."""
    made: dict[str, object] = {}
    for levels in _combinations(word):
        *outer, last = levels.values()
        branch = made
        for level in outer:
            branch = cast("dict[str, object]", branch.setdefault(level, {}))
        branch[last] = leaves(levels)
    return cast(Tree, made)


def _combinations(word: str) -> Iterator[Mapping[str, str]]:
    factors = FACTORS[word]
    for levels in product(*factors.values()):
        yield dict(zip(factors, levels, strict=True))


def _sentences(one: Clustered | None, variants: Mapping[str, str]) -> Mapping[str, Leaf]:
    if one is None:
        return dict.fromkeys(("counted", "load", "unavailable", "cluster"), NO_TEXT)
    gone = [
        each for each in one.evidence.header.unavailable if each.variant in variants or "=" in each.variant
    ]
    inputs = inputs_of(counting(one.trials))
    load = load_sentence(one.evidence, one.trials) if one.trials["load_name"].notna().any() else ""
    return {
        "counted": Words(said, inputs) if (said := _counted_words(one)) else NO_TEXT,
        "load": Words(load, inputs) if load else NO_TEXT,
        "unavailable": "; ".join(
            f"{variants.get(each.variant, each.variant.replace('=', ' '))}: {each.reason}" for each in gone
        )
        or "none",
        "cluster": _cluster_words(one) or NO_TEXT,
    }


def _counted_words(one: Clustered) -> str:
    found = counted(one.trials)
    if found is None:
        return ""
    total = plain(found.n_requests)
    if found.n_equal == found.n_trials:
        return (
            f"In all {found.n_trials} trials the pods together counted as many requests as the generator, {total} in "
            "all."
        )
    return (
        f"In {found.n_equal} of {found.n_trials} trials the pods together counted as many requests as the generator, "
        f"and elsewhere {plain(found.most_apart)} more or fewer at most, of {total} in all."
    )


def _cluster_words(one: Clustered) -> str:
    """The cluster as the newest record that has one describes it: versions, and how services are routed."""
    for _, _, record in one.evidence.with_records():
        around = None if record.instance is None else record.instance.kubernetes
        if around is not None:
            mode = around.proxy_mode or "not said"
            return f"Kubernetes {around.server} ({around.node}; kube-proxy: {mode})"
    return ""


__all__ = ["lead_of", "notes", "results"]
