# SPDX-License-Identifier: Apache-2.0
"""Warm services loaded at the same time as the reference, on halves of the machine that are exchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence import Evidence
from harness.evidence.other_sessions import other_machine
from harness.evidence.requests import labels_of, reference_of
from harness.model import Estimate, Experiment
from harness.model.formatting import show
from harness.publish.duets import beside_itself
from harness.publish.range_words import in_a_range, labelled
from harness.publish.results import NO_TEXT, Absent, Leaf, Tree, Words, for_each, means
from harness.publish.session_agreement import agreement_text
from harness.publish.warm_results import compared

METRICS = {"throughput": "throughput_per_s", "cpu": "cpu_s_per_request"}


def duet_results(evidence: Evidence | None, definition: Experiment, *, apart: Evidence | None = None) -> Tree:
    """Return ``duet.{throughput,cpu}.<variant>``, the comparison with the partner of each trial,
    ``duet.equal.{throughput,cpu}.{ratio,finds}`` of the reference beside itself, ``duet.cost.<variant>``, the mean CPU
    time per request, ``duet.short``, the range of its ratios in words, and ``duet.agreement``, with other sessions;
    measured or not.

    ``apart``: the session whose services had CPUs of their own; the sentence says when its machine was another one.
    """
    variants, reference = labels_of(evidence, definition), reference_of(evidence, definition)
    others = [name for name in variants if name != reference]
    found = {
        branch: () if evidence is None else tuple(compare(evidence.trials, metric, reference=reference))
        for branch, metric in METRICS.items()
    }
    equal = {branch: beside_itself(evidence, metric) for branch, metric in METRICS.items()}
    cost = (
        for_each(variants, {}, Absent(unit="s"))
        if evidence is None
        else means(evidence.trials, variants, METRICS["cpu"])
    )
    return {
        "duet": {
            **{branch: compared(others, told) for branch, told in found.items()},
            "equal": equal,
            "cost": cost,
            "short": _short(
                found["cpu"], equal["cpu"], cost, variants, reference, _elsewhere(evidence, apart)
            )
            or NO_TEXT,
            "agreement": agreement_text(evidence, variants),
        }
    }


def _short(
    found: Sequence[Comparison],
    equal: Tree,
    cost: Mapping[str, Leaf],
    variants: Mapping[str, str],
    reference: str,
    elsewhere: str,
) -> Words | None:
    """The range of the ratios of CPU time per request, the reference beside itself, and what a request cost it."""
    told, ratio, own = in_a_range(labelled(found, variants)), equal["ratio"], cost.get(reference)
    if not told or not (isinstance(ratio, Estimate) and isinstance(own, Estimate)):
        return None
    name = variants[reference]
    text = (
        f"In a session of {found[0].n_blocks} blocks in which each service ran at the same time as {name}, each with "
        f"its generator on half of the cores, the ratio of CPU time per request is {told}. {name} beside itself: "
        f"{show(ratio, rounded=True).interval}. A request cost {name} {show(own, rounded=True).interval} "
        f"there{elsewhere}."
    )
    inputs = [path for one in found for path in one.ratio.inputs]
    return Words(text, tuple(dict.fromkeys(inputs)))


def _elsewhere(evidence: Evidence | None, apart: Evidence | None) -> str:
    machine = None if evidence is None or apart is None else other_machine(apart, evidence)
    return "" if machine is None else f", on another machine ({machine})"
