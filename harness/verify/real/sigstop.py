# SPDX-License-Identifier: Apache-2.0
"""``verify sigstop``: stalls made for real, by stopping and continuing a running service at known times.

A span in which the client's own event loop was late, or in half of which it waited for a CPU, belongs to the client;
one through half of which the service waited for a CPU, or the hypervisor took it away, to the machine. Neither is
counted against the detection. ``RunQueue`` witnesses that by the kernel's counts, in which a stop leaves no trace.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.spans import Span
from harness.analysis.attribution.stalls import detect_stalls
from harness.analysis.stats.inputs import Floats
from harness.project import find_root
from harness.toolchains import Surroundings
from harness.verify.real.go_service import build_go_service, running_service
from harness.verify.simulated.result import Cells, VerifyResult

RATE_PER_S = 200.0
EVERY_S = 1.0
SHORTEST_S, LONGEST_S = 0.15, 0.4
RECALL, PRECISION = 1.0, 0.95
#: The client sends this late only when it was held up itself.
LATE_S = 0.005
_READ_EVERY_S = 0.005
_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class RunQueue:
    """Reads the waiting time of some processes again and again in a thread; use as a context manager."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = tuple(pids)
        self._at: list[float] = []
        self._counts: list[list[float]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="run-queue", daemon=True)

    def __enter__(self) -> RunQueue:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def waited_s(self, pid: int | None, start_s: float, end_s: float) -> float:
        """Return how long the thread of a process that waited longest waited between two monotonic times; ``None``: the
        CPU time that the hypervisor gave to others, over all CPUs."""
        column = -1 if pid is None else self._pids.index(pid)
        if len(self._at) < 2:
            return 0.0
        first = max(bisect_right(self._at, start_s) - 1, 0)
        last = min(bisect_left(self._at, end_s), len(self._at) - 1)
        return self._counts[last][column] - self._counts[first][column]

    def _work(self) -> None:
        before: list[dict[str, float]] = [{} for _ in self._pids]
        totals = [0.0] * len(self._pids)
        while not self._stopping.wait(_READ_EVERY_S):
            at = time.monotonic()
            for i, pid in enumerate(self._pids):
                now = _waits_s(pid)
                totals[i] += max((s - before[i].get(thread, s) for thread, s in now.items()), default=0.0)
                before[i] = now
            self._counts.append([*totals, getattr(psutil.cpu_times(), "steal", 0.0)])
            self._at.append(at)  # last: who asks meanwhile finds a count for each time


def _waits_s(pid: int) -> dict[str, float]:
    """Return how long each thread of a process has waited for a CPU so far."""
    waits: dict[str, float] = {}
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):  # a thread that has just ended
            waits[file.parent.name] = int(file.read_bytes().split()[1]) / 1e9
    return waits


@dataclass(frozen=True)
class StoppedService:
    """A service that was stopped and continued, as the kernel and the client saw it: requests, stops, and when the
    client was late itself, in seconds on its monotonic clock."""

    pid: int
    queue: RunQueue
    rows: list[Span] = field(default_factory=list)
    stops: list[Span] = field(default_factory=list)
    late: list[Span] = field(default_factory=list)


def sigstop(sims: int, seed: int) -> VerifyResult:
    """Stop a real service ``sims`` times. Control: the same stalls shifted by half a period match nothing.

    Raises RematchError: the service could not be built, or does not answer.
    """
    return judged(stop_service(sims, seed), sims, seed)


def stop_service(sims: int, seed: int) -> StoppedService:
    """Stop and continue a real service ``sims`` times under load; raises as ``sigstop``."""
    rng = np.random.default_rng(seed)
    starts = EVERY_S * (np.arange(sims) + 1 + rng.uniform(0.1, 0.4, sims))
    lengths = rng.uniform(SHORTEST_S, LONGEST_S, sims)
    with tempfile.TemporaryDirectory(prefix="rematch-sigstop-") as folder:
        binary = build_go_service("echo/go-raw", Path(folder) / "service", Surroundings(project=find_root()))
        with running_service(binary, "/") as (process, port):
            stopped = StoppedService(process.pid, RunQueue((process.pid, os.getpid())))
            try:
                with stopped.queue:
                    asyncio.run(_run(stopped, port, starts, lengths))
            finally:
                os.kill(process.pid, signal.SIGCONT)  # a stopped process does not see SIGTERM
    return stopped


