# SPDX-License-Identifier: Apache-2.0
"""Analyse a file of requests that did not come from here: JMeter's, Locust's, anybody's.

Everything said is about this one file, that is one process under one load: its intervals
do not carry over to a second trial, and the report says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.analysis.attribution import CauseName, attributable_fractions
from harness.analysis.checks import judge_resolution
from harness.analysis.clocks import ClockOffset, estimate_clock_offset
from harness.analysis.matching import Span, coincidence_test, match_events
from harness.analysis.quantiles import quantile_ci
from harness.analysis.slow_periods import Stall
from harness.analysis.stalls import detect_stalls
from harness.analysis.within_trial import batch_means_ci
from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.gc_events import GcLog
from harness.formats.table import AggregateTable, RequestTable
from harness.model import Estimate, Frozen

FloatArray = npt.NDArray[np.float64]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
#: A stall and a pause belong together when they touch within this.
TOLERANCE_S = 0.005
FEWEST_FOR_INTERVALS = 100
#: No load generator of one machine keeps more requests open on average, and none is answered sooner.
MOST_OUTSTANDING, SHORTEST_S = 2000.0, 5e-6


class Report(Frozen):
    """What can be said of one file. ``None``: cannot be said, and ``warnings`` say why."""

    path: Path
    source: str
    requests: int
    errors: int
    start_epoch_s: float | None
    duration_s: float | None
    throughput_per_s: float | None = Field(description="answers per second, errors included")
    correct_per_s: float | None
    resolution_ms: float
    latency_ms: dict[str, float | None] = Field(
        description="of successful requests: mean, p50 ... p99.9, max"
    )
    intervals: dict[str, tuple[float, float] | None]
    errors_by_kind: dict[str, int] = Field(default_factory=dict)
    stalls: tuple[Stall, ...] | None = Field(
        description="None: the file has no single requests, or no start times"
    )
    causes: tuple[str | None, ...] = Field(default=(), description="of each stall; None: no log was given")
    attribution: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The report as a program reads it, with null for what cannot be said."""
        plain = self.model_dump(mode="json", exclude={"path", "stalls", "causes"})
        plain["path"] = str(self.path)
        plain["stalls"] = [
            {
                "start_epoch_s": stall.start_s,
                "end_epoch_s": stall.end_s,
                "kind": stall.kind,
                "cause": cause,
                "requests": stall.n_requests,
            }
            for stall, cause in zip(
                self.stalls or (), self.causes or [None] * len(self.stalls or ()), strict=True
            )
        ]
        return plain


def report_file(path: Path, gc_log: GcLog | None = None) -> Report:
    """Read ``path`` and analyse it; with ``gc_log``, attribute its peaks to the runtime's pauses.

    Raises:
        InputError: the file is not one that can be read, or holds no request at all.
    """
    return report_table(read_any(path), gc_log)


def report_table(table: RequestTable | AggregateTable, gc_log: GcLog | None = None) -> Report:
    """Analyse what has been read already.

    Raises:
        InputError: it holds no request at all.
    """
    if isinstance(table, AggregateTable):
        return _of_totals(table, gc_log)
    return _of_requests(table, gc_log)


def _of_totals(table: AggregateTable, gc_log: GcLog | None) -> Report:
    total = table.total
    if total is None:
        raise InputError(
            "holds no totals over all requests",
            file=table.path,
            found=table.kind,
            allowed="Locust's _stats.csv, or raw samples",
        )
    known = total.latency_quantiles_s
    latency: dict[str, float | None] = {"mean": _ms(total.latency_mean_s)}
    latency |= {name: _ms(known.get(name)) for name in QUANTILES}
    latency["max"] = _ms(total.latency_max_s)
    said = [
        *table.notes,
        "totals only: no interval, stall or attribution can come from them; keep single requests",
    ]
    if gc_log is not None:
        said.append("the runtime's log was not used: this file has no single requests")
    return Report(
        path=table.path,
        source=table.source,
        requests=total.n_requests,
        errors=total.n_errors,
        start_epoch_s=table.start_epoch_s,
        duration_s=table.duration_s,
        throughput_per_s=total.answers_per_s,
        correct_per_s=None
        if total.answers_per_s is None or not total.n_requests
        else total.answers_per_s * (1 - total.n_errors / total.n_requests),
        resolution_ms=table.resolution_s * 1e3,
        latency_ms=latency,
        intervals=dict.fromkeys(["mean", *QUANTILES]),
        errors_by_kind=table.errors_by_kind,
        stalls=None,
        warnings=tuple(said),
    )


