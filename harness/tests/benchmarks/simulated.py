# SPDX-License-Identifier: Apache-2.0
"""A result file as JMeter writes it, of any length, with the log of the pauses behind its peaks.

Simulated: an open loop on a queue with several servers and a pause every two seconds. The same
number of rows and seed give the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt
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
#: Rows that are simulated; a longer file repeats them.
STRETCH = 1_000_000
START_MS = 1_700_000_000_000
#: Between two stretches, so that the backlog of one does not reach into the next.
REST_S = 1.0

HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,"
    "bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
)


class _Stretch(NamedTuple):
    """Requests in the order in which their answers came, as lines of text.

    ``begins``: where each line begins in the text, and where the last one ends, shape (n + 1,). ``stamp_ms``: the time
    stamp at the beginning of each, shape (n,). ``last_s``: when the last request began, since the stretch did.
    """

    text: bytes
    begins: npt.NDArray[np.intp]
    stamp_ms: npt.NDArray[np.int64]
    pauses: Pauses
    last_s: float


def write_jtl(jtl: Path, gc_log: Path, *, n_rows: int, seed: int = 1) -> None:
    """Write ``n_rows`` requests with JMeter's default columns, and the unified JVM log of their pauses.

    A stretch of ``STRETCH`` rows is simulated; a longer file repeats it at later times.
    """
    one = _simulated(min(n_rows, STRETCH), np.random.default_rng(seed))
    begin_s, left = 0.0, n_rows
    with jtl.open("wb") as requests, gc_log.open("w", encoding="ascii") as log:
        requests.write(f"{HEADER}\n".encode())
        log.write(f"[{START_MS}ms][1000000ns][info][gc] Using G1\n")
        while left:
            n = min(left, STRETCH)
            requests.write(_later(one, round(begin_s * 1e3), n))
            _write_pauses(log, begin_s, one.pauses, until_s=one.last_s)
            begin_s += one.last_s + REST_S
            left -= n


def _simulated(n: int, rng: np.random.Generator) -> _Stretch:
    lasts_s = 1.1 * n / RATE_PER_S + 1.0
    pauses = regular_pauses(lasts_s, PAUSE_S, PAUSE_EVERY_S, rng)
    arrivals = arrival_times("poisson", RATE_PER_S, lasts_s, rng)[:n]
    start_s, latency_s = simulate_open(
        arrivals, service_times(n, ServiceLaw(), rng), servers=SERVERS, pauses=pauses
    )
    order = np.argsort(start_s + latency_s, kind="stable")  # JMeter writes a row when its answer has come
    stamp_ms = START_MS + np.floor(start_s[order] * 1e3).astype(np.int64)
    text = _lines(stamp_ms, np.maximum(np.round(latency_s[order] * 1e3).astype(np.int64), 1)).encode()
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1
    return _Stretch(text, np.append(0, ends), stamp_ms, pauses, float(arrivals[-1]))


def _later(one: _Stretch, by_ms: int, n: int) -> bytes:
    """Return the first ``n`` lines of a stretch with time stamps so much later, of as many digits as before."""
    if not by_ms and n == len(one.stamp_ms):
        return one.text
    text = np.frombuffer(one.text, dtype=np.uint8)[: one.begins[n]].copy()
    rest = one.stamp_ms[:n] + by_ms
    for place in range(len(str(START_MS)) - 1, -1, -1):
        rest, digit = np.divmod(rest, 10)
        text[one.begins[:n] + place] = digit + ord("0")
    return text.tobytes()


def _lines(stamp_ms: npt.NDArray[np.int64], elapsed_ms: npt.NDArray[np.int64]) -> str:
    n = len(stamp_ms)
    users = pd.Categorical.from_codes(
        np.arange(n) % 100, categories=pd.Index([f"users 1-{number}" for number in range(1, 101)])
    )
    columns = {
        "timeStamp": stamp_ms,
        "elapsed": elapsed_ms,
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
        "Latency": elapsed_ms,
        "IdleTime": 0,
        "Connect": 0,
    }
    return pd.DataFrame(columns).to_csv(index=False, header=False, lineterminator="\n")


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
