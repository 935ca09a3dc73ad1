# SPDX-License-Identifier: Apache-2.0
"""What is said of peaks begins when generator and service have warmed up."""

from __future__ import annotations

from pathlib import Path

from harness.analysis.tables.tidy import tidy
from harness.evidence import Evidence
from harness.evidence.opening import find_evidence
from harness.evidence.requests import attribute_peaks
from harness.pipeline import StageParameters
from harness.tests.support.synthetic import make_project, make_session


def measured(folder: Path, settle_s: float) -> Evidence:
    """The same made-up session, of a profile that says how long loads settle."""
    project = make_project(folder, experiments=())
    make_session(project, "gc-peaks", "smoke", settle_s=settle_s)
    tidy(project, experiments=("gc-peaks",))
    settings = StageParameters(profile="smoke", experiments="gc-peaks")
    evidence = find_evidence(settings, "gc-peaks", root=project)
    assert evidence is not None
    return evidence


def test_requests_begun_while_things_settle_are_no_part_of_peaks(tmp_path: Path) -> None:
    all_of_it, evidence = (measured(tmp_path / str(settle_s), settle_s) for settle_s in (0.0, 0.9))
    whole, settled = attribute_peaks(all_of_it), attribute_peaks(evidence)
    assert len(settled) == len(whole) > 0
    for one, other in zip(settled, whole, strict=True):
        assert one.window[0] >= other.window[0] + 0.89
        assert 0.5 * other.n_requests < one.n_requests < 0.8 * other.n_requests
