# SPDX-License-Identifier: Apache-2.0
"""From an experiment's evidence to what the notebooks on peaks, loops, warm-up and validity are about.

Everything here takes the evidence or ``None``, which stands for an experiment that was not measured, and then
returns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from harness.analysis.attribution.trial import QUANTILES, TrialAttribution, attribute_trial
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.pairing import counting
from harness.definitions import load_study
from harness.evidence.experiment import Evidence
from harness.model import Experiment
from harness.project import find_root


def attribute_peaks(
    evidence: Evidence | None, *, quantiles: Mapping[str, float] = QUANTILES
) -> tuple[TrialAttribution, ...]:
    """Attribute the tail of every kept trial that has single requests; duplicates (the A/A arm) are left out.

    Requests begun while generator and service still settled are left out, as everywhere: their latency is that of
    two programs that warm up, and it would be all there is to explain.

    Args:
        quantiles: name -> quantile of the latencies, such as ``{"p95": 0.95}``.
    """
    if evidence is None:
        return ()
    sessions = {session.folder.name: session for session in evidence.sessions}
    return tuple(
        attribute_trial(sessions[session_id], trial_id, requests, quantiles=quantiles)
        for session_id, trial_id, _, requests in _with_requests(evidence, evidence.trials)
    )


def definition_of(experiment: str, *, root: Path | None = None) -> Experiment:
    """Return an experiment as it is defined today, measured or not."""
    return load_study(root or find_root(), experiment).experiment


def defined_variants(
    experiment: str, evidence: Evidence | None = None, *, root: Path | None = None
) -> dict[str, str]:
    """Return every variant of an experiment's definition with its label, measured or not; ``evidence`` as of
    ``labels_of``."""
    return labels_of(evidence, definition_of(experiment, root=root))


def labels_of(evidence: Evidence | None, definition: Experiment) -> dict[str, str]:
    """Return every variant of a definition with its label, measured or not.

    Args:
        evidence: what was measured of it, whose builds the labels speak of; ``None``: nothing.
    """
    return definition.labels if evidence is None else evidence.labels_of(definition)


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
    kept = counting(trials)
    for _, row in kept.iterrows():
        requests = read(str(row["session_id"]), str(row["trial_id"]))
        if requests is not None and int(requests["ok"].sum()) > 1:
            yield str(row["session_id"]), str(row["trial_id"]), row, requests
