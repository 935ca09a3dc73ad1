# SPDX-License-Identifier: Apache-2.0
"""wrk2: open loop at a rate, latencies counted from when a request was due; totals only, bodies not compared.

Each connection has an equal share of the rate and a schedule of its own, which begins when it is opened: connections of
a thread 5 ms apart. So there are fewer arrivals than rate times duration (``n_due``), and after a while wrk2 empties
its histogram: in a longer load latencies are of the rest (``n_latencies``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from harness.errors import TrialFailure
from harness.formats.wrk_text import read_threads, read_wrk2
from harness.loadgen.base import LoadSpec, plain_only
from harness.loadgen.summary import read_order, read_totals
from harness.loadgen.template import SCRIPT, TIMEOUT_S, LuaTool, render_script
from harness.model import LoadProfile, LoadSummary, OpenLoad

#: From the opening of one connection of a thread to that of the next.
APART_MS = 5


def n_due(profile: OpenLoad, n_threads: int) -> int:
    """Return how many requests the connections' schedules have before the load's end."""
    connections = profile.connections // n_threads
    rate_per_s, lasts_ms = int(profile.rate_per_s), int(profile.duration_s) * 1000
    each = [
        -(-max(0, lasts_ms - APART_MS * place) * rate_per_s // (1000 * connections * n_threads))
        for place in range(connections)
    ]
    return n_threads * sum(each)


RESULT = "wrk2.txt"


@dataclass(frozen=True, kw_only=True)
class Wrk2(LuaTool):
    """wrk2 as it is installed."""

    name: str = "wrk2"
    how_to_get = "make generators WRK2_SOURCE=FOLDER"
    outputs = (RESULT, SCRIPT)
    stdout = RESULT

    def refusal(self, profile: LoadProfile) -> str | None:
        if not isinstance(profile, OpenLoad):
            return "wrk2 asks at a rate: use wrk (or k6, jmeter, locust) for a closed loop"
        for what, value in (("rate_per_s", profile.rate_per_s), ("duration_s", profile.duration_s)):
            if value != int(value):
                return f"wrk2 has whole numbers for {what}, found {value:g}: choose one"
        return plain_only("wrk2", profile, waits=True, even=True)

    def words(self, profile: LoadProfile) -> tuple[str, ...]:
        assert isinstance(profile, OpenLoad)  # it supports no other
        # a connection that sent nothing for so long counts as a timeout, even when nothing was due on it
        timeout_s = max(TIMEOUT_S, math.ceil(2 * profile.connections / profile.rate_per_s))
        return ("-R", str(int(profile.rate_per_s)), "--timeout", f"{timeout_s}s")

    def files(self, spec: LoadSpec) -> dict[str, str]:
        return {SCRIPT: render_script(spec, self.n_threads(spec.profile))}

    def read(self, folder: Path) -> LoadSummary:
        """Return what wrk2 printed. ``n_dropped``: due and not sent, because their connection was still waiting."""
        profile, path = read_order(folder).profile, folder / RESULT
        assert isinstance(profile, OpenLoad)  # it supports no other
        table = read_totals(read_wrk2, path, self.name, "generator.stderr.txt", RESULT)
        total, kinds = table.total, table.errors_by_kind
        if total is None or table.duration_s is None:
            raise TrialFailure("failed", f"{path} has no totals")
        n_requests = total.n_requests
        answered = n_requests - total.n_unanswered
        achieved_per_s = answered / table.duration_s if table.duration_s else 0.0
        n_threads = read_threads(path) or self.n_threads(profile)
        # by Little's law, the most that were sent and not answered at the end: a connection waits for its answer
        n_under_way = min(profile.connections, math.ceil(achieved_per_s * (total.latency_mean_s or 0.0)))
        quantiles = dict(total.latency_quantiles_s)
        if total.latency_max_s is not None:
            quantiles["max"] = total.latency_max_s
        return LoadSummary(
            n_requests=n_requests,
            n_errors=kinds.get("status", 0) + total.n_unanswered,
            start_epoch_s=None,
            duration_s=table.duration_s,
            offered_per_s=profile.rate_per_s,
            achieved_per_s=achieved_per_s,
            latency_mean_s=total.latency_mean_s,
            latency_quantiles_s=quantiles,
            n_latencies=table.n_latencies,
            resolution_s=table.resolution_s,
            has_requests=False,
            n_dropped=max(0, n_due(profile, n_threads) - n_requests - n_under_way),
            bodies_checked=False,
            errors_by_kind=kinds,
        )


adapter = Wrk2.of
