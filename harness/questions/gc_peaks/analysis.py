# SPDX-License-Identifier: Apache-2.0
"""Timelines of trials with their pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.attribution.peak_causes import peak_causes
from harness.analysis.attribution.spans import Span
from harness.analysis.attribution.trial import TrialAttribution
from harness.analysis.stats.inputs import Floats
from harness.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """One trial's settled requests over time with the pauses around them: arrays of one length, in seconds."""

    label: str
    trial: str
    start_s: Floats
    latency_s: Floats
    causes: tuple[str | None, ...]
    events: dict[str, tuple[Span, ...]]
    placed: bool


def one_of_each(attributed: Sequence[TrialAttribution]) -> list[str]:
    """Return the first variant of each collector in order of appearance: of Java the one in the tightest heap."""
    first: dict[str | None, str] = {}
    for one in attributed:
        first.setdefault(one.collector, one.variant)
    return list(first.values())


def timelines(
    evidence: Evidence | None,
    attributed: Sequence[TrialAttribution],
    *,
    variants: Sequence[str] | None = None,
    quantile: float = 0.99,
) -> list[Timeline]:
    """Return the first trial of each variant, with the cause of every request at or beyond the quantile.

    The first, so that nobody has picked a telling one.
    """
    if evidence is None:
        return []
    first: dict[str, TrialAttribution] = {}
    for one in sorted(attributed, key=lambda trial: trial.block):
        first.setdefault(one.variant, one)
    wanted = [name for name in (variants or tuple(first)) if name in first]
    return [_timeline(evidence, first[name], quantile) for name in wanted]


def _timeline(evidence: Evidence, one: TrialAttribution, quantile: float) -> Timeline:
    session_id, trial_id = one.trial.split("/")[-2:]
    requests = evidence.requests(session_id, trial_id)
    assert requests is not None  # it was attributed from them
    ok = requests[requests["ok"].astype(bool)].sort_values("start_epoch_s", kind="stable")
    start = ok["start_epoch_s"].to_numpy(dtype=np.float64)
    latency = ok["latency_s"].to_numpy(dtype=np.float64)
    connect = ok["connect_s"].to_numpy(dtype=np.float64) if "connect_s" in ok else None
    from_s = float(np.quantile(latency, quantile))
    return Timeline(
        label=one.label,
        trial=one.trial,
        start_s=start - start[0],
        latency_s=latency,
        causes=tuple(peak_causes(start, latency, one.events, from_s=from_s, connect_s=connect)),
        events={
            cause: tuple((low - float(start[0]), high - float(start[0])) for low, high in spans)
            for cause, spans in one.events.items()
        },
        placed=one.refused is None,
    )
