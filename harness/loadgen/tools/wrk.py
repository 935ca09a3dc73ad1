# SPDX-License-Identifier: Apache-2.0
"""wrk: closed loop by duration, the leanest of the generators; totals only, bodies not compared.

Of its latencies, which it corrects before it hands them over, those of the requests that were sent are restored
(``harness.formats.wrk_histogram``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from harness.errors import InputError
from harness.formats.wrk_histogram import (
    LEFT,
    UNDONE,
    LatencyHistogram,
    expected_interval_us,
    read_wrk_histogram,
    undo_correction,
)
from harness.loadgen.base import Installed, LoadSpec, plain_only
from harness.loadgen.summary import read_json_totals, read_order, read_totals
from harness.loadgen.template import QUANTILES, SCRIPT, TIMEOUT_S, LuaTool, connections, render_script
from harness.model import ClosedLoad, LoadProfile, LoadSummary

RESULT, HISTOGRAM = "wrk.json", "wrk_latency.csv"
#: wrk keeps latencies in whole microseconds.
RESOLUTION_S = 1e-6
MOST_THREADS = 16


@dataclass(frozen=True, kw_only=True)
class Wrk(LuaTool):
    """wrk as it is installed."""

    name: str = "wrk"
    how_to_get = "apt-get install wrk"
    outputs = (RESULT, HISTOGRAM, SCRIPT)

    @classmethod
    def of(cls, installed: Installed) -> Self:
        """Return the adapter of what is installed; half the machine is wrk's."""
        threads = min(max(2, installed.n_cpus // 2), MOST_THREADS)
        return cls(program=installed.programs.get("wrk"), threads=threads)

    def refusal(self, profile: LoadProfile) -> str | None:
        if not isinstance(profile, ClosedLoad):
            return "wrk has no rate: for an open loop use jmeter (or wrk2, k6, vegeta)"
        if profile.duration_s and profile.duration_s != int(profile.duration_s):
            return f"wrk counts whole seconds, found duration_s {profile.duration_s}: choose a whole number"
        return plain_only("wrk", profile, at_once=True, loops=False)

    def words(self, profile: LoadProfile) -> tuple[str, ...]:
        return ("--timeout", f"{TIMEOUT_S}s")

    def files(self, spec: LoadSpec) -> dict[str, str]:
        files = {"result": spec.folder / RESULT, "histogram": spec.folder / HISTOGRAM}
        return {SCRIPT: render_script(spec, self.n_threads(spec.profile), **files)}

    def read(self, folder: Path) -> LoadSummary:
        """Return exact totals. ``n_requests`` counts answers and exchanges that broke off.

        A timeout is an answer that came after ``TIMEOUT_S``: it is in ``errors_by_kind`` and among the answers,
        and its latency is not known.
        """
        result = read_totals(read_json_totals, folder / RESULT, self.name)
        n_answers, errors, duration_s = result["requests"], result["errors"], result["duration_us"] / 1e6
        broken = errors["connect"] + errors["read"] + errors["write"]
        return LoadSummary(
            n_requests=n_answers + broken,
            n_errors=errors["status"] + broken,
            start_epoch_s=None,
            duration_s=duration_s,
            offered_per_s=None,
            achieved_per_s=n_answers / duration_s if duration_s else 0.0,
            **_latencies(folder, result),
            resolution_s=RESOLUTION_S,
            has_requests=False,
            bodies_checked=False,
            errors_by_kind={kind: n for kind, n in errors.items() if n},
        )


adapter = Wrk.of


def _latencies(folder: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Return latencies of the requests that were sent, where that can be had; else those of wrk, and why."""
    try:
        match = _restored(folder, result)
    except InputError as problem:
        latency_us = result["latency_us"] if result["requests"] else {}
        latency_s = {name: us / 1e6 for name, us in latency_us.items()}
        return {
            "latency_mean_s": latency_s.pop("mean", None),
            "latency_quantiles_s": {name: value for name, value in latency_s.items() if name != "stdev"},
            "latency_method": f"{LEFT}: {problem.problem}",
        }
    ends = {"min": match.value_us[0], "max": match.value_us[-1]} if match.n else {}
    quantiles = {f"p{name}": match.quantile_s(float(name) / 100) for name in QUANTILES} if match.n else {}
    return {
        "latency_mean_s": match.mean_s,
        "latency_quantiles_s": {name: float(us) / 1e6 for name, us in ends.items()} | quantiles,
        "n_latencies": match.n,
        "latency_method": UNDONE,
    }


def _restored(folder: Path, result: dict[str, Any]) -> LatencyHistogram:
    if "histogram_rows" not in result:
        raise InputError(f"its script could not read the histogram ({result.get('histogram_refused')})")
    corrected = read_wrk_histogram(folder / HISTOGRAM)
    n_rows = corrected.value_us.size
    if n_rows != result["histogram_rows"]:
        raise InputError(f"{HISTOGRAM} has {n_rows} of {result['histogram_rows']} rows")
    n_answers, n = result["requests"], connections(read_order(folder).profile)
    interval_us = expected_interval_us(duration_us=result["duration_us"], n_answers=n_answers, connections=n)
    return undo_correction(corrected, interval_us, n_recorded=n_answers - result["errors"]["timeout"])
