# SPDX-License-Identifier: Apache-2.0
"""Causes of latency peaks in the trials of an experiment."""

from __future__ import annotations

from harness.analysis.attribution.trial import TrialAttribution, attribute_trial
from harness.evidence import Evidence
from harness.evidence.requests import _with_requests


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
