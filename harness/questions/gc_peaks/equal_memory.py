# SPDX-License-Identifier: Apache-2.0
"""At equal memory: each Go variant that was given what a Java variant holds, beside that one.

Whether the two did hold the same is a result of its own, told before anything else is compared.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from pydantic import Field

from harness.analysis.attribution.memory_labels import memory_fit
from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarised
from harness.analysis.stats.verdicts import MEMORY_MARGIN
from harness.definitions import load_study
from harness.evidence import Evidence
from harness.model import Estimate, Frozen, Verdict
from harness.model.age import with_age
from harness.model.digits import whole_percent
from harness.project import find_root

RSS, P99 = "rss_after_bytes", "latency_p99_s"


class MemoryPair(Frozen):
    """A Go variant and the Java variant whose memory it was given."""

    go: str
    java: str
    go_label: str
    java_label: str
    go_rss_bytes: Estimate
    java_rss_bytes: Estimate
    memory: Comparison = Field(description="resident memory after the load, Go over Java")
    p99: Comparison = Field(description="p99, Go over Java")

    @property
    def words(self) -> str:
        """Whether memory was equal: what must be said before anything else is compared."""
        return with_age(self._words, self.memory.young)

    @property
    def _words(self) -> str:
        memory, margin = self.memory, self.memory.margin
        if margin is None:
            different = "NOT EQUAL" if memory.verdict is Verdict.DIFFERENT else "NOT SHOWN EQUAL"
            return f"{different} ({memory.why_not_equivalent})"
        share = whole_percent(margin)
        if memory.verdict in (Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE):
            return f"equal within {share}" + (
                ", the noise between equal trials" if margin > MEMORY_MARGIN else ""
            )
        return (
            f"NOT EQUAL within {share}"
            if memory.verdict is Verdict.DIFFERENT
            else f"NOT SHOWN EQUAL within {share}"
        )

    @property
    def equal(self) -> bool:
        """Whether memory was shown to be equal within the margin."""
        return self.words.startswith("equal")


def memory_pairs(evidence: Evidence | None) -> tuple[MemoryPair, ...]:
    """Return every pair of the session that was measured on both sides, in the definition's order."""
    fit = None if evidence is None else memory_fit(evidence.header)
    if evidence is None or fit is None:
        return ()
    measured = set(evidence.trials["variant"].astype(str))
    return tuple(
        _pair(evidence.trials, one.variant, one.memory_of, evidence)
        for one in fit.limits
        if {one.variant, one.memory_of} <= measured
    )


def defined_pairs(experiment: str, *, root: Path | None = None) -> dict[str, str]:
    """Return Go variant -> the Java variant whose memory it is to have, of an experiment's definition."""
    variants = load_study(root or find_root(), experiment).experiment.variants
    return {name: one.runtime.memory_of for name, one in variants.items() if one.runtime.memory_of}


def _pair(trials: pd.DataFrame, go: str, java: str, evidence: Evidence) -> MemoryPair:
    labels = evidence.variants
    some = trials[trials["variant"].isin([go, java])]

    def mean(name: str) -> Estimate:
        return summarised(some[some["variant"] == name], RSS)

    def compared(metric: str) -> Comparison:
        found = compare(some, metric, reference=java, margin=MEMORY_MARGIN)
        return next(one for one in found if one.variant == go)

    return MemoryPair(
        go=go,
        java=java,
        go_label=labels[go],
        java_label=labels[java],
        go_rss_bytes=mean(go),
        java_rss_bytes=mean(java),
        memory=compared(RSS),
        p99=compared(P99),
    )
