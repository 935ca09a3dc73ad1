# SPDX-License-Identifier: Apache-2.0
"""From an experiment's evidence to what the notebooks on the bank and the clients are about.

Everything here takes the evidence or ``None``, which stands for an experiment that was not measured, and
then returns nothing. Trials that did not end well are kept: overload is what these notebooks ask about.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.analysis.load.load_response import offered_for_s, overload, recovery, serve_s, sustained_per_s
from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.pairing import with_plain_texts
from harness.analysis.tables.bound_columns import DATABASE_FILE, read_database, use_of
from harness.analysis.tables.resource_columns import at_other_speed
from harness.analysis.tables.success_shares import errors_by_kind, failed_share, right_share
from harness.definitions import load_requests
from harness.errors import InputError
from harness.evidence import Evidence
from harness.model import Calibration, CapacityGoals, CapacitySearch, ClosedLoad, Load, TrialRecord
from harness.model.digits import percent, plain
from harness.store import SessionFolder


def offered_per_s(load: Load, n_steps: int) -> float | None:
    """Return the requests per second that a load offers if every pass goes to its end; ``None``: none is.

    Users who come once, spread over a ramp, are arrivals, too; other closed loops offer what is taken.
    """
    profile = load.profile
    if not isinstance(profile, ClosedLoad):
        return profile.rate_per_s * n_steps
    if profile.loops == 1 and profile.ramp_up_s > 0:
        return profile.users / profile.ramp_up_s * n_steps
    return None


def load_response(evidence: Evidence | None) -> pd.DataFrame | None:
    """Return the table of trials with what the load did to each: one row per trial, those that went wrong too.

    Beside the columns of ``docs/data.md``: ``offered_per_s`` (also of users who come once), ``sustained_per_s`` and
    ``serve_s`` (see ``harness.analysis.load.load_response``), ``error_share`` and
    ``right_share`` (of a flow in passes; what was never sent was not answered), ``errors_<kind>``,
    ``highest_backlog``, ``left_at_last_arrival``, ``drain_s``, ``recovery_s``, ``most_connections``,
    ``most_active``; and while requests still came ``slow_s``, ``recovery_under_load_s``, ``recovered``,
    ``calm_after_error_s`` (see ``Recovery``).
    """
    if evidence is None:
        return None
    frame = pd.DataFrame([
        dict(row) | _pressure(evidence, record) | database_columns(session, record)
        for row, session, record in evidence.with_records()
    ])  # fmt: skip
    frame = frame.assign(error_share=failed_share(frame), right_share=right_share(frame))
    absent = [name for name in ("sustained_per_s", "serve_s") if name not in frame]
    frame = frame.assign(**dict.fromkeys(absent, np.nan))
    return with_plain_texts(frame.astype({name: "float64" for name in _FLOATS if name in frame}))


_FLOATS = (
    "offered_per_s", "sustained_per_s", "serve_s", "highest_backlog", "left_at_last_arrival", "drain_s", "recovery_s",
    "most_connections", "most_active", "slow_s", "recovery_under_load_s", "calm_after_error_s",
)  # fmt: skip


def effect_between(
    table: pd.DataFrame | None,
    factor: str,
    metric: str,
    *,
    variant: str,
    base: str,
    other: str,
    gated: bool = True,
) -> Comparison | None:
    """Compare one level of a factor with another within one variant, block by block; ``None``: not both measured.

    Args:
        gated: as of :func:`harness.analysis.stats.comparisons.compare`; false where what bounds a level is the answer.
    """
    if table is None:
        return None
    mine = table[(table["variant"] == variant) & table[factor].isin([base, other])]
    kept = mine[~mine["duplicate"].astype(bool)]
    if set(kept[factor]) != {base, other} or kept.groupby(factor)[metric].count().min() == 0:
        return None
    arms = mine.assign(variant=mine[factor])
    others = [name for name in kept.columns if name in ("users", "server") and kept[name].nunique() > 1]
    return next(iter(compare(arms, metric, reference=base, by=others, gated=gated)), None)


def calibration_of(evidence: Evidence | None) -> Calibration | None:
    """Return the capacity the session's loads are shares of; ``None``: its loads are plain numbers."""
    noted = None if evidence is None else evidence.header.notes.get("calibration")
    return None if noted is None else Calibration.model_validate_json(json.dumps(noted))


