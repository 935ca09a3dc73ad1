# SPDX-License-Identifier: Apache-2.0
"""``--fail-if``: the form of a limit, which all commands share, and the limits on the numbers of one file.

A percentile that a summary does not print may still be known to lie on one side of the limit: then that decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.errors import InputError
from harness.formats.table import is_percentile
from harness.report.numbers import length, percent, rate
from harness.report.result import QUANTILES, Report

PLACE = "--fail-if"
_FORM = re.compile(
    r"\s*(?P<metric>[a-z0-9.]+)(?:\s+of\s+(?P<label>.+?))?\s*(?P<sign>[<>])\s*(?P<limit>\S+(?:\s+\S+)?)\s*"
)
_TIME = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(us|ms|s)", re.ASCII)
_PER_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_RATE = re.compile(r"(\d+(?:\.\d+)?)(?:\s*/\s*s)?", re.ASCII)
_SHARE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(%?)", re.ASCII)
LATENCIES = ("mean", *QUANTILES, "max")
METRICS = ("throughput", *LATENCIES, "errors")
ALLOWED = (
    "'p99 > 250ms', 'throughput < 500', 'errors > 1%' or 'p90 of GET /orders > 80ms'; metrics: "
    + ", ".join(METRICS)
)
Outcome = Literal["exceeded", "kept", "cannot be told"]


@dataclass(frozen=True, kw_only=True)
class LimitParts:
    """What every limit has, and its text; ``label``: a name of request."""

    text: str
    metric: str
    label: str | None
    sign: Literal["<", ">"]


@dataclass(frozen=True, kw_only=True)
class WrittenLimit(LimitParts):
    """A limit whose ``value`` is as it was written, of whatever unit."""

    value: str


@dataclass(frozen=True, kw_only=True)
class FileLimit(LimitParts):
    """A limit on the numbers of one file, in ms, correct answers per second, or as a share."""

    value: float


@dataclass(frozen=True, kw_only=True)
class CheckedLimit:
    """A limit and what the file says of it."""

    text: str
    outcome: Outcome


def share_of(name: str) -> float | None:
    """Return the share that a percentile such as ``p99.9`` means; ``None``: it is no percentile."""
    digits = name.removeprefix("p")
    known = name[:1] == "p" and is_percentile(digits) and 0 < float(digits) < 100
    return float(digits) / 100 if known else None


def parts_of_limit(text: str, metrics: Sequence[str], allowed: str, *, free: bool = False) -> WrittenLimit:
    """Return the parts of a text such as ``p99 of GET /orders > 1.05``.

    Args:
        free: any percentile is a metric, too.

    Raises:
        InputError: it has no such form, or another metric.
    """
    match = _FORM.fullmatch(text)
    if match is None or (match["metric"] not in metrics and not (free and share_of(match["metric"]))):
        raise InputError("is no limit", place=PLACE, found=text, allowed=allowed)
    return WrittenLimit(
        text=text.strip(),
        metric=match["metric"],
        label=match["label"],
        sign=">" if match["sign"] == ">" else "<",
        value=match["limit"],
    )


def file_limit(text: str) -> FileLimit:
    """Return the limit that a text such as ``p99 > 250ms`` means.

    Raises:
        InputError: it means none, or its unit is missing.
    """
    parts = parts_of_limit(text, METRICS, ALLOWED, free=True)
    value = _value(parts.metric, parts.value)
    if value is None:
        wanted = (
            "a time with its unit, such as 250ms"
            if _is_time(parts.metric)
            else "a share, such as 1% or 0.01"
            if parts.metric == "errors"
            else "correct answers per second, such as 500"
        )
        raise InputError(f"is no limit of {parts.metric}", place=PLACE, found=parts.value, allowed=wanted)
    return FileLimit(text=parts.text, metric=parts.metric, label=parts.label, sign=parts.sign, value=value)


def check_file(limit: FileLimit, report: Report) -> CheckedLimit:
    """Return whether a number of the file lies beyond its limit.

    Raises:
        InputError: the file has no request of that name, or no such number of one name.
    """
    value, bounds = _number_of(limit, report)
    if value is not None:
        bounds = (value, value)
        text = _spoken(limit.metric, value)
    elif bounds is not None:
        low, high = bounds
        ends = [f"at least {_spoken(limit.metric, low)}"] if low is not None else []
        ends += [f"at most {_spoken(limit.metric, high)}"] if high is not None else []
        text = f"not in the file, {' and '.join(ends)}"
    else:
        return CheckedLimit(
            text=f"{limit.text}: cannot be told: the file does not say it", outcome="cannot be told"
        )
    outcome = _judged(limit, *bounds)
    return CheckedLimit(text=f"{limit.text}: {outcome}: {text}", outcome=outcome)


def _is_time(metric: str) -> bool:
    return metric in LATENCIES or share_of(metric) is not None


def quantiles_named(text: str | None, limits: Sequence[FileLimit] = ()) -> dict[str, float]:
    """Return the percentiles of a report, name -> share: those of ``--percentiles 50,99.99``, or the usual ones.

    Args:
        limits: a percentile that one of them is about is among them, too.

    Raises:
        InputError: one is none.
    """
    result = dict(QUANTILES) if text is None else {}
    for part in (text or "").split(",") if text is not None else ():
        name = f"p{part.strip().removeprefix('p')}"
        share = share_of(name)
        if share is None:
            raise InputError(
                "is no percentile",
                place="--percentiles",
                found=part,
                allowed="numbers between 0 and 100: 50,99.9",
            )
        result[f"p{100 * share:.10g}"] = share
    for limit in limits:
        share = share_of(limit.metric)
        if share is not None and limit.label is None:
            result.setdefault(limit.metric, share)
    return dict(sorted(result.items(), key=lambda pair: pair[1]))


def _judged(limit: FileLimit, low: float | None, high: float | None) -> Outcome:
    if limit.sign == ">":
        if low is not None and low > limit.value:
            return "exceeded"
        return "kept" if high is not None and high <= limit.value else "cannot be told"
    if high is not None and high < limit.value:
        return "exceeded"
    return "kept" if low is not None and low >= limit.value else "cannot be told"


def _number_of(limit: FileLimit, report: Report) -> tuple[float | None, tuple[float | None, float | None] | None]:
    """The number that a limit is about, and the bounds of one that the file does not say."""
    if limit.label is None:
        if limit.metric == "throughput":
            return report.correct_per_s, None
        if limit.metric == "errors":
            reported = report.requests and report.errors_known
            return report.errors / report.requests if reported else None, None
        return report.latency_ms.get(limit.metric), report.bounds_ms.get(limit.metric)
    row = next((row for row in report.labels if row.label == limit.label), None)
    if row is None:
        known = ", ".join(row.label for row in report.labels) or "none: its requests have no names"
        raise InputError(
            "has no request of that name", file=report.path, place=PLACE, found=limit.label, allowed=known
        )
    if limit.metric == "throughput":
        whole = row.throughput_per_s
        return None if whole is None else whole * (1 - row.errors / max(row.requests, 1)), None
    if limit.metric == "errors":
        return row.errors / row.requests if row.requests and report.errors_known else None, None
    if limit.metric not in row.latency_ms:
        raise InputError(
            "is not computed by name of request",
            place=PLACE,
            found=limit.metric,
            allowed=f"{', '.join(row.latency_ms)}, or --label {limit.label} and the limit without 'of'",
        )
    return row.latency_ms[limit.metric], None


def _value(metric: str, text: str) -> float | None:
    if _is_time(metric):
        match = _TIME.fullmatch(text)
        return None if match is None else float(match[1]) * _PER_MS[match[2]]
    if metric == "errors":
        match = _SHARE.fullmatch(text)
        share = None if match is None else float(match[1]) / (100 if match[2] else 1)
        return share if share is not None and share <= 1 else None
    match = _RATE.fullmatch(text)
    return None if match is None else float(match[1])


def _spoken(metric: str, value: float) -> str:
    if _is_time(metric):
        return length(value)
    return percent(value) if metric == "errors" else f"{rate(value)} correct answers/s"
