# SPDX-License-Identifier: Apache-2.0
"""At equal memory: each Go variant that was given what a Java variant holds, beside that one.

Whether the two did hold the same is a result of its own, told before anything else is compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.comparisons import Comparison, compare
from harness.analysis.decisions import MOST_NOISE
from harness.analysis.gc_logs import TrialAttribution
from harness.analysis.memory_words import memory_fit
from harness.analysis.summaries import summarise
from harness.definitions import load_study
from harness.evidence import Evidence
from harness.evidence.peaks import settled
from harness.model import Estimate, Frozen, Verdict
from harness.model.digits import whole_percent
from harness.project import find_root

#: Memory within this is called equal, as a share; within the noise between equal trials, where that is larger.
MARGIN = 0.10
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
    p99: Comparison = Field(description="p99 of settled requests, Go over Java")

    @property
    def words(self) -> str:
        """Whether memory was equal: what must be said before anything else is compared."""
        margin = self.memory.margin
        share = whole_percent(margin)
        if self.memory.verdict in (Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE):
            return f"equal within {share}" + (", the noise between equal trials" if margin > MARGIN else "")
        if self.memory.verdict is Verdict.DIFFERENT:
            return f"NOT EQUAL within {share}"
        if margin > MOST_NOISE:  # an interval well inside 10 % shows nothing then, and a reader will ask why
            return f"NOT SHOWN EQUAL (noise: {share})"
        return f"NOT SHOWN EQUAL within {share}"

    @property
    def equal(self) -> bool:
        """Whether memory was shown to be equal within the margin."""
        return self.words.startswith("equal")


def memory_pairs(evidence: Evidence | None, attributed: Sequence[TrialAttribution]) -> tuple[MemoryPair, ...]:
    """Return every pair of the session that was measured on both sides, in the definition's order.

    Args:
        attributed: what is said of the evidence's peaks; p99 is theirs, so that all tables speak of the
            same requests.
    """
    fit = None if evidence is None else memory_fit(evidence.header)
    if evidence is None or fit is None:
        return ()
    told = {one.trial: one.latency_s["p99"] for one in attributed if "p99" in one.latency_s}
    base = evidence.sessions[0].key.rpartition("/")[0]
    keys = (
        f"{base}/" + evidence.trials["session_id"].astype(str) + "/" + evidence.trials["trial_id"].astype(str)
    )
    p99 = [
        _p99_s(evidence, row, told.get(key))
        for key, (_, row) in zip(keys, evidence.trials.iterrows(), strict=True)
    ]
    trials = evidence.trials.assign(**{P99: np.array(p99, dtype=np.float64)})
    measured = set(trials["variant"].astype(str))
    return tuple(
        _pair(trials, one.variant, one.memory_of, evidence)
        for one in fit.limits
        if {one.variant, one.memory_of} <= measured
    )


def defined_pairs(experiment: str, *, root: Path | None = None) -> dict[str, str]:
    """Return Go variant -> the Java variant whose memory it is to have, of an experiment's definition."""
    variants = load_study(root or find_root(), experiment).experiment.variants
    return {name: one.runtime.memory_of for name, one in variants.items() if one.runtime.memory_of}


def _p99_s(evidence: Evidence, row: pd.Series, told_s: float | None) -> float:
    """The trial's own, of settled requests; that of a duplicate nobody told, and the A/A noise needs it."""
    if told_s is not None or not row["duplicate"]:
        return math.nan if told_s is None else told_s
    requests = evidence.requests(str(row["session_id"]), str(row["trial_id"]))
    if requests is None or not requests["ok"].any():
        return math.nan
    rest = settled(evidence, requests)
    return float(np.quantile(rest.loc[rest["ok"].astype(bool), "latency_s"], 0.99))


def _pair(trials: pd.DataFrame, go: str, java: str, evidence: Evidence) -> MemoryPair:
    labels = evidence.variants
    # the reference stands by for the noise that its duplicate tells
    some = trials[trials["variant"].isin([go, java, evidence.reference])]

    def mean(name: str) -> Estimate:
        estimate: Estimate = summarise(some[some["variant"] == name], RSS).iloc[0]["estimate"]
        return estimate

    def compared(metric: str) -> Comparison:
        found = compare(some, metric, reference=java, margin=MARGIN)
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
