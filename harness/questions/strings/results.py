# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the string services: rates and times, a log line, a warm-up, and the size of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence import Evidence
from harness.publish.findings import Phrase, finding
from harness.publish.results import NO_COMPARISON, NO_TEXT, Tree, for_each, means
from harness.questions.strings.headline import cell_in_words

_PHRASE = Phrase(
    who="services under the published load",
    more="answer more requests per second than the reference",
    less="answer fewer requests per second than the reference",
    more_short="more",
    less_short="fewer",
    none="under the published load, no ratio of throughputs is about the services",
)
_SIZES = ("128", "8192")


def payload_sizes(payload: Evidence | None) -> tuple[Comparison, ...]:
    """Compare throughput in the closed loop with the reference, for each size of the text."""
    if payload is None:
        return ()
    closed = payload.cell(loop="closed")
    return tuple(compare(closed, "throughput_per_s", reference=payload.reference, by=["payload"]))


def finding_of(found: Sequence[Comparison], main: Mapping[str, str]) -> Tree:
    """Return ``title``, ``takeaway`` and ``sure`` of the throughput over the reference's in the main cell."""
    return finding([one for one in found if one.levels == dict(main)], _PHRASE)


def results(evidence: Evidence, main: Mapping[str, str], sizes: Sequence[Comparison]) -> Tree:
    """Return means of the main cell, effects of a log line and of a warm-up, and ratios by size of the text.

    ``throughput.rate.<variant>``, ``latency.mean.<variant>``, ``cpu.mean.<variant>``, ``main_cell`` in words,
    ``{logging,warm_up}.<variant>``: the other level over none, within a variant; ``payload.sizes`` in words, and
    ``payload.bytes_<size>.<variant>``: throughput over the reference.
    """
    trials, variants = evidence.cell(**main), evidence.variants
    others = [name for name in variants if name != evidence.reference]

    def effects(factor: str, **levels: str) -> Tree:
        found = {
            name: evidence.effect_of(factor, "throughput_per_s", variant=name, **levels) for name in variants
        }
        return for_each(variants, found, NO_COMPARISON)

    def of_size(size: str) -> Tree:
        found = {one.variant: one for one in sizes if one.levels["payload"] == size}
        return for_each(dict.fromkeys((*others, *found)), found, NO_COMPARISON)

    return {
        "throughput": {"rate": means(trials, variants, "throughput_per_s")},
        "latency": {"mean": means(trials, variants, "latency_mean_s")},
        "cpu": {"mean": means(trials, variants, "cpu_s_per_request")},
        "main_cell": cell_in_words(evidence.header.experiment, main),
        "logging": effects("logging", base="off", warm_up="none"),
        "warm_up": effects("warm_up", base="none", logging="off"),
        "payload": {
            "sizes": ", ".join(dict.fromkeys(one.levels["payload"] for one in sizes)) or NO_TEXT,
            **{f"bytes_{size}": of_size(size) for size in _SIZES},
        },
    }
