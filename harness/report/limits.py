# SPDX-License-Identifier: Apache-2.0
"""``--fail-if``: the form of a limit, which all commands share, and the limits on the numbers of one file.

A percentile that a summary does not print may still be known to lie on one side of the limit: then that decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.errors import InputError
from harness.formats.table import is_percentile
from harness.model.digits import plain
from harness.report.result import QUANTILES, Report
from harness.report.words import length, percent

PLACE = "--fail-if"
_FORM = re.compile(
    r"\s*(?P<metric>[a-z0-9.]+)(?:\s+of\s+(?P<label>.+?))?\s*(?P<sign>[<>])\s*(?P<limit>\S+(?:\s+\S+)?)\s*"
)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(\D*)", re.ASCII)
#: What a limit is about -> factor of each unit, and what is allowed.
_UNITS: dict[str, tuple[dict[str, float], str]] = {
    "time": ({"us": 1e-3, "ms": 1.0, "s": 1e3}, "a time with its unit, such as 250ms"),
    "errors": ({"": 1.0, "%": 0.01}, "a share, such as 1% or 0.01"),
    "throughput": ({"": 1.0, "/s": 1.0}, "correct answers per second, such as 500"),
}
LATENCIES = ("mean", *QUANTILES, "max")
METRICS = ("throughput", *LATENCIES, "errors")
ALLOWED = (
    "'p99 > 250ms', 'throughput < 500', 'errors > 1%' or 'p90 of GET /orders > 80ms'; metrics: "
    + ", ".join(METRICS)
)
Outcome = Literal["exceeded", "kept", "not shown", "cannot be told"]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit and its text. ``label``: a name of request; ``value``: a ratio, or of one file ms, correct answers per
    second or a share."""

    text: str
    metric: str
    label: str | None
    sign: Literal["<", ">"]
    value: float


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A limit, and in ``text`` what the numbers say of it."""

    limit: Limit
    outcome: Outcome
    text: str


def share_of(name: str) -> float | None:
    """Return the share that a percentile such as ``p99.9`` means; ``None``: it is no percentile."""
    digits = name.removeprefix("p")
    known = name[:1] == "p" and is_percentile(digits) and 0 < float(digits) < 100
    return float(digits) / 100 if known else None


def limit_of(
    text: str,
    metrics: Sequence[str],
    value_of: Callable[[str, str], float],
    allowed: str,
    *,
    any_percentile: bool = False,
) -> Limit:
    """Return the limit that a text such as ``p99 of GET /orders > 1.05`` means.

    ``value_of``: metric and text of a value -> the value. ``any_percentile``: also those that are not among the
    metrics. Raises InputError: it has no such form, or another metric.
    """
    match = _FORM.fullmatch(text)
    if match is None or (
        match["metric"] not in metrics and not (any_percentile and share_of(match["metric"]))
    ):
        raise InputError("is no limit", place=PLACE, found=text, allowed=allowed)
    return Limit(
        text=text.strip(), metric=match["metric"], label=match["label"], sign=">" if match["sign"] == ">" else "<",
        value=value_of(match["metric"], match["limit"]),
    )  # fmt: skip


def file_limit(text: str) -> Limit:
    """Return the limit on the numbers of one file that a text such as ``p99 > 250ms`` means; raises InputError: it
    means none, or its unit is missing."""
    return limit_of(text, METRICS, _value_of, ALLOWED, any_percentile=True)


def judged(limit: Limit, low: float | None, high: float | None) -> Outcome:
    """Return whether a number between ``low`` and ``high`` lies beyond the limit; ``None``: it has no such bound."""
    if limit.sign == ">":
        if low is not None and low > limit.value:
            return "exceeded"
        return "kept" if high is not None and high <= limit.value else "cannot be told"
    if high is not None and high < limit.value:
        return "exceeded"
    return "kept" if low is not None and low >= limit.value else "cannot be told"


def check_file(limit: Limit, report: Report) -> Checked:
    """Return whether a number of the file lies beyond its limit; raises InputError: the file has no request of that
    name, or no such number of one name."""
    low, high = _bounds_of(limit, report)
    ends = [f"at least {_spoken(limit.metric, low)}"] if low is not None else []
    ends += [f"at most {_spoken(limit.metric, high)}"] if high is not None else []
    text = f"not in the file, {' and '.join(ends)}" if ends else "the file does not say it"
    if low is not None and low == high:
        text = _spoken(limit.metric, low)
    outcome = judged(limit, low, high)
    return Checked(limit=limit, outcome=outcome, text=f"{limit.text}: {outcome}: {text}")


def _is_time(metric: str) -> bool:
    return metric in LATENCIES or share_of(metric) is not None


def quantiles_named(text: str | None, limits: Sequence[Limit] = ()) -> dict[str, float]:
    """Return the percentiles of a report, name -> share: those of ``--percentiles 50,99.99``, or the usual ones.

    ``limits``: a percentile that one of them is about is among them, too. Raises InputError: one is none.
    """
    result = dict(QUANTILES) if text is None else {}
    for part in [] if text is None else text.split(","):
        share = share_of(f"p{part.strip().removeprefix('p')}")
        if share is None:
            allowed = "numbers between 0 and 100: 50,99.9"
            raise InputError("is no percentile", place="--percentiles", found=part, allowed=allowed)
        result[f"p{100 * share:.10g}"] = share
    for limit in limits:
        share = share_of(limit.metric)
        if share is not None and limit.label is None:
            result.setdefault(limit.metric, share)
    return dict(sorted(result.items(), key=lambda pair: pair[1]))


def _bounds_of(limit: Limit, report: Report) -> tuple[float | None, float | None]:
    """The number that a limit is about, as both bounds, or those of one that the file does not say."""
    n, n_errors, correct_per_s = report.requests, report.errors, report.correct_per_s
    latency_ms, bounds_ms = report.latency_ms, report.bounds_ms
    if limit.label is not None:
        row = next((row for row in report.labels if row.label == limit.label), None)
        if row is None:
            known = ", ".join(row.label for row in report.labels) or "none: its requests have no names"
            raise InputError(
                "has no request of that name", file=report.path, place=PLACE, found=limit.label, allowed=known
            )
        n, n_errors, latency_ms, bounds_ms = row.requests, row.errors, row.latency_ms, {}
        whole = row.throughput_per_s
        correct_per_s = None if whole is None else whole * (1 - n_errors / max(n, 1))
    if limit.metric == "throughput":
        return correct_per_s, correct_per_s
    if limit.metric == "errors":
        share = n_errors / n if n and report.errors_known else None
        return share, share
    if limit.label is not None and limit.metric not in latency_ms:
        allowed = f"{', '.join(latency_ms)}, or --label {limit.label} and the limit without 'of'"
        raise InputError(
            "is not computed by name of request", place=PLACE, found=limit.metric, allowed=allowed
        )
    value = latency_ms.get(limit.metric)
    return bounds_ms.get(limit.metric, (None, None)) if value is None else (value, value)


def _value_of(metric: str, text: str) -> float:
    units, wanted = _UNITS["time" if _is_time(metric) else metric]
    match = _NUMBER.fullmatch(text)
    factor = None if match is None else units.get(match[2].replace(" ", ""))
    if match is None or factor is None or (metric == "errors" and float(match[1]) * factor > 1):
        raise InputError(f"is no limit of {metric}", place=PLACE, found=text, allowed=wanted)
    return float(match[1]) * factor


def _spoken(metric: str, value: float) -> str:
    if _is_time(metric):
        return length(value)
    return percent(value) if metric == "errors" else f"{plain(value)} correct answers/s"
