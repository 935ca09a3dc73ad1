# SPDX-License-Identifier: Apache-2.0
"""From an experiment's evidence to what the notebooks on peaks, loops, warm-up and validity are about.

Everything here takes the evidence or ``None``, which stands for an experiment that was not measured, and then
returns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.analysis.attribution.peak_causes import peak_causes
from harness.analysis.attribution.spans import CauseName, Span
from harness.analysis.attribution.trial import TrialAttribution, attribute_trial
from harness.analysis.warmup.curves import WarmUpCurve, warm_up_curve
from harness.definitions import load_study
from harness.evidence import Evidence
from harness.project import find_root

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """One trial's settled requests over time with the pauses around them: arrays of one length, in seconds."""

    label: str
    trial: str
    start_s: Floats
    latency_s: Floats
    causes: tuple[str | None, ...]
    events: dict[CauseName, tuple[Span, ...]]
    peaks_from_s: float
    placed: bool


def defined_variants(experiment: str, *, root: Path | None = None) -> dict[str, str]:
    """Return every variant of an experiment's definition with its label, measured or not."""
    variants = load_study(root or find_root(), experiment).experiment.variants
    return {name: variant.label or name for name, variant in variants.items()}


def one_of_each(attributed: Sequence[TrialAttribution]) -> list[str]:
    """Return the first variant of each collector in order of appearance: of Java the one in the tightest heap."""
    first: dict[str | None, str] = {}
    for one in attributed:
        first.setdefault(one.collector, one.variant)
    return list(first.values())


def attribute_peaks(evidence: Evidence | None) -> tuple[TrialAttribution, ...]:
    """Attribute the tail of every kept trial that has single requests; duplicates (the A/A arm) are left out.

    Requests begun while generator and service still settled are left out, as everywhere: their latency is that of
    two programs that warm up, and it would be all there is to explain.
    """
    if evidence is None:
        return ()
    sessions = {session.folder.name: session for session in evidence.sessions}
    return tuple(
        attribute_trial(sessions[session_id], trial_id, requests)
        for session_id, trial_id, _, requests in _with_requests(evidence, evidence.trials)
    )


def settling(evidence: Evidence | None) -> str:
    """Return one sentence on the requests that no metric counts; empty: there are none."""
    if evidence is None or evidence.settle_s == 0:
        return ""
    n_counted = n_all = 0
    for session_id, trial_id, _, requests in _with_requests(
        evidence, evidence.trials, evidence.whole_requests
    ):
        counted = evidence.requests(session_id, trial_id)
        n_all += len(requests)
        n_counted += 0 if counted is None else len(counted)
    left_out = f"{n_all - n_counted:,} of {n_all:,} requests"
    return f"Without the first {evidence.settle_s:g} s of each load, {left_out}."


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


def warm_up_curves(evidence: Evidence | None, trials: pd.DataFrame | None = None) -> tuple[WarmUpCurve, ...]:
    """Return the warm-up curve of every kept trial that has single requests, in the order of the table.

    The head of the load is part of it.

    Args:
        trials: those to look at; ``None``: all of the evidence.
    """
    if evidence is None:
        return ()
    chosen = evidence.trials if trials is None else trials
    return tuple(
        warm_up_curve(
            requests,
            trial=f"{evidence.experiment}/{session_id}/{trial_id}",
            variant=str(row["variant"]),
            label=str(row["label"]),
            block=int(row["block"]),
        )
        for session_id, trial_id, row, requests in _with_requests(evidence, chosen, evidence.whole_requests)
    )


def latencies_by(evidence: Evidence | None, factor: str) -> dict[str, dict[str, list[Floats]]]:
    """Return variant -> level of the factor -> one array of settled latencies in seconds per kept trial."""
    found: dict[str, dict[str, list[Floats]]] = {}
    if evidence is None:
        return found
    for level in map(str, evidence.trials[factor].unique()):
        for _, _, row, requests in _with_requests(evidence, evidence.cell(**{factor: level})):
            values = requests.loc[requests["ok"].astype(bool), "latency_s"].to_numpy(dtype=np.float64)
            if len(values):
                found.setdefault(str(row["variant"]), {}).setdefault(level, []).append(values)
    return found


def _with_requests(
    evidence: Evidence, trials: pd.DataFrame, read: Callable[[str, str], pd.DataFrame | None] | None = None
) -> Iterator[tuple[str, str, pd.Series, pd.DataFrame]]:
    """Session, trial, row and requests of every kept trial that has correct answers to single requests.

    ``read``: the evidence's ``requests`` unless given.
    """
    read = read or evidence.requests
    kept = trials[~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)]
    for _, row in kept.iterrows():
        requests = read(str(row["session_id"]), str(row["trial_id"]))
        if requests is not None and int(requests["ok"].sum()) > 1:
            yield str(row["session_id"]), str(row["trial_id"]), row, requests


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
        peaks_from_s=from_s,
        placed=one.refused is None,
    )
