# SPDX-License-Identifier: Apache-2.0
"""The trials that published numbers rest on: one row each, from the tables of their sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness.errors import InputError
from harness.evidence import Evidence
from harness.model import Estimate
from harness.model.formatting import DASH, show
from harness.model.level_words import cell_words
from harness.store import Store

#: column of the trials -> (head, unit)
METRICS = {
    "throughput_per_s": ("throughput", "1/s"),
    "latency_mean_s": ("mean latency", "s"),
    "latency_p99_s": ("p99", "s"),
    "cpu_s_per_request": ("CPU per request", "s"),
    "rss_after_bytes": ("memory after", "B"),
    "time_to_first_response_s": ("first answer", "s"),
}


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """One trial. ``key``: as published numbers name it. ``record``: its place below the project's folder."""

    key: str
    session: str
    trial: str
    variant: str
    cell: str
    block: int
    outcome: str
    flags: str
    metrics: tuple[str, ...]
    values: tuple[float | None, ...]


def opened_sessions(root: Path, trials: Iterable[str]) -> dict[str, Evidence]:
    """Return key of a session -> its evidence, for the sessions of these trials, in the order of their names.

    Raises:
        InputError: a session is not there.
    """
    wanted = sorted({key.rpartition("/")[0] for key in trials})
    stored = {session.key: session for session in Store(root).sessions()}
    opened = {}
    for key in wanted:
        if key not in stored:
            raise InputError(
                "a published number rests on a session that is not there",
                place=key,
                allowed="make paper again",
            )
        session = stored[key]
        opened[key] = Evidence(root=root, experiment=session.folder.parent.name, sessions=(session,))
    return opened


def trial_rows(opened: dict[str, Evidence], trials: Iterable[str]) -> tuple[TrialRow, ...]:
    """Return a row for each of these trials, by session and in the order in which they were made.

    Raises:
        InputError: a session lacks one of them.
    """
    wanted = set(trials)
    rows = []
    for key, evidence in opened.items():
        frame = evidence.trials.sort_values("position")
        labels = evidence.variants
        rows += [
            _row(f"{key}/{row['trial_id']}", key, row, evidence.factors, labels)
            for _, row in frame.iterrows()
            if f"{key}/{row['trial_id']}" in wanted
        ]
    missing = wanted - {row.key for row in rows}
    if missing:
        raise InputError(
            "a published number rests on a trial that is not there",
            place=min(missing),
            allowed="make paper again",
        )
    return tuple(rows)


def _row(key: str, session: str, row: pd.Series, factors: Sequence[str], labels: dict[str, str]) -> TrialRow:
    values = tuple(None if pd.isna(row[name]) else float(row[name]) for name in METRICS)
    units = [unit for _, unit in METRICS.values()]
    variant = str(row["variant"])
    return TrialRow(
        key=key,
        session=session,
        trial=str(row["trial_id"]),
        variant=labels.get(variant, variant) + (", again" if bool(row["duplicate"]) else ""),
        cell=cell_words({factor: row[factor] for factor in factors}),
        block=int(row["block"]),
        outcome=str(row["outcome"]),
        flags="" if pd.isna(row["flags"]) else ", ".join(str(row["flags"]).split()).replace("_", " "),
        metrics=tuple(
            DASH if value is None else show(_plain(value, unit)).text
            for value, unit in zip(values, units, strict=True)
        ),
        values=values,
    )


def _plain(value: float, unit: str) -> Estimate:
    return Estimate(value=value, unit=unit, method="one trial", estimand="", n_trials=1)