def judged(stopped: StoppedService, sims: int, seed: int) -> VerifyResult:
    """Hold what stall detection finds against the stops that were made."""
    start_s = np.array([start for start, _ in stopped.rows])
    latency_s = np.array([end - start for start, end in stopped.rows])
    stalls = [(s.start_s, s.end_s) for s in detect_stalls(start_s, latency_s) if s.kind == "stall"]
    right = match_events(stalls, stopped.stops)
    matched = {i for i, _ in right.pairs}
    rest = [span for i, span in enumerate(stalls) if i not in matched]
    machines = [span for span in rest if _machine_made(stopped, span)]
    clients = [span for span in rest if span not in machines and _client_made(stopped, span)]
    n = len(stalls) - len(clients) - len(machines)
    elsewhere = [(low + EVERY_S / 2, high + EVERY_S / 2) for low, high in stopped.stops]
    shifted = match_events(stalls, elsewhere)
    cells = Cells(
        "sigstop", sims, seed,
        bar="recall 1.0, precision >= .95",
        control="stops half a period off are not found; noise explains no stop",
    )  # fmt: skip
    cells.share(f"recall, go-raw, n = {sims}", right.recall or 0.0, at_least=RECALL)
    name = f"precision, {n} found; {len(clients)} more are the client's own, {len(machines)} the machine's"
    cells.share(name, len(right.pairs) / max(n, 1), n=n, at_least=PRECISION)
    cells.share("recall with the stops half a period off", shifted.recall or 0.0, at_most=0.5, control=True)
    explained = sum(_machine_made(stopped, span) for span in stopped.stops) / sims
    cells.share("stops that the machine's own noise would explain", explained, at_most=0.25, control=True)
    return cells.result()


def _machine_made(stopped: StoppedService, span: Span) -> bool:
    """Return whether the service waited for a CPU, or the machine itself did, through half of the span or more."""
    waited_s = stopped.queue.waited_s(stopped.pid, *span)
    return max(waited_s, stopped.queue.waited_s(None, *span)) >= (span[1] - span[0]) / 2


def _client_made(stopped: StoppedService, span: Span) -> bool:
    """Return whether the client sent late in the span, or waited for a CPU through half of it or more."""
    late = any(low <= span[1] and span[0] <= high for low, high in stopped.late)
    return late or stopped.queue.waited_s(os.getpid(), *span) >= (span[1] - span[0]) / 2


async def _run(stopped: StoppedService, port: int, starts: Floats, lengths: Floats) -> None:
    pool = _Pool(port)
    await pool.open(int(RATE_PER_S * LONGEST_S * 1.5))
    began = time.monotonic()
    stopper = asyncio.create_task(_stop_and_go(stopped, began + starts, lengths))
    requests: set[asyncio.Task[None]] = set()
    rng = np.random.default_rng(len(starts))
    planned = began
    while planned < began + starts[-1] + LONGEST_S + 1.0:
        await asyncio.sleep(max(0.0, planned - time.monotonic()))
        now = time.monotonic()
        if now - planned > LATE_S:
            stopped.late.append((planned, now))
        task = asyncio.create_task(pool.request(stopped.rows))
        requests.add(task)
        task.add_done_callback(requests.discard)
        planned += rng.exponential(1 / RATE_PER_S)
    await stopper
    await asyncio.gather(*requests)
    pool.close()


async def _stop_and_go(stopped: StoppedService, starts: Floats, lengths: Floats) -> None:
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        await asyncio.sleep(max(0.0, start - time.monotonic()))
        os.kill(stopped.pid, signal.SIGSTOP)
        began = time.monotonic()
        await asyncio.sleep(length)
        stopped.stops.append((began, time.monotonic()))
        os.kill(stopped.pid, signal.SIGCONT)


class _Pool:
    """Open connections; one more whenever none is free, so that nobody waits to send."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def open(self, n: int) -> None:
        self._free += [await asyncio.open_connection("127.0.0.1", self._port) for _ in range(n)]

    async def request(self, rows: list[Span]) -> None:
        if not self._free:
            await self.open(1)
        connection = reader, writer = self._free.pop()
        sent = time.monotonic()
        writer.write(_REQUEST)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        rows.append((sent, time.monotonic()))
        self._free.append(connection)

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()
