# SPDX-License-Identifier: Apache-2.0
"""Results of Krun, as warmup_stats classifies them: JSON, as a rule packed with bzip2.

The file has ``wallclock_times``: a benchmark's key -> a list of process executions -> seconds of each of their
iterations. ``mark_changepoints_in_json`` of warmup_stats adds ``classifications`` (the same shape, a word each) and
``classifier`` (``delta`` and ``steady``), and ``mark_outliers_in_json`` adds ``all_outliers`` (places of iterations).
"""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import InputError
from harness.model import Frozen

#: The words of warmup_stats.
CLASSES = ("flat", "warmup", "slowdown", "no steady state")


class Execution:
    """One process execution: its iterations in seconds, shape (n,), those that count as outliers, and its class."""

    def __init__(
        self, key: str, number: int, times_s: npt.NDArray[np.float64], outliers: tuple[int, ...], kind: str
    ) -> None:
        self.key, self.number, self.times_s, self.outliers, self.kind = key, number, times_s, outliers, kind


class Classifier(Frozen):
    """What the classes of a file were made with: a tolerance in seconds, or a share of the fastest segment, and how
    many last iterations have to be steady."""

    delta_s: float | None
    delta_share: float | None
    steady: int


def read_krun(path: Path) -> tuple[Classifier, list[Execution]]:
    """Return how a file was classified, and its process executions; those that crashed have no iteration and are left
    out.

    Raises:
        InputError: it is not such a file, or was not classified.
        OSError: it cannot be read.
    """
    raw = path.read_bytes()
    try:
        plain = json.loads(bz2.decompress(raw) if raw[:3] == b"BZh" else raw)
    except (ValueError, OSError, EOFError, RecursionError) as problem:
        raise InputError(
            "not a result file of Krun", file=path, found=str(problem)[:80], allowed="JSON, or JSON packed with bzip2"
        ) from None  # fmt: skip
    times, classes = (_part(path, plain, name) for name in ("wallclock_times", "classifications"))
    outliers = plain.get("all_outliers") or {}
    found = []
    for key, executions in times.items():
        words = classes.get(key)
        if not isinstance(executions, list):
            raise InputError(
                "a list of process executions",
                file=path,
                place=f"wallclock_times: {key}",
                found=type(executions).__name__,
            )
        if not isinstance(words, list) or len(words) != len(executions):
            raise InputError(
                "as many classes as process executions", file=path, place=f"classifications: {key}",
                found=words if not isinstance(words, list) else len(words), allowed=str(len(executions)),
            )  # fmt: skip
        for number, (one, word) in enumerate(zip(executions, words, strict=True)):
            if not one:
                continue
            if word not in CLASSES:
                raise InputError(
                    "no such class", file=path, place=f"classifications: {key}: {number}", found=word,
                    allowed=", ".join(CLASSES),
                )  # fmt: skip
            found.append(_execution(path, key, number, one, outliers, str(word)))
    return _classifier(path, plain), found


def _part(path: Path, plain: Any, name: str) -> dict[str, Any]:
    part = plain.get(name) if isinstance(plain, dict) else None
    if not isinstance(part, dict):
        raise InputError(
            "a part of the file is missing", file=path, place=name, found=type(part).__name__,
            allowed="what bin/mark_changepoints_in_json of warmup_stats writes",
        )  # fmt: skip
    return part


def _execution(path: Path, key: str, number: int, one: Any, outliers: Any, word: str) -> Execution:
    place = f"wallclock_times: {key}: {number}"
    try:
        times_s = np.asarray(one, dtype=np.float64)
        places = tuple(int(at) for at in (outliers[key][number] if key in outliers else ()))
    except (TypeError, ValueError, IndexError, KeyError, OverflowError) as problem:
        raise InputError("not numbers", file=path, place=place, found=str(problem)[:80]) from None
    if times_s.ndim != 1 or not np.isfinite(times_s).all() or (times_s <= 0).any():
        raise InputError("seconds of each iteration", file=path, place=place, allowed="positive numbers")
    if any(not 0 <= at < len(times_s) for at in places):
        raise InputError("an outlier that is no iteration", file=path, place=f"all_outliers: {key}: {number}")
    return Execution(key, number, times_s, places, word)


def _classifier(path: Path, plain: Any) -> Classifier:
    said = plain.get("classifier")
    try:
        delta, steady = str(said["delta"]), int(said["steady"])
        share = float(delta[:-1]) / 100 if delta.endswith("%") else None
        return Classifier(
            delta_s=None if share is not None else float(delta), delta_share=share, steady=steady
        )
    except (TypeError, KeyError, ValueError, OverflowError):
        raise InputError(
            "how the classes were made", file=path, place="classifier", found=said,
            allowed='"delta" (seconds, or a share such as "1%") and "steady" (iterations)',
        ) from None  # fmt: skip
