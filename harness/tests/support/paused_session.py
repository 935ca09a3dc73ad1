# SPDX-License-Identifier: Apache-2.0
"""The Java trial of a made-up session, what is said of its causes, and a session without a pause in any log."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.analysis.attribution.trial import TrialAttribution, attribute_trial
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.store import SessionFolder
from harness.tests.support.synthetic import make_session


def java_trial(session: SessionFolder) -> str:
    return min(trial for trial in session.finished() if trial.endswith("serial-3x"))


def requests_of(session: SessionFolder) -> pd.DataFrame:
    table = read_any(session.path(java_trial(session), "load/samples.jtl"))
    assert isinstance(table, RequestTable)
    return table.to_frame()


def attributed(session: SessionFolder, requests: pd.DataFrame) -> TrialAttribution:
    return attribute_trial(session, java_trial(session), requests)


def without_pauses(folder: Path) -> SessionFolder:
    """A session whose Java service left a log without a pause, so that its stalls have no cause yet."""
    session = make_session(folder, "gc-peaks", "smoke")
    trial = java_trial(session)
    for name in ("gc.log", "load/generator-gc.log"):
        with session.open(trial, name) as stream:
            first_line = stream.readline().decode()
        session.path(trial, name).unlink()
        (session.folder / trial / name).write_text(first_line, "utf-8")
    return session
