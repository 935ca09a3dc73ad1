# SPDX-License-Identifier: Apache-2.0
"""What is said of peaks begins when generator and service have warmed up."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.tidy import tidy
from harness.evidence import peaks
from harness.opening import find_evidence
from harness.stages import StageParameters
from harness.tests.synthetic import make_project, make_session


def test_requests_begun_while_things_settle_are_no_part_of_peaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path)
    make_session(project, "gc-peaks", "smoke")
    tidy(project, experiments=("gc-peaks",))
    settings = StageParameters(profile="smoke", experiments="gc-peaks")
    evidence = find_evidence(settings, "gc-peaks", root=project)
    assert evidence is not None and peaks.settle_s(evidence) == 0
    assert peaks.settling(evidence) == ""
    whole = peaks.attribute_peaks(evidence)
    monkeypatch.setattr(peaks, "settle_s", lambda evidence: 1.0)
    settled = peaks.attribute_peaks(evidence)
    assert len(settled) == len(whole) > 0
    for one, all_of_it in zip(settled, whole, strict=True):
        assert one.window[0] >= all_of_it.window[0] + 0.99
        assert 0.5 * all_of_it.n_requests < one.n_requests < 0.8 * all_of_it.n_requests
    n_all, n_left = sum(one.n_requests for one in whole), sum(one.n_requests for one in settled)
    assert peaks.settling(evidence) == (
        f"Without the first 1 s of each load, {n_all - n_left:,} of {n_all:,} requests."
    )
    line = peaks.timelines(evidence, settled)[0]
    assert len(line.start_s) == settled[0].n_requests
