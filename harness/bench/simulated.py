# SPDX-License-Identifier: Apache-2.0
"""A result file as JMeter writes it, of any length, with the log of the pauses behind its peaks.

Simulated: an open loop on a queue with several servers and a pause every two seconds. The same
number of rows and seed give the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd

from harness.verify.simulated.queueing import (
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)

RATE_PER_S = 2000.0
PAUSE_S, PAUSE_EVERY_S = 0.03, 2.0
SERVERS = 16
#: Rows simulated at a time, which bounds the memory of the simulation.
STRETCH = 1_000_000
START_MS = 1_700_000_000_000
#: Between two stretches, so that the backlog of one does not reach into the next.
REST_S = 1.0

HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,"
    "bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
)


def write_jtl(jtl: Path, gc_log: Path, *, n_rows: int, seed: int = 1) -> None:
    """Write ``n_rows`` requests with JMeter's default columns, and the unified JVM log of their pauses."""
    rng = np.random.default_rng(seed)
    begin_s, left = 0.0, n_rows
    with jtl.open("w", encoding="ascii") as requests, gc_log.open("w", encoding="ascii") as log:
        requests.write(HEADER + "\n")
        log.write(f"[{START_MS}ms][1000000ns][info][gc] Using G1\n")
        while left:
            n = min(left, STRETCH)
            lasts_s = 1.1 * n / RATE_PER_S + 1.0
            pauses = regular_pauses(lasts_s, PAUSE_S, PAUSE_EVERY_S, rng)
            arrivals = arrival_times("poisson", RATE_PER_S, lasts_s, rng)[:n]
            start, latency = simulate_open(
                arrivals, service_times(n, ServiceLaw(), rng), servers=SERVERS, pauses=pauses
            )
            _write_requests(requests, begin_s + start, latency)
            _write_pauses(log, begin_s, pauses, until_s=float(arrivals[-1]))
            begin_s += float(arrivals[-1]) + REST_S
            left -= n


def _write_requests(stream: IO[str], start_s: np.ndarray, latency_s: np.ndarray) -> None:
    order = np.argsort(start_s + latency_s, kind="stable")  # JMeter writes a row when its answer has come
    n = len(order)
    elapsed = np.maximum(np.round(latency_s[order] * 1e3).astype(np.int64), 1)
    users = pd.Categorical.from_codes(
        np.arange(n) % 100, categories=pd.Index([f"users 1-{number}" for number in range(1, 101)])
    )
    pd.DataFrame(
        {
            "timeStamp": START_MS + np.floor(start_s[order] * 1e3).astype(np.int64),
            "elapsed": elapsed,
            "label": "uppercase",
            "responseCode": 200,
            "responseMessage": "OK",
            "threadName": users,
            "dataType": "text",
            "success": "true",
            "failureMessage": "",
            "bytes": 84,
            "sentBytes": 189,
            "grpThreads": 100,
            "allThreads": 100,
            "URL": "http://127.0.0.1:8080/uppercase",
            "Latency": elapsed,
            "IdleTime": 0,
            "Connect": 0,
        }
    ).to_csv(stream, index=False, header=False)


def _write_pauses(stream: IO[str], begin_s: float, pauses: Pauses, until_s: float) -> None:
    for start_s, end_s in pauses.spans:
        if start_s > until_s:
            return
        at_ms = START_MS + round((begin_s + end_s) * 1e3)
        uptime_ns, total_ns = 1_000_000 + round((begin_s + end_s) * 1e9), round((end_s - start_s) * 1e9)
        stream.write(
            f'[{at_ms}ms][{uptime_ns}ns][info][safepoint   ] Safepoint "G1CollectForAllocation", '
            f"Time since last: 1000000 ns, Reaching safepoint: 1000 ns, Cleanup: 2000 ns, "
            f"At safepoint: {total_ns - 3000} ns, Total: {total_ns} ns\n"
        )
