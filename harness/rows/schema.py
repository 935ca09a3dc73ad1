# SPDX-License-Identifier: Apache-2.0
"""The table of results: one row for each number, comparison or fact that a question publishes.

Any column beside ``COLUMNS`` is a factor, and its value the level of the row. Keys are made from the columns:
``question.name.kind[.level...][.variant]``, levels by the name of their factor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from harness.errors import InputError
from harness.model import Verdict

#: Column -> its type; ``docs/analyse.md`` has their meanings.
COLUMNS: Mapping[str, str] = {
    "key": "str",  # made of question, name, kind, levels and variant; unique
    "question": "str",  # notebook's question, the first part of its keys
    "name": "str",  # result, such as first or cpu
    "kind": "str",  # one of KINDS
    "metric": "str",  # column of the trials
    "variant": "str",  # of a ratio its numerator
    "label": "str",  # variant's printed name
    "reference": "str",  # denominator of a ratio
    "value": "float64",  # unrounded; NaN: there is none
    "low": "float64",
    "high": "float64",
    "level": "float64",  # confidence level of the interval, 0.95
    "unit": "str",  # s, B, 1/s, s/request, ratio, share, cores, 1
    "verdict": "str",  # of a ratio: one of Verdict
    "margin": "float64",  # share that counts as negligible; NaN: nothing can be called equivalent
    "p": "float64",  # adjusted p-value; NaN: too few blocks for one
    "why": "str",  # why there is no value, or why a ratio is not about the services
    "text": "str",  # fact in words; beside a value what is printed in its place, such as < 1 s
    "age": "str",  # of the variant's trials: warm, young, aot-compiled, unknown; empty: it has none
    "reference_age": "str",
    "bound_by": "str",  # what bounded the trials, with how many: service 9, generator 1
    "n_blocks": "Int64",  # blocks with both arms
    "n_trials": "Int64",  # trials of the value
    "n_excluded": "Int64",  # trials left out and counted
    "method": "str",  # estimator
    "estimand": "str",  # quantity that is estimated
    "warnings": "object",  # list of texts
    "inputs": "object",  # list of trials: bundled/experiment/session/trial
}
#: How to read a value; between: mean ratio over sessions; predicted: in another session.
KINDS = ("mean", "ratio", "between", "predicted", "share", "count", "fit", "detectable", "fact")
#: Last digits of a computed end.
_ROUNDING = 1e-9


def tidy(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return records as a frame with every column of ``COLUMNS`` and the factors that they have."""
    frame = pd.DataFrame(list(rows))
    factors = [str(name) for name in frame.columns if name not in COLUMNS]
    frame = frame.reindex(columns=[*COLUMNS, *factors])
    return frame.astype({**COLUMNS, **dict.fromkeys(factors, "str")})


def empty(*factors: str) -> pd.DataFrame:
    """Return a frame without rows that has these factors, so that a filter on one of them works."""
    return tidy([]).assign(**{name: pd.Series(dtype="str") for name in factors})


def stack(*frames: pd.DataFrame) -> pd.DataFrame:
    """Return rows below each other; a factor that a frame lacks is empty in its rows."""
    factors = dict.fromkeys(str(name) for frame in frames for name in frame.columns if name not in COLUMNS)
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return empty(*factors)
    return pd.concat(filled, ignore_index=True).reindex(columns=[*COLUMNS, *factors])


def below(frames: Iterable[pd.DataFrame], *columns: str) -> pd.DataFrame:
    """Return frames of any columns below each other; of none with rows, one that has these columns."""
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=list(columns))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as dictionaries; what is absent is ``None``."""
    return [
        {
            str(name): None if not isinstance(cell, list) and pd.isna(cell) else cell
            for name, cell in row.items()
        }
        for row in frame.to_dict("records")
    ]


def factors_of(rows: pd.DataFrame) -> list[str]:
    """Return the columns that are factors, sorted: the order of the levels in a key."""
    return sorted(str(name) for name in rows.columns if name not in COLUMNS)


def slug(word: str) -> str:
    """Return a word as a part of a key: ``java-helidon`` is ``java_helidon``."""
    return re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_")


def keyed(question: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a question with their keys, checked.

    Raises:
        InputError: two rows have one key, or a row contradicts itself; names the first of them.
    """
    parts = rows[["name", "kind", *factors_of(rows), "variant"]]
    keys = [
        ".".join(slug(str(part)) for part in (question, *row) if pd.notna(part) and part)
        for row in parts.itertuples(index=False)
    ]
    rows = rows.assign(question=question, key=pd.Series(keys, index=rows.index, dtype="str"))
    for problem, mask in _problems(rows).items():
        if mask.any():
            raise InputError(problem, place=", ".join(rows.loc[mask, "key"].head(4)))
    return rows


def _problems(rows: pd.DataFrame) -> dict[str, pd.Series[bool]]:
    """Return what may be wrong with rows -> in which it is."""
    ratio, verdict = rows["value"], rows["verdict"]
    band = 1 + rows["margin"].fillna(0)
    outside = (ratio > band * (1 + _ROUNDING)) | (ratio < (1 - _ROUNDING) / band)
    holds_one = ~((rows["low"] > 1) | (rows["high"] < 1))
    judged = verdict.notna()
    equal = verdict.isin([Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE])
    refused = verdict == Verdict.NOT_ABOUT_SERVICES
    return {
        "two rows with one key": rows["key"].duplicated(keep=False),
        f"kind is none of {', '.join(KINDS)}": ~rows["kind"].isin(KINDS),
        f"verdict is none of {', '.join(Verdict)}": judged & ~verdict.isin(list(Verdict)),
        "a ratio without its reference": (rows["kind"] == "ratio") & rows["reference"].isna(),
        "a value outside its interval": (ratio < rows["low"] - _ROUNDING * ratio.abs())
        | (ratio > rows["high"] + _ROUNDING * ratio.abs()),
        "different, and the interval holds 1": (verdict == Verdict.DIFFERENT) & holds_one,
        "equivalent, and the value is outside the margin": equal & outside,
        "not about the services, without a reason": refused & rows["why"].isna(),
        "a verdict without blocks": judged & rows["n_blocks"].isna(),
        "neither value, text nor reason": rows[["value", "text", "why"]].isna().all(axis=1),
    }
