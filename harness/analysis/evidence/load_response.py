# SPDX-License-Identifier: Apache-2.0
"""What the load did to each trial. Trials that did not end well are kept: overload is what is asked about."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.analysis.evidence import Evidence
from harness.analysis.load.load_response import (
    failed_share,
    offered_for_s,
    right_share,
    serve_s,
    sustained_per_s,
)
from harness.analysis.stats.pairing import with_plain_texts
from harness.analysis.tables.bound_columns import connections_under_load
from harness.analysis.tables.resource_columns import at_other_speed
from harness.definitions import load_requests
from harness.model import ClosedLoad, Load, TrialRecord
from harness.store import SessionFolder


def offered_per_s(load: Load, n_steps: int) -> float | None:
    """Return the requests per second that a load offers if every pass goes to its end; ``None``: none is. Users who
    come once, spread over a ramp, are arrivals, too; other closed loops offer what is taken."""
    profile = load.profile
    if not isinstance(profile, ClosedLoad):
        return profile.rate_per_s * n_steps
    if profile.loops == 1 and profile.ramp_up_s > 0:
        return profile.users / profile.ramp_up_s * n_steps
    return None


def load_response(evidence: Evidence | None) -> pd.DataFrame | None:
    """Return the table of trials with what the load did to each: one row per trial, those that went wrong too. Beside
    the columns of ``docs/data.md``: ``offered_per_s`` (also of users who come once), ``sustained_per_s`` and
    ``serve_s`` (see ``harness.analysis.load.load_response``), ``error_share`` and ``right_share`` (of a flow in passes;
    what was never sent was not answered), ``drain_s`` (from the last start to the last end: queueing after the load
    stopped), ``most_connections`` and ``most_active``."""
    if evidence is None:
        return None
    frame = pd.DataFrame([
        dict(row) | _pressure(evidence, record) | database_columns(session, record)
        for row, session, record in evidence.with_records()
    ])  # fmt: skip
    absent = [name for name in ("sustained_per_s", "serve_s") if name not in frame]
    frame = frame.assign(
        error_share=failed_share(frame), right_share=right_share(frame), **dict.fromkeys(absent, np.nan)
    )
    return with_plain_texts(frame.astype({name: "float64" for name in _FLOATS if name in frame}))


_FLOATS = ("offered_per_s", "sustained_per_s", "serve_s", "drain_s", "most_connections", "most_active")


def _pressure(evidence: Evidence, record: TrialRecord) -> dict[str, object]:
    cell, load = record.planned.configuration, record.load
    if cell.load is None or load is None:
        return {}
    requests = load_requests(evidence.root, cell.workload)[cell.mix]
    n_steps = len(requests) if requests[0].step is not None else 1
    columns: dict[str, object] = {
        "offered_per_s": offered_per_s(cell.load, n_steps),
        "serve_s": serve_s(cell.load.profile, load),
    }
    whole = evidence.whole_requests(record.session_id, record.planned.trial_id)
    if whole is None:
        return columns
    settled = evidence.settled(whole, record.session_id)
    starts = settled["start_epoch_s"]
    if starts.empty or starts.isna().any():
        return columns
    columns["drain_s"] = max(0.0, float((starts + settled["latency_s"]).max() - starts.max()))
    offered_s = offered_for_s(cell.load.profile)
    if offered_s is not None:
        asked = (whole["start_epoch_s"], whole["latency_s"], whole["ok"])
        columns["sustained_per_s"] = sustained_per_s(*asked, offered_s)
    return columns


def database_columns(folder: SessionFolder, record: TrialRecord) -> dict[str, object]:
    """Return ``most_connections`` and ``most_active`` of one trial; empty: its database told nothing."""
    rows = connections_under_load(folder, record)
    if rows is None:
        return {}
    return {"most_connections": int(rows["n_open"].max()), "most_active": int(rows["n_active"].max())}


def every(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials as if those that failed were not excluded: how a service fails is what is asked here."""
    return trials.assign(excluded=at_other_speed(trials))
