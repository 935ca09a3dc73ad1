# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the two kinds of loop: latency under the open one over the closed one."""

from __future__ import annotations

from collections.abc import Mapping

from harness.evidence import Evidence
from harness.publish.bounds import bounded
from harness.publish.findings import FINDING, Phrase, comparisons_in, finding
from harness.publish.range_words import range_leaf
from harness.publish.results import NO_COMPARISON, Tree, for_each

_METRICS = {"p99": "latency_p99_s", "mean": "latency_mean_s"}
_PHRASE = Phrase(
    who="services",
    more="show a longer tail of latency under arrivals than under waiting users",
    less="show a shorter tail of latency under arrivals than under waiting users",
    more_short="a longer one",
    less_short="a shorter one",
)


def results(evidence: Evidence | None, variants: Mapping[str, str]) -> Tree:
    """Return ``{p99,mean}.<variant>``, open over closed block by block, for every variant of the definition.

    ``finding``: title, take-away and how sure, of the ninety-ninth percentile; ``range``: its smallest and largest
    ratio in a sentence; ``bounded``: what bounded the trials.
    """

    def over_closed(metric: str) -> Tree:
        measured = {} if evidence is None else {
            name: evidence.effect_of("loop", metric, variant=name, base="closed") for name in variants
        }  # fmt: skip
        return for_each(variants, measured, NO_COMPARISON)

    found = {word: over_closed(metric) for word, metric in _METRICS.items()}
    tails = comparisons_in(found["p99"])
    return {
        "name": variants,
        FINDING: finding(tails, _PHRASE),
        "range": range_leaf("Open over closed, the ratio of the ninety-ninth percentile", tails, variants),
        "bounded": bounded(None if evidence is None else evidence.trials),
        **found,
    }
