# SPDX-License-Identifier: Apache-2.0
"""How the table of trials is taken apart: excluded, missing, paired by block, named."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.errors import InputError

NEEDED = (
    "experiment", "session_id", "trial_id", "block", "position", "duplicate", "variant", "configuration", "excluded",
    "flags",
)  # fmt: skip

#: The trial that ran beside this one; empty: none did.
PARTNER = "duet_partner"
#: What a ratio of two trials of a duet speaks of. Of two CPUs half is one core.
DUET_ESTIMAND = "half of the cores for service and generator, both under contention by the other arm"
#: What tells one trial from every other.
_IDENTITY = ["experiment", "session_id", "trial_id"]
_UNITS = (
    ("_s_per_request", "s/request"), ("_per_s", "1/s"), ("_bytes", "B"), ("_bytes_per_request", "B"),
    ("_cores", "cores"), ("_ratio", "ratio"), ("_share", "share"), ("_percent", "%"), ("_kb", "kB"), ("_ms", "ms"),
    ("_s_at_first_response", "s"), ("_s", "s"),
)  # fmt: skip


def unit_of(metric: str) -> str:
    """Return the unit that a column's name carries; ``1`` for a plain number."""
    return next((unit for ending, unit in _UNITS if metric.endswith(ending)), "1")


def require(trials: pd.DataFrame, metric: str, by: Sequence[str]) -> None:
    """Check that the columns are there and that the metric is a number. Raises InputError: which is not."""
    for column in (*NEEDED, metric, *by):
        if column not in trials.columns:
            allowed = "the columns of trials.parquet (docs/data.md)"
            columns = ", ".join(map(str, trials.columns))
            raise InputError("no such column among the trials", place=column, found=columns, allowed=allowed)
    kind = trials[metric].dtype
    if not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        raise InputError(
            "a metric is a number per trial", place=metric, found=str(kind), allowed="a numeric column"
        )


def counting(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials that were not excluded, without the duplicates of the reference."""
    return trials[~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)]


def split_excluded(trials: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the trials that count, and how many do not."""
    excluded = trials["excluded"].astype(bool)
    return trials[~excluded], int(excluded.sum())


def split_missing(trials: pd.DataFrame, metric: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the trials that have the metric, and a warning when some have not. Absent is not zero."""
    missing = trials[metric].isna()
    n = int(missing.sum())
    return trials[~missing], ((f"{n} of {len(trials)} trials have no {metric}",) if n else ())


def with_plain_texts(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the same with texts as plain Python objects, which a selection of rows copies together."""
    texts = [str(name) for name, kind in trials.dtypes.items() if isinstance(kind, pd.StringDtype)]
    if not texts:
        return trials
    return trials.astype(dict.fromkeys(texts, "object")).copy()  # the copy joins the columns


def in_duet(trials: pd.DataFrame) -> pd.Series[bool]:
    """Return for each trial whether another one ran beside it."""
    if PARTNER not in trials.columns:
        return pd.Series(data=False, index=trials.index)
    return trials[PARTNER].notna()


def with_own_reference(trials: pd.DataFrame, variant: str, reference: str) -> pd.DataFrame:
    """Return the trials of a variant and of the reference; of a duet only those that ran beside the variant."""
    arms = trials[trials["variant"].isin([variant, reference])]
    duets = in_duet(arms)
    if not duets.any():
        return arms
    of_variant = arms.loc[arms["variant"] == variant, ["session_id", PARTNER]]
    beside = set(_ids(of_variant, PARTNER))
    known = pd.Series([item in beside for item in _ids(arms, "trial_id")], index=arms.index)
    return arms[(arms["variant"] == variant) | ~duets | known]


def pair_by_block(
    a: pd.DataFrame, b: pd.DataFrame, *, also: Sequence[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return both arms in the same order of blocks of sessions, and how many trials have no partner. Raises InputError:
    an arm has several trials in one block, so a factor was left out of ``by``. Trials of a duet are paired with those
    that ran beside them, and the reference beside another variant is left out."""
    keys = ["session_id", "block", *also]
    places_a, places_b = _places(a, keys, PARTNER), _places(b, keys, "trial_id")
    for arm, result in ((a, places_a), (b, places_b)):
        if len(set(result)) < len(result):
            raise _several(arm[arm.duplicated(keys, keep=False)], keys)
    places = {key: place for place, key in enumerate(places_b)}
    common = [(place, places[key]) for place, key in enumerate(places_a) if key in places]
    left, right = ([pair[side] for pair in common] for side in (0, 1))
    n_elsewhere = sum(in_duet(b)) - sum(in_duet(b.iloc[right]))  # beside others
    n_alone = len(a) + len(b) - 2 * len(common) - n_elsewhere
    return a.iloc[left].reset_index(drop=True), b.iloc[right].reset_index(drop=True), n_alone


def _places(arm: pd.DataFrame, keys: list[str], of_duet: str) -> list[tuple[object, ...]]:
    """Return by what each trial is paired: its block, or of a duet the trial that ran beside it."""
    places: list[tuple[object, ...]] = list(zip(*(arm[key] for key in keys), strict=True))
    duets = in_duet(arm)
    if not duets.any():
        return places
    rows = zip(places, _ids(arm, of_duet), duets, strict=True)
    return [("duet", *pair) if duet else place for place, pair, duet in rows]


def _ids(trials: pd.DataFrame, column: str) -> list[tuple[object, object]]:
    return list(zip(trials["session_id"], trials[column], strict=True))


def _several(twice: pd.DataFrame, keys: list[str]) -> InputError:
    texts = [c for c in twice.columns if c not in NEEDED and not pd.api.types.is_numeric_dtype(twice[c])]
    varying = ", ".join(str(c) for c in texts if twice.groupby(keys)[c].nunique().max() > 1)
    return InputError(
        "one variant has several trials in one block: name the factor that tells them apart in by=",
        place=f"block {twice['block'].iloc[0]} of {twice['session_id'].iloc[0]}",
        found=", ".join(twice["trial_id"].astype(str).head(4)),
        allowed=f"columns that differ: {varying or 'configuration'}",
    )


def inputs_of(trials: pd.DataFrame) -> tuple[str, ...]:
    """Return ``experiment/session/trial`` of every row (``bundled/`` before it where it came with the project)."""
    bundled = trials["source"] == "bundled" if "source" in trials else [False] * len(trials)
    rows = zip(bundled, *(trials[name] for name in _IDENTITY), strict=True)
    return tuple(f"{'bundled/' if b else ''}{e}/{s}/{t}" for b, e, s, t in rows)
