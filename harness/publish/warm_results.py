# SPDX-License-Identifier: Apache-2.0
"""Branches of results that all questions on services that were warmed up in windows have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.pairing import counting, inputs_of
from harness.evidence import Evidence
from harness.evidence.requests import labels_of, reference_of
from harness.evidence.results import of_ratios
from harness.evidence.warm import COMPILE_SHARE, RATE, ColdStart, Warm
from harness.model import Estimate, Experiment
from harness.publish.bounds import bound_in_words, bounded_sentence
from harness.publish.comparisons import comparison_notes, left_out_note, noise_results
from harness.publish.compiling import repeated_sentence
from harness.publish.load_sentence import load_sentence
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, Words, for_each, means
from harness.publish.warm_words import (
    CPU,
    THROUGHPUT,
    answer,
    cold_answer,
    seconds_in_words,
    until_warm,
    where,
)

#: branch -> column of the trials, at saturation
_SATURATED = {
    "throughput": "throughput_per_s",
    "cpu": "cpu_s_per_request",
    "memory": "rss_after_bytes",
    "first": "time_to_first_response_s",
}
#: the same at an equal rate
_AT_RATE = {"p50": "latency_p50_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request"}
_UNITS = {"throughput_per_s": "1/s", "cpu_s_per_request": "s/request", "rss_after_bytes": "B"}


def warm_tree(
    warm: Warm | None,
    definition: Experiment,
    *,
    also: Mapping[str, str] | None = None,
) -> dict[str, Tree | Leaf]:
    """Return what is said of every variant of the definition, measured or not.

    At saturation ``{throughput,cpu,memory,first}.mean.<variant>``, throughput per CPU of the service, and beside
    ``mean`` the comparison with the reference, with the noise of ``throughput``; ``at_rate.{p50,p99,cpu}`` likewise;
    ``cold.{seconds,requests,extra}.<variant>``, means over processes that settled, and ``cold.{until,used}.<variant>``
    in words; ``compiling.<variant>``; ``bound.{saturation,rate}.<variant>``; and the sentences ``answer``,
    ``answer_cpu``, ``answer_cold``, ``left_out``, ``bounded``, ``load`` and ``unavailable``.

    Args:
        also: further branches at saturation -> column of the trials.
    """
    saturated = {**_SATURATED, **(also or {})}
    evidence = None if warm is None else warm.evidence
    variants, reference = labels_of(evidence, definition), reference_of(evidence, definition)
    others = [name for name in variants if name != reference]
    found = {branch: () if warm is None else warm.compared(metric) for branch, metric in saturated.items()}
    at_rate = {
        branch: () if warm is None else warm.compared(metric, load=RATE)
        for branch, metric in _AT_RATE.items()
    }
    saturation = None if warm is None else warm.saturation
    rate = None if warm is None or warm.rate.empty else warm.rate
    tree: dict[str, Tree | Leaf] = {"name": variants}
    for branch, metric in saturated.items():
        tree[branch] = metric_branch(saturation, variants, others, metric, found[branch])
    tree["throughput"] = {**_branch_of(tree, "throughput"), **noise_results(found["throughput"], {})}
    tree["at_rate"] = {
        branch: metric_branch(rate, variants, others, metric, at_rate[branch])
        for branch, metric in _AT_RATE.items()
    }
    tree["cold"] = cold_branch({} if warm is None else warm.cold, variants)
    tree["compiling"] = compiling_branch(saturation, variants)
    tree["bound"] = {
        load: words_of_each(trials, variants, bound_in_words)
        for load, trials in (("saturation", saturation), ("rate", rate))
    }
    return {**tree, **_sentences(warm, variants, found)}


def _branch_of(tree: Mapping[str, Tree | Leaf], name: str) -> Tree:
    branch = tree[name]
    assert isinstance(branch, Mapping)
    return branch


def _sentences(
    warm: Warm | None, variants: Mapping[str, str], found: Mapping[str, Sequence[Comparison]]
) -> Mapping[str, Leaf]:
    if warm is None:
        return dict.fromkeys(
            ("answer", "answer_cpu", "answer_cold", "left_out", "bounded", "load", "unavailable", "place"),
            NO_TEXT,
        )
    place = where(warm.cpus, [*found["throughput"], *found["cpu"]])
    inputs = inputs_of(counting(warm.saturation))
    loaded = pd.concat([warm.saturation, warm.rate])
    said = {
        "answer": answer(found["throughput"], variants, THROUGHPUT, place),
        "answer_cpu": answer(found["cpu"], variants, CPU, place),
        "answer_cold": cold_answer(variants, warm.cold),
        "left_out": left_out_note([*found["throughput"], *found["cpu"]], variants),
        "bounded": bounded_sentence(warm.saturation),
        "load": " ".join(filter(None, (load_sentence(warm.evidence, loaded), repeated_sentence(loaded)))),
    }
    return {
        **{name: Words(text, inputs) if text else NO_TEXT for name, text in said.items()},
        "unavailable": unavailable_sentence(warm.evidence, variants),
        "place": place,
    }


def metric_branch(
    trials: pd.DataFrame | None,
    variants: Mapping[str, str],
    others: Sequence[str],
    metric: str,
    found: Sequence[Comparison],
) -> Tree:
    """Return the means of a metric as ``mean.<variant>``, of the trials that its ratio is of, and beside it the
    comparisons of ``others``."""
    absent = Absent(unit=_UNITS.get(metric, "s"))
    if trials is None:
        mean = for_each(variants, {}, absent)
    else:
        mean = means(of_ratios(trials, found, ["variant"]), variants, metric)
    return {"mean": mean, **compared(others, found)}


def compared(others: Sequence[str], found: Sequence[Comparison]) -> Mapping[str, Leaf]:
    """Return the comparison of each of ``others``."""
    return for_each(others, {one.variant: one for one in found}, NO_COMPARISON)


def cold_branch(cold: Mapping[str, ColdStart], variants: Mapping[str, str]) -> Tree:
    """Return what becoming warm took: ``{seconds,requests,extra}.<variant>``, means over processes that settled, and
    ``{until,used,settled}.<variant>`` in words."""

    def numbers(what: Callable[[ColdStart], Estimate | None], unit: str) -> Mapping[str, Leaf]:
        return for_each(
            variants, {name: what(one) for name, one in cold.items()}, Absent(unit=unit, why=_why(cold))
        )

    def words(what: Callable[[ColdStart], str | None]) -> Mapping[str, Leaf]:
        return for_each(variants, {name: _words(what(one), one) for name, one in cold.items()}, NO_TEXT)

    return {
        "seconds": numbers(lambda one: one.seconds, "s"),
        "requests": numbers(lambda one: one.n_requests, "1"),
        "extra": numbers(lambda one: one.extra_cpu_s, "s"),
        "until": words(until_warm),
        "used": words(lambda one: seconds_in_words(one.extra_cpu_s)),
        "settled": words(lambda one: f"{one.n_settled} of {one.n}"),
    }


def _why(cold: Mapping[str, ColdStart]) -> str:
    return "no process settled" if cold else Absent().why


def _words(text: str | None, cold: ColdStart) -> Words | None:
    inputs = () if cold.seconds is None else cold.seconds.inputs
    return None if text is None else Words(text, inputs)


def compiling_branch(trials: pd.DataFrame | None, variants: Mapping[str, str]) -> Mapping[str, Leaf]:
    """JIT compilers at work, over the length of the measurement; none: the program has no such compiler."""
    if trials is None:
        return for_each(variants, {}, Absent(unit="share"))
    told = means(trials.dropna(subset=[COMPILE_SHARE]), variants, COMPILE_SHARE)
    there = set(trials["variant"])
    return {
        name: Absent(unit="share", why="it has no JIT compiler")
        if isinstance(leaf, Absent) and name in there
        else leaf
        for name, leaf in told.items()
    }


def words_of_each(
    trials: pd.DataFrame | None, variants: Mapping[str, str], say: Callable[[pd.DataFrame], str]
) -> Mapping[str, Leaf]:
    """Return what ``say`` says of the kept trials of each variant."""
    if trials is None:
        return for_each(variants, {}, NO_TEXT)
    found = {
        str(name): Words(say(mine), inputs_of(mine)) for name, mine in counting(trials).groupby("variant")
    }
    return for_each(variants, found, NO_TEXT)


def unavailable_sentence(evidence: Evidence, variants: Mapping[str, str]) -> str:
    """Return which variants could not be had, and why; ``none``."""
    gone = [one for one in evidence.header.unavailable if one.variant in variants]
    return "; ".join(f"{variants[one.variant]}: {one.reason}" for one in gone) or "none"


def notes(warm: Warm | None) -> list[str]:
    """Return the notes on the ratios of throughput: what is not about the services, p-values and margin."""
    return [] if warm is None else comparison_notes(warm.compared("throughput_per_s"), warm.evidence.variants)
