# SPDX-License-Identifier: Apache-2.0
"""What the paper says of releases and of virtual threads: each over the same program, and which one that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison
from harness.definitions import load_study
from harness.evidence.requests import reference_of
from harness.evidence.warm import Warm
from harness.model import Experiment
from harness.project import find_root
from harness.publish.comparisons import comparison_notes
from harness.publish.findings import FINDING, Phrase, finding
from harness.publish.results import NO_COMPARISON, NO_TEXT, Leaf, Tree, Words, for_each
from harness.publish.warm_results import compared as branch_of
from harness.publish.warm_results import warm_tree
from harness.publish.warm_words import CPU, THROUGHPUT, answer, where
from harness.questions.runtimes.analysis import Kind, compared, pairs

_METRICS = {
    "throughput": "throughput_per_s",
    "cpu": "cpu_s_per_request",
    "memory": "rss_after_bytes",
    "first": "time_to_first_response_s",
}
_PHRASE = Phrase(
    who="newer releases of a runtime",
    more="answer more requests per second than the oldest one measured",
    less="answer fewer requests per second than the oldest one measured",
    more_short="more",
    less_short="fewer",
)
_KINDS: tuple[Kind, ...] = ("release", "threads")


def results(warm: Warm | None, experiment: str) -> Tree:
    """Return what is said of every variant of the definition, measured or not: the tree of ``warm_tree``, and

    ``release.{throughput,cpu,memory,first}.<variant>``: over the oldest release of the same program that was measured;
    ``threads.<metric>.<variant>``: over the same program on the same release as it waits by default;
    ``over.{release,threads}.<variant>``: what each is over; ``version.<variant>``: what ran or built it; and the
    sentences ``answer_release``, ``answer_release_cpu``, ``answer_threads`` and ``answer_threads_cpu``; ``finding``:
    title, take-away and how sure, of the throughput by release.
    """
    defined = load_study(find_root(), experiment).experiment
    variants = defined.labels
    tree: dict[str, Tree | Leaf] = dict(warm_tree(warm, defined))
    found = {
        kind: {part: compared(warm, kind, metric) for part, metric in _METRICS.items()} for kind in _KINDS
    }
    for kind in _KINDS:
        names = _names(defined.variants, pairs(defined, kind))
        tree[kind] = {
            part: for_each(names, {one.variant: one for one in mine}, NO_COMPARISON)
            for part, mine in found[kind].items()
        }
        tree[f"answer_{kind}"] = _answer(warm, variants, found[kind]["throughput"]) or NO_TEXT
        tree[f"answer_{kind}_cpu"] = _answer(warm, variants, found[kind]["cpu"], of_cpu=True) or NO_TEXT
    tree[FINDING] = finding(found["release"]["throughput"], _PHRASE)
    tree["version"] = for_each(variants, {} if warm is None else _versions(warm), NO_TEXT)
    tree["over"] = {
        kind: for_each(
            _names(defined.variants, pairs(defined, kind)),
            {one.variant: variants[one.reference] for one in found[kind]["throughput"]},
            NO_TEXT,
        )
        for kind in _KINDS
    }
    return tree


def poller_results(warm: Warm | None, definition: Experiment) -> Tree:
    """Return how much of what a release changed is its pollers': ``{throughput,cpu}.<variant>`` with those of the
    older one over the release as it is, measured or not; and ``name.<variant>``."""
    reference = reference_of(None if warm is None else warm.evidence, definition)
    others = [name for name in definition.variants if name != reference]
    return {
        "name": definition.labels,
        **{
            branch: branch_of(others, () if warm is None else warm.compared(metric))
            for branch, metric in (("throughput", "throughput_per_s"), ("cpu", "cpu_s_per_request"))
        },
    }


def notes(warm: Warm | None) -> list[str]:
    """Return the notes on the ratios over the oldest release: what is not about the services, and p-values."""
    return comparison_notes(
        compared(warm, "release", "throughput_per_s"), {} if warm is None else warm.evidence.variants
    )


def _versions(warm: Warm) -> Mapping[str, str]:
    """Return variant -> the JDK that ran it with its vendor, or the Go release that built it."""
    found: dict[str, str] = {}
    for row, _, record in warm.evidence.with_records():
        if record.instance is not None and record.instance.runtime_version:
            found.setdefault(str(row["variant"]), record.instance.runtime_version)
    return found


def _names(variants: Mapping[str, object], told: Mapping[str, str]) -> list[str]:
    """Every variant that is compared with any, whichever was measured: also who is the oldest one here."""
    return [name for name in variants if name in told or name in told.values()]


def _answer(
    warm: Warm | None, labels: Mapping[str, str], found: Sequence[Comparison], *, of_cpu: bool = False
) -> Words | None:
    """A sentence for each program that others are compared with."""
    if warm is None or not found:
        return None
    groups: dict[str, list[Comparison]] = {}
    for one in found:
        groups.setdefault(one.reference, []).append(one)
    quantity = CPU if of_cpu else THROUGHPUT
    said = " ".join(answer(group, labels, quantity, where(warm.cpus)) for group in groups.values())
    inputs = tuple(dict.fromkeys(trial for one in found for trial in one.ratio.inputs))
    return Words(said, inputs)
