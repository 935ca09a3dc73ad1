# SPDX-License-Identifier: Apache-2.0
"""Latency and errors of the segments of a load."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harness.analysis.load.load_response import COLUMN as PART
from harness.analysis.load.load_response import parts_of
from harness.evidence import Evidence
from harness.model import OpenLoad

#: Of a trial, what the table of its parts keeps.
_KEPT = (
    "experiment", "source", "session_id", "trial_id", "block", "position", "duplicate", "is_reference", "variant",
    "label", "implementation", "language", "configuration", "excluded", "flags", "age", "latency_resolution_s",
)  # fmt: skip


def parts_table(evidence: Evidence | None, *, n_parts: int = 4) -> pd.DataFrame | None:
    """Return one row per kept trial and part of its load, for ``summarise`` and ``compare`` with ``by=["part"]``."""
    return None if evidence is None else evidence.once(("parts", n_parts), lambda: _parts(evidence, n_parts))


def _parts(evidence: Evidence, n_parts: int) -> pd.DataFrame | None:
    rows: list[dict[Any, Any]] = []
    for row, _, record in evidence.with_records():
        session_id, trial_id = str(row["session_id"]), str(row["trial_id"])
        load = record.planned.configuration.load
        if row["excluded"] or load is None or load.profile.duration_s is None:
            continue
        requests = evidence.whole_requests(session_id, trial_id)  # how a load changes, its head too
        if requests is None:
            continue
        profile = load.profile
        clock = record.started
        parts = parts_of(
            requests,
            duration_s=load.profile.duration_s,
            begins_s=profile.begins_s if isinstance(profile, OpenLoad) else (0.0,),
            n_parts=n_parts,
            samples=evidence.trial_samples(session_id, trial_id),
            epoch_to_monotonic_s=clock.monotonic_s - clock.wall_epoch_s,
        )
        of_trial = {name: row[name] for name in (*_KEPT, *evidence.factors)}
        # a part is a configuration of its own: the same part of the duplicate tells how much is noise
        rows += [
            part | of_trial | {"configuration": f"{row['configuration']},part={part[PART]}"}
            for part in parts.to_dict("records")
        ]
    if not rows:
        return None
    return pd.DataFrame(rows).sort_values(
        PART, key=lambda part: part.astype(int), kind="stable", ignore_index=True
    )
