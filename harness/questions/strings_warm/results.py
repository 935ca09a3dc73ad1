# SPDX-License-Identifier: Apache-2.0
"""What README and paper say of string services that have warmed up: ratios, means, cold starts, and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.detectable import PowerCurve, power_curve
from harness.analysis.stats.pairing import counting, inputs_of
from harness.analysis.stats.rank_intervals import rank_intervals
from harness.evidence.requests import reference_of
from harness.evidence.warm import Warm
from harness.model import Experiment
from harness.publish.detectable import detectable_tree
from harness.publish.findings import FINDING, NO_FINDING, Phrase, comparisons_in, finding
from harness.publish.range_words import range_leaf
from harness.publish.results import NO_TEXT, Tree, Words, for_each
from harness.publish.session_agreement import agreement_text
from harness.publish.warm_results import compared, warm_tree
from harness.publish.warm_words import where
from harness.questions.strings_warm.short_answer import PARTS, answers, language_name, price


def results(warm: Warm | None, definition: Experiment, *, tuned: Warm | None = None) -> Tree:
    """Return what is said of every variant of the definition, measured or not: the tree of ``warm_tree``.

    Beside it ``tuned.{throughput,cpu}``, comparisons of tuned programs, ``rank.<variant>`` in throughput, and the
    sentences ``brief.{warm,memory,cold}``, ``cpu_range`` (the smallest and the largest ratio of CPU time per request),
    ``price`` (memory and cold starts) and ``agreement``, with other sessions; ``detectable``: the smallest ratios that
    so many blocks tell from 1; ``finding``: title, take-away and how sure, of throughput.
    """
    variants, reference = definition.labels, reference_of(None if warm is None else warm.evidence, definition)
    others = [name for name in variants if name != reference]
    tree, brief = warm_tree(warm, definition), _brief(warm, variants)
    return {
        **tree,
        FINDING: NO_FINDING if warm is None else _finding(warm, tree, variants[reference]),
        "tuned": {
            branch: compared(others, () if tuned is None else tuned.compared(metric))
            for branch, metric in (("throughput", "throughput_per_s"), ("cpu", "cpu_s_per_request"))
        },
        "rank": for_each(variants, _ranks(warm), NO_TEXT),
        "brief": for_each(PARTS, brief, NO_TEXT),
        "cpu_range": range_leaf("The ratio of CPU time per request", comparisons_in(tree["cpu"]), variants),
        "price": _price(warm, variants) or NO_TEXT,
        "detectable": detectable_tree(_curves(warm), variants),
        "agreement": agreement_text(None if warm is None else warm.evidence, variants),
    }


def _finding(warm: Warm, tree: Tree, reference: str) -> Tree:
    """Throughput of the services in another language than the reference's, and what bounded their trials."""
    languages = languages_of(warm)
    names = _of_another_language(warm)
    who = " and ".join(dict.fromkeys(language_name(languages[name]) for name in names))
    bounded = tree["bounded"]
    return finding(
        comparisons_in(tree["throughput"], names),
        Phrase(
            who=f"warm {who} services",
            more=f"answer more requests per second than {reference}",
            less=f"answer fewer requests per second than {reference}",
            more_short="more",
            less_short="fewer",
        ),
        sure=(bounded.text if isinstance(bounded, Words) else "",),
    )


def _of_another_language(warm: Warm) -> list[str]:
    """The variants in another language than the reference's."""
    languages = languages_of(warm)
    own = languages.get(warm.evidence.reference)
    return [name for name, language in languages.items() if language != own]


def languages_of(warm: Warm) -> Mapping[str, str]:
    """Return variant -> the language of its program."""
    trials = warm.saturation
    return dict(zip(trials["variant"].astype(str), trials["language"].astype(str), strict=True))


def _brief(warm: Warm | None, variants: Mapping[str, str]) -> Mapping[str, Words]:
    """The parts of the answer that say something."""
    if warm is None:
        return {}
    trials = warm.saturation
    said = answers(
        warm.compared("throughput_per_s"),
        warm.compared("rss_after_bytes"),
        warm.cold,
        variants,
        languages_of(warm),
        place=where(warm.cpus),
        heaps=_heaps(warm),
    )
    inputs = inputs_of(counting(trials))
    return {part: Words(text, inputs) for part, text in said.items() if text}


def _price(warm: Warm | None, variants: Mapping[str, str]) -> Words | None:
    """What the services in another language than the reference's took in memory and from a cold start."""
    if warm is None:
        return None
    names = _of_another_language(warm)
    if not names:
        return None
    said = price(
        warm.compared("rss_after_bytes"), warm.cold, names, variants, heaps=_heaps(warm),
        who=f"the {language_name(languages_of(warm)[names[0]])} services",
    )  # fmt: skip
    return Words(said, inputs_of(counting(warm.saturation))) if said else None


def _heaps(warm: Warm) -> list[str]:
    """The largest heaps that variants were allowed, each once."""
    variants = warm.evidence.header.experiment.variants.values()
    return list(dict.fromkeys(one.runtime.heap_max for one in variants if one.runtime.heap_max is not None))


def _ranks(warm: Warm | None) -> Mapping[str, Words]:
    """The rank interval of each variant in throughput, among those whose throughput speaks of the service."""
    if warm is None:
        return {}
    refused = {one.variant for one in warm.compared("throughput_per_s") if one.not_about is not None}
    trials = warm.saturation[~warm.saturation["variant"].isin(refused)]
    inputs = inputs_of(counting(trials))
    found = rank_intervals(trials, "throughput_per_s", higher_is_better=True)
    return {one.variant: Words(one.text, inputs) for one in found if one.n_variants > 1}


def _curves(warm: Warm | None) -> dict[str, Sequence[PowerCurve]]:
    """Branch -> what blocks like those at saturation tell; of what was not measured, nothing."""
    metrics = {"throughput": "throughput_per_s", "cpu": "cpu_s_per_request", "memory": "rss_after_bytes"}
    return {
        branch: ()
        if warm is None or warm.saturation[metric].isna().all()
        else power_curve(warm.saturation, metric, reference=warm.evidence.reference)
        for branch, metric in metrics.items()
    }


def quantities(warm: Warm) -> Mapping[str, Sequence[Comparison]]:
    """Return what the headline's figure shows: name of a quantity -> its comparisons at saturation."""
    return {
        "throughput per core": warm.compared("throughput_per_s"),
        "CPU time per request": warm.compared("cpu_s_per_request"),
        "memory after the load": warm.compared("rss_after_bytes"),
    }