def describe_calibration(evidences: Sequence[Evidence | None]) -> str:
    """Return one sentence for each calibrated session: what was saturated, and the capacity found."""
    said = []
    for evidence in evidences:
        found = calibration_of(evidence)
        if evidence is not None and found is not None:
            what = "requests" if found.n_steps == 1 else f"passes of {found.n_steps} requests"
            how = f"{found.order.users} users without a pause"
            if found.order.goals is not None:
                how = search_words(found.order.goals)
            said.append(
                f"{evidence.experiment}: {plain(found.capacity_per_s)} {what} per second, "
                f"{evidence.variants[found.variant]}, {how}"
            )
    return "; ".join(said) or "none: the loads are plain numbers"


def search_words(goals: CapacityGoals) -> str:
    """Return what a capacity that was searched for keeps, in words."""
    return (
        f"the highest rate of which at most {percent(goals.loss_ratio)} is lost and at most "
        f"{percent(goals.late_ratio)} takes more than {plain(goals.late_after_s * 1e3)} ms"
    )


def searches_of(evidence: Evidence | None) -> dict[str, CapacitySearch]:
    """Return label of the variant -> the search for its capacity; empty: none was made."""
    found = calibration_of(evidence)
    if evidence is None or found is None:
        return {}
    return {evidence.variants.get(name, name): search for name, search in found.searches.items()}


def _pressure(evidence: Evidence, record: TrialRecord) -> dict[str, object]:
    cell, load = record.planned.configuration, record.load
    if cell.load is None or load is None:
        return {}
    requests = load_requests(evidence.root, cell.workload)[cell.mix]
    n_steps = len(requests) if requests[0].step is not None else 1
    found: dict[str, object] = {
        "offered_per_s": offered_per_s(cell.load, n_steps),
        "serve_s": serve_s(cell.load.profile, load),
    }
    found |= {
        f"errors_{kind}": n for kind, n in errors_by_kind(load.errors_by_kind, cell.load.generator).items()
    }
    whole = evidence.whole_requests(record.session_id, record.planned.trial_id)
    table = None if whole is None else evidence.settled(whole, record.session_id)
    if whole is None or table is None or table.empty or table["start_epoch_s"].isna().any():
        return found
    offered_s = offered_for_s(cell.load.profile)
    if offered_s is not None:
        asked = (whole["start_epoch_s"], whole["latency_s"], whole["ok"])
        found |= {"sustained_per_s": sustained_per_s(*asked, offered_s)}
    requests_of = (table["start_epoch_s"], table["latency_s"], table["ok"])
    queue, back = overload(*requests_of), recovery(*requests_of)
    return found | {
        "highest_backlog": queue.highest_backlog, "left_at_last_arrival": queue.left_at_last_arrival,
        "drain_s": queue.drain_s, "recovery_s": queue.recovery_s, "slow_s": back.slow_s, "recovered": back.recovered,
        "recovery_under_load_s": back.recovery_s, "calm_after_error_s": back.calm_after_error_s,
    }  # fmt: skip


def database_columns(folder: SessionFolder, record: TrialRecord) -> dict[str, object]:
    """Return ``most_connections`` and ``most_active`` of one trial; empty: its database told nothing."""
    load, trial_id = record.load, record.planned.trial_id
    if load is None or load.start_epoch_s is None or not folder.has(trial_id, DATABASE_FILE):
        return {}
    try:
        with folder.open(trial_id, DATABASE_FILE) as stream:
            used = use_of(read_database(stream), (load.start_epoch_s, load.start_epoch_s + load.duration_s))
    except InputError:  # it was killed before it wrote a line: there is nothing to tell
        return {}
    return {} if used is None else used.model_dump()


def every(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials as if those that failed were not excluded: how a service fails is what is asked here."""
    return trials.assign(excluded=at_other_speed(trials))
