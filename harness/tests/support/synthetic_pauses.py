# SPDX-License-Identifier: Apache-2.0
"""Made-up trials whose pauses are known: logs as the runtimes write them, and requests that waited for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Spans = Sequence[tuple[float, float]]
#: Requests and seconds of a trial: enough beyond p99 that a share of it may be said.
N_REQUESTS, LASTS_S, ORDINARY_S = 2400, 3.0, 0.003
#: From a Go process's launch to the start of its runtime's clock.
GO_STARTS_AFTER_S = 0.0037
GO_MARKS_S, GO_ENDS_S = 0.0002, 0.000004
AFTER_LOAD = "boundary-after-load.prom"


def write_jtl(path: Path, begun_ms: NDArray[np.int_], elapsed_ms: NDArray[np.int_], label: str) -> None:
    """Write requests that were all answered rightly, as JMeter does; arrays of whole milliseconds, shape (n,)."""
    pairs = zip(begun_ms.tolist(), elapsed_ms.tolist(), strict=True)
    lines = [f"{begun},{elapsed},{label},200,true\n" for begun, elapsed in pairs]
    path.write_text("timeStamp,elapsed,label,responseCode,success\n" + "".join(lines), "utf-8")


def pauses_of(begin_s: float, length_s: float, *, every_s: float = 0.4) -> list[tuple[float, float]]:
    """Return evenly spaced pauses of one length within a load that begins at ``begin_s``."""
    starts = np.arange(begin_s + 0.2, begin_s + LASTS_S - 0.1, every_s)
    return [(float(start), float(start) + length_s) for start in starts]


def jvm_log(launched_s: float, pauses: Spans, *, collector: str = "Serial") -> str:
    """Return a unified log with one collection a pause; times in epoch seconds."""
    lines = [_line(launched_s, launched_s, "gc     ", f"Using {collector}")]
    for number, (low, high) in enumerate(pauses):
        ms, ns = (high - low) * 1e3, round((high - low) * 1e9)
        work = f"GC({number}) Pause Young (Allocation Failure) 14M->8M(46M) {ms * 0.99:.3f}ms"
        stop = (
            f'Safepoint "SerialCollectForAllocation", Time since last: 61554736 ns, Reaching safepoint: 2784 ns, '
            f"At safepoint: {ns} ns, Leaving safepoint: 1763 ns, Total: {ns} ns, Threads: 0 runnable, 10 total"
        )
        lines += [_line(launched_s, high, "gc     ", work), _line(launched_s, high, "safepoint", stop)]
    return "\n".join(lines) + "\n"


def gctrace(launched_s: float, pauses: Spans) -> str:
    """Return what a Go process writes to stderr, one collection a pause, its first stop as long as the pause."""
    lines = ["listening host=127.0.0.1 port=1"]
    for number, (low, high) in enumerate(pauses, start=1):
        at_ms = int((low - launched_s - GO_STARTS_AFTER_S) * 1e3)
        lines.append(
            f"gc {number} @{at_ms / 1e3:.3f}s 0%: {_two_digits(high - low)}+{_two_digits(GO_MARKS_S)}+0.004 ms clock, "
            "0.11+0.037/0.010/0.17+0.008 ms cpu, 3->4->4 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P"
        )
    return "\n".join(lines) + "\n"


def go_metrics(pauses: Spans) -> str:
    """Return what a Go service's ``/metrics`` says of its last collection."""
    ended_s = pauses[-1][1] + GO_MARKS_S + GO_ENDS_S
    return f"go_gc_duration_seconds_count {len(pauses)}\ngo_memstats_last_gc_time_seconds {ended_s!r}\n"


def _two_digits(seconds: float) -> str:
    us, decimals = int(seconds * 1e6 + 1e-6), 3
    while us >= 100:
        us, decimals = us // 10, decimals - 1
    return f"{us / 10**decimals:.{decimals}f}"


def requests_behind(begin_s: float, pauses: Spans, rng: np.random.Generator) -> pd.DataFrame:
    """Return arrivals at a rate, each held until the pause it met was over, as a JTL in whole milliseconds."""
    start = np.sort(rng.uniform(begin_s, begin_s + LASTS_S, N_REQUESTS))
    work = rng.lognormal(np.log(ORDINARY_S), 0.3, N_REQUESTS)
    end = start + work
    for low, high in pauses:
        caught = (start < high) & (end > low)
        end[caught] += high - np.maximum(start[caught], low)
    elapsed = np.maximum(np.round((end - start) * 1e3), 1).astype(int)
    return pd.DataFrame(
        {"timeStamp": np.round(start * 1e3).astype(int), "elapsed": elapsed, "label": "work", "responseCode": 200,
        "success": "true"}
    )  # fmt: skip


def write_trial(
    folder: Path, *, runtime: str, launched_s: float, begin_s: float, pause_s: float, rng: np.random.Generator
) -> None:
    """Write the log of service and generator, and the requests, of one trial; times in epoch seconds."""
    pauses = pauses_of(begin_s, pause_s)
    if runtime == "go":
        (folder / "service.stderr.txt").write_text(gctrace(launched_s, pauses), "utf-8")
        (folder / AFTER_LOAD).write_text(go_metrics(pauses), "utf-8")
    else:
        (folder / "gc.log").write_text(jvm_log(launched_s, pauses), "utf-8")
    own = [(begin_s + 1.31, begin_s + 1.33)]
    (folder / "load" / "generator-gc.log").write_text(jvm_log(begin_s - 1, own, collector="G1"), "utf-8")
    sent = requests_behind(begin_s, pauses, rng)
    begun_ms, elapsed_ms = (sent[name].to_numpy() for name in ("timeStamp", "elapsed"))
    write_jtl(folder / "load" / "samples.jtl", begun_ms, elapsed_ms, "work")


def _line(launched_s: float, at_s: float, tags: str, text: str) -> str:
    return f"[{int(at_s * 1e3)}ms][{round((at_s - launched_s) * 1e9)}ns][info][{tags}] {text}"
