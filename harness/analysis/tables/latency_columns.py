# SPDX-License-Identifier: Apache-2.0
"""Latencies of a load as columns: of a trial, and of the echo service under the same load in the same session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from harness.analysis.stats.quantiles import LATENCIES, MEAN, quantile_refused, rank
from harness.analysis.stats.tool_latency import ECHO
from harness.analysis.tables.settled import settled_answers
from harness.formats.table import RequestTable
from harness.model import EchoReading, LoadSummary, TrialRecord


class Told(NamedTuple):
    """Latencies of one load in seconds; ``None`` or without a key: so many requests, or the tool, cannot tell.

    ``quantiles_s``: keys as those of ``LoadSummary``, such as p50 and p99.9.
    """

    mean_s: float | None = None
    quantiles_s: Mapping[str, float] = MappingProxyType({})
    max_s: float | None = None


def latencies_told(load: LoadSummary, requests: RequestTable | None, settle_s: float = 0.0) -> Told:
    """Return the latencies of a load's right answers, as the rows of its requests tell them or as the tool prints them.

    An error answered at once must not make a service look quick.

    Args:
        requests: the rows; ``None``: the tool wrote none. settle_s: of the load's begin that does not count, which
            a tool without rows cannot leave out: then nothing is told.
    """
    if requests is None:
        return Told() if settle_s else _printed(load)
    right = np.sort(settled_answers(requests, settle_s)[0])
    if right.size == 0:
        return Told()
    quantiles = {
        _key(q): float(right[rank(right.size, q) - 1])
        for q in LATENCIES.values()
        if quantile_refused(right.size, q) is None
    }
    return Told(float(right.mean()), quantiles, float(right[-1]))


def _printed(load: LoadSummary) -> Told:
    """What a tool without single requests printed itself, where it had requests enough for it."""
    n_latencies = load.n_requests if load.n_latencies is None else load.n_latencies
    quantiles = {
        _key(q): value
        for q in LATENCIES.values()
        if quantile_refused(n_latencies, q) is None and (value := load.quantile_s(q)) is not None
    }
    most = load.latency_quantiles_s.get("max", load.latency_quantiles_s.get("p100"))
    return Told(load.latency_mean_s, quantiles, most)


def latency_columns(record: TrialRecord, requests: RequestTable | None, settle_s: float) -> dict[str, object]:
    """Return the latencies of a trial's own load."""
    if record.load is None:
        return {}
    told = latencies_told(record.load, requests, settle_s)
    return _columns(told.mean_s, told.quantiles_s) | {"latency_max_s": told.max_s}


def echo_reading(readings: Iterable[EchoReading], record: TrialRecord) -> EchoReading | None:
    """Return what the echo service had under the load and mix of a trial; ``None``: it was not tried."""
    asked = record.planned.configuration
    found = (one for one in readings if one.load == asked.load and one.mix == asked.mix)
    return next(found, None)


def echo_columns(reading: EchoReading | None) -> dict[str, object]:
    """Return the latencies of the echo service; none where it was not tried, or nobody kept them."""
    if reading is None:
        return {}
    found = _columns(reading.latency_mean_s, reading.latency_quantiles_s)
    return {f"{ECHO}{column}": value for column, value in found.items()}


def _columns(mean_s: float | None, quantiles_s: Mapping[str, float]) -> dict[str, object]:
    return {MEAN: mean_s, **{column: quantiles_s.get(_key(q)) for column, q in LATENCIES.items()}}


def _key(q: float) -> str:
    return f"p{q * 100:g}"
