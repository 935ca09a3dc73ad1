# SPDX-License-Identifier: Apache-2.0
"""How the table of trials is taken apart: excluded, missing, paired by block, named."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.analysis.stats import about_services
from harness.errors import InputError

NEEDED = (
    "experiment",
    "session_id",
    "trial_id",
    "block",
    "position",
    "duplicate",
    "variant",
    "configuration",
    "excluded",
    "flags",
)

_UNITS = (
    ("cpu_s_per_request", "s/request"),
    ("_per_s", "1/s"),
    ("_bytes", "B"),
    ("_cores", "cores"),
    ("_ratio", "ratio"),
    ("_share", "share"),
    ("cpu_s_at_first_response", "s"),
    ("_s", "s"),
)


#: Columns that estimates read where a table of trials has them.
_READ_TOO = ("source", "n_requests", "latency_resolution_s", *about_services.COLUMNS)


def narrowed(trials: pd.DataFrame, metric: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the columns that an estimate reads: each choice of rows copies every column of a table."""
    wanted = dict.fromkeys((*NEEDED, metric, *by, *_READ_TOO))
    return trials[[column for column in wanted if column in trials.columns]]


def unit_of(metric: str) -> str:
    """Return the unit that a column's name carries; ``1`` for a plain number."""
    return next((unit for ending, unit in _UNITS if metric.endswith(ending)), "1")


def require(trials: pd.DataFrame, metric: str, by: Sequence[str]) -> None:
    """Check that the columns are there and that the metric is a number.

    Raises:
        InputError: which column is missing, and which there are.
    """
    for column in (*NEEDED, metric, *by):
        if column not in trials.columns:
            raise InputError(
                "no such column among the trials",
                place=column,
                found=", ".join(map(str, trials.columns)),
                allowed="the columns of trials.parquet (docs/data.md)",
            )
    if not pd.api.types.is_numeric_dtype(trials[metric]) or pd.api.types.is_bool_dtype(trials[metric]):
        raise InputError(
            "a metric is a number per trial",
            place=metric,
            found=str(trials[metric].dtype),
            allowed="a numeric column",
        )


def split_excluded(trials: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the trials that count, and how many do not."""
    excluded = trials["excluded"].astype(bool)
    return trials[~excluded], int(excluded.sum())


def split_missing(trials: pd.DataFrame, metric: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the trials that have the metric, and a warning when some have not. Absent is not zero."""
    missing = trials[metric].isna()
    n = int(missing.sum())
    return trials[~missing], ((f"{n} of {len(trials)} trials have no {metric}",) if n else ())


def pair_by_block(
    a: pd.DataFrame, b: pd.DataFrame, *, also: Sequence[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return both arms in the same order of blocks, and how many trials have no partner.

    A block is one of a session: blocks of two sessions are different blocks.

    Raises:
        InputError: an arm has several trials in one block, so a factor was left out of ``by``.
    """
    keys = ["session_id", "block", *also]
    blocks = [list(arm[keys].itertuples(index=False, name=None)) for arm in (a, b)]
    for arm, own in zip((a, b), blocks, strict=True):
        if len(set(own)) < len(own):
            twice = arm[arm.duplicated(keys, keep=False)]
            varying = [
                c
                for c in twice.columns
                if c not in NEEDED
                and not pd.api.types.is_numeric_dtype(twice[c])
                and twice.groupby(keys)[c].nunique().max() > 1
            ]
            raise InputError(
                "one variant has several trials in one block: name the factor that tells them apart in by=",
                place=f"block {twice['block'].iloc[0]} of {twice['session_id'].iloc[0]}",
                found=", ".join(twice["trial_id"].astype(str).head(4)),
                allowed=f"columns that differ: {', '.join(map(str, varying)) or 'configuration'}",
            )
    places = {block: place for place, block in enumerate(blocks[1])}
    pairs = [(place, places[block]) for place, block in enumerate(blocks[0]) if block in places]
    left, right = (
        arm.iloc[[pair[number] for pair in pairs]].reset_index(drop=True) for number, arm in enumerate((a, b))
    )
    return left, right, len(a) + len(b) - 2 * len(pairs)


def inputs_of(trials: pd.DataFrame) -> tuple[str, ...]:
    """Return ``experiment/session/trial`` of every row (``bundled/`` before it where it came with the project)."""
    bundled = trials["source"] == "bundled" if "source" in trials else [False] * len(trials)
    return tuple(
        f"{'bundled/' if b else ''}{e}/{s}/{t}"
        for b, e, s, t in zip(
            bundled, trials["experiment"], trials["session_id"], trials["trial_id"], strict=True
        )
    )