def _of_requests(table: RequestTable, gc_log: GcLog | None) -> Report:
    if not table.n_requests:
        raise InputError(
            "holds no request",
            file=table.path,
            found=str(table.unreadable),
            allowed="a header and at least one row",
        )
    said = list(table.notes)
    if table.unreadable.n:
        said.append(f"left out: {table.unreadable}")
    if table.n_transactions_left_out:
        said.append(f"left out: {table.n_transactions_left_out} rows that sum up other rows")
    if not table.ok_known:
        said.append("the file does not say which requests failed: all are taken as successful")
    order = (
        np.argsort(table.start_epoch_s, kind="stable")
        if table.has_start_times
        else np.arange(table.n_requests)
    )
    ok = table.ok[order]
    start, latency = table.start_epoch_s[order][ok], table.latency_s[order][ok]
    if table.n_errors:
        said.append(
            f"latencies are of the {len(latency):,} successful requests; {table.n_errors:,} errors are left out"
            if len(latency)
            else "no request succeeded: there is no latency to speak of"
        )
    values, intervals = _latencies(latency, table.resolution_s, said)
    said += _unit_check(table)
    duration = table.duration_s
    stalls, causes, attribution = _peaks(table, start, latency, gc_log, said)
    return Report(
        path=table.path,
        source=table.source,
        requests=table.n_requests,
        errors=table.n_errors,
        start_epoch_s=None if table.from_zero else table.first_start_epoch_s,
        duration_s=duration,
        throughput_per_s=table.n_requests / duration if duration else None,
        correct_per_s=len(latency) / duration if duration else None,
        resolution_ms=table.resolution_s * 1e3,
        latency_ms=values,
        intervals=intervals,
        stalls=stalls,
        causes=causes,
        attribution=attribution,
        warnings=tuple(said),
    )


def _latencies(
    latency: FloatArray, resolution_s: float, said: list[str]
) -> tuple[dict[str, float | None], dict[str, tuple[float, float] | None]]:
    names = ["mean", *QUANTILES, "max"]
    if not len(latency):
        return dict.fromkeys(names), dict.fromkeys(names[:-1])
    values: dict[str, float | None] = {"mean": float(latency.mean()) * 1e3}
    intervals: dict[str, tuple[float, float] | None] = {"mean": None}
    if len(latency) >= FEWEST_FOR_INTERVALS:
        intervals["mean"] = _bounds_ms(batch_means_ci(latency))
    else:
        said.append(f"{len(latency)} successful requests: too few for an interval")
    for name, q in QUANTILES.items():
        estimate = quantile_ci(latency, q)
        values[name] = _ms(estimate.value)
        intervals[name] = _bounds_ms(estimate)
        said += [f"{name}: {warning}" for warning in estimate.warnings if estimate.value is None]
    values["max"] = float(latency.max()) * 1e3
    said += judge_resolution(float(np.median(latency)), resolution_s, "quantile")[2]
    said.append(
        "intervals speak of this one trial only; another start of the same process may lie outside them"
    )
    return values, intervals


def _peaks(
    table: RequestTable, start: FloatArray, latency: FloatArray, gc_log: GcLog | None, said: list[str]
) -> tuple[tuple[Stall, ...] | None, tuple[str | None, ...], dict[str, Any] | None]:
    if not table.has_start_times:
        said.append("no start times: neither stalls nor attribution")
        return None, (), None
    if not len(latency):
        return (), (), None
    stalls = tuple(detect_stalls(start, latency, resolution_s=table.resolution_s))
    if gc_log is None:
        return stalls, (None,) * len(stalls), None
    if table.from_zero:
        said.append("the runtime's log was not used: the file does not say when its times begin")
        return stalls, (None,) * len(stalls), None
    said += [f"runtime's log: {warning}" for warning in gc_log.warnings]
    if gc_log.n_unknown:
        said.append(
            f"runtime's log: {gc_log.n_unknown} lines could not be read, such as {gc_log.unknown_examples[0]!r}"
        )
    events = _spans(gc_log)
    said += _coverage(gc_log, float(start.min()), float((start + latency).max()))
    pauses = [span for cause in events.values() for span in cause]
    refusal, offset = _why_not(gc_log, pauses, start, latency)
    if refusal:
        said.append(f"attribution refused: {refusal}")
        return (
            stalls,
            (None,) * len(stalls),
            {"refused": refusal, "clock_offset_s": offset and offset.offset_s},
        )
    causes = _causes(stalls, events)
    attribution = _attribution(start, latency, events, stalls, offset, said)
    return stalls, causes, attribution


def _coverage(gc_log: GcLog, first_s: float, last_s: float) -> list[str]:
    """A log that begins after the first request or ends before the last answer leaves peaks unexplained."""
    if gc_log.clock != "epoch" or gc_log.start_s is None or gc_log.end_s is None or not gc_log.events:
        return []
    # Between two events a log is silent: only more than its longest silence means that it is missing.
    edges = np.array([gc_log.start_s, *sorted(event.end_s for event in gc_log.events), gc_log.end_s])
    silence = max(1.0, 2 * float(np.diff(edges).max()))
    said = []
    if first_s + silence < gc_log.start_s <= last_s:
        said.append(
            f"the runtime's log begins {gc_log.start_s - first_s:,.1f} s after the first request: "
            "what was paused before is not in it, and counts as unexplained"
        )
    if first_s <= gc_log.end_s < last_s - silence:
        said.append(
            f"the runtime's log ends {last_s - gc_log.end_s:,.1f} s before the last answer: "
            "what was paused after is not in it, and counts as unexplained"
        )
    return said


def _spans(gc_log: GcLog) -> dict[CauseName, list[Span]]:
    spans: dict[CauseName, list[Span]] = {}
    for event in gc_log.events:
        spans.setdefault(event.cause, []).append((event.start_s, event.end_s))
    return spans


def _why_not(
    gc_log: GcLog, pauses: Sequence[Span], start: FloatArray, latency: FloatArray
) -> tuple[str | None, ClockOffset | None]:
    """Return the reason why attribution would be wrong, or ``None``, and what is known of the clocks."""
    if not pauses:
        return "the log has no pause", None
    if gc_log.clock != "epoch":
        return (
            "the log has no wall-clock stamps: write it with -Xlog:...:timemillis,uptimenanos, "
            "or give the start of the process",
            None,
        )
    first, last = float(start.min()), float((start + latency).max())
    inside = [pause for pause in pauses if pause[1] >= first and pause[0] <= last]
    if not inside:
        return (
            "no pause falls into the time of the requests: another process's log, or clocks that do not agree",
            None,
        )
    ordinary = float(np.median(latency))
    visible = [pause for pause in inside if pause[1] - pause[0] >= 2 * ordinary]
    offset = estimate_clock_offset(start + latency, visible, median_service_s=ordinary)
    if offset.offset_s is not None and not offset.supports_attribution:
        return offset.why, offset
    return None, offset


def _causes(stalls: Sequence[Stall], events: dict[CauseName, list[Span]]) -> tuple[str | None, ...]:
    named: list[str | None] = ["unexplained"] * len(stalls)
    spans = [(stall.start_s, stall.end_s) for stall in stalls]
    for cause in reversed(list(events)):
        for found, _ in match_events(spans, events[cause], tolerance_s=TOLERANCE_S).pairs:
            named[found] = cause
    return tuple(named)


def _attribution(
    start: FloatArray,
    latency: FloatArray,
    events: dict[CauseName, list[Span]],
    stalls: Sequence[Stall],
    offset: ClockOffset | None,
    said: list[str],
) -> dict[str, Any]:
    window = (float(start.min()), float((start + latency).max()))
    hard = [(stall.start_s, stall.end_s) for stall in stalls if stall.kind == "stall"]
    pauses = [span for cause in events.values() for span in cause]
    chance = coincidence_test(hard, pauses, window=window, tolerance_s=TOLERANCE_S)
    if chance.p_value is not None and chance.p_value > 0.05:
        said.append(
            f"stalls and pauses coincide no more than chance would have it ({chance.n_matched} of {len(hard)}, "
            f"{chance.expected_by_chance:.1f} by chance): is this the log of the same process?"
        )
    result: dict[str, Any] = {
        "clock_offset_s": offset.offset_s if offset else None,
        "coincidence": chance.model_dump(mode="json"),
    }
    names = ("p99", "p99.9")
    taken_apart = attributable_fractions(
        start, latency, events, quantiles=[QUANTILES[name] for name in names]
    )
    for name, parts in zip(names, taken_apart, strict=True):
        said += [f"{name}: {warning}" for warning in parts.warnings]
        result[name] = {
            "share": _plain(parts.quantile_share),
            "share_lower_bound": _plain(parts.quantile_share_lower),
            "share_upper_bound": _plain(parts.quantile_share_upper),
            "causes": {part.cause: _plain(part.share_of_tail) for part in parts.causes},
        }
    return result


def _unit_check(table: RequestTable) -> list[str]:
    """Latencies many times longer than the whole file lasted are in another unit."""
    if not table.has_start_times or table.n_requests < 2:
        return []
    span = float(np.ptp(table.start_epoch_s))
    typical = float(np.median(table.latency_s))
    outstanding = float(table.latency_s.sum()) / span if span > 0 else 0.0
    if span > 0 and typical > 2 * span:
        return [
            f"the median latency ({typical:,.1f} s) is longer than all requests took to start ({span:,.1f} s): "
            "are latencies in microseconds rather than milliseconds?"
        ]
    if outstanding > MOST_OUTSTANDING:
        return [
            f"these latencies would mean {outstanding:,.0f} requests outstanding on average: "
            "are they in microseconds rather than milliseconds?"
        ]
    if 0 < typical < SHORTEST_S:
        return [
            f"a median latency of {typical * 1e6:.2g} us is shorter than any way to a service and back: "
            "are latencies in seconds rather than milliseconds?"
        ]
    return []


def _plain(estimate: Estimate) -> dict[str, float | None]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _bounds_ms(estimate: Estimate) -> tuple[float, float] | None:
    if estimate.low is None or estimate.high is None:
        return None
    return estimate.low * 1e3, estimate.high * 1e3
