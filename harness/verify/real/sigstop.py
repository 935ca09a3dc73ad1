# SPDX-License-Identifier: Apache-2.0
"""``verify sigstop``: stalls made for real, by stopping and continuing a running service at known times.

It stands beside the measuring side because it starts a process; the verdict is the analysis's.
A span in which the client's own event loop was late belongs to the client, and a find in it
is not counted: a completion gap with a send gap is the generator's; likewise where the client
waited for a CPU through half of it or more. A find through half of which the service waited for
a CPU, or the hypervisor took it away, belongs to the machine: it is a real stall, only none of
those that were made. A control asks that of the stops themselves, which must not be explained by it.

``RunQueue`` is an independent witness of the machine's own noise: the kernel counts in
``/proc/PID/task/TID/schedstat`` how long each thread was runnable and not run. Time that a hypervisor took away
altogether is steal, and counts as well. A stopped process is not runnable, so a stop for which somebody sent SIGSTOP
leaves no trace here.
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
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.agent.ports import free_port
from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.spans import Span
from harness.analysis.attribution.stalls import detect_stalls
from harness.errors import RematchError
from harness.hosts.base import Command
from harness.hosts.local import LocalHost
from harness.verify.real.go_service import echo_service
from harness.verify.simulated.result import Cells, VerifyResult

_STEAL_FIELD = 8
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


class RunQueue:
    """Reads the waiting time of some processes again and again in a thread; use as a context manager."""

    def __init__(self, pids: Sequence[int], *, every_s: float = 0.005) -> None:
        self._pids, self._every_s = tuple(pids), every_s
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

    def waited_s(self, pid: int, start_s: float, end_s: float) -> float:
        """Return how long a process waited between two monotonic times, to the readings around them.

        A process of several threads waits as long as the one of them that waits longest.
        """
        return self._gained_s(self._pids.index(pid), start_s, end_s)

    def stolen_s(self, start_s: float, end_s: float) -> float:
        """Return how much CPU time the hypervisor gave to others between two monotonic times, over all CPUs."""
        return self._gained_s(-1, start_s, end_s)

    def _gained_s(self, column: int, start_s: float, end_s: float) -> float:
        if len(self._at) < 2:
            return 0.0
        first = max(bisect_right(self._at, start_s) - 1, 0)
        last = min(bisect_left(self._at, end_s), len(self._at) - 1)
        return self._counts[last][column] - self._counts[first][column]

    def _work(self) -> None:
        readers = [_Waiting(pid) for pid in self._pids]
        while not self._stopping.wait(self._every_s):
            at = time.monotonic()
            self._counts.append([*(reader.read_s() for reader in readers), _steal_s()])
            self._at.append(at)  # last: who asks meanwhile finds a count for each time
        for reader in readers:
            reader.close()


class _Waiting:
    """The waiting time of one process: over its threads, the sum of what the longest waiting one waited each time."""

    _LOOK_AGAIN = 20

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._threads: dict[str, int] = {}
        self._before: dict[str, float] = {}
        self._total_s = 0.0
        self._n_reads = 0

    def read_s(self) -> float:
        if self._n_reads % self._LOOK_AGAIN == 0:
            self._look()
        self._n_reads += 1
        longest_s = 0.0
        for thread, descriptor in list(self._threads.items()):
            try:
                waited_s = int(os.pread(descriptor, 128, 0).split()[1]) / 1e9
            except (OSError, IndexError):  # it ended
                os.close(self._threads.pop(thread))
                continue
            longest_s = max(longest_s, waited_s - self._before.get(thread, waited_s))
            self._before[thread] = waited_s
        self._total_s += longest_s
        return self._total_s

    def _look(self) -> None:
        folder = f"/proc/{self._pid}/task"
        with contextlib.suppress(OSError):
            for thread in os.listdir(folder):
                if thread not in self._threads:
                    with contextlib.suppress(OSError):
                        self._threads[thread] = os.open(f"{folder}/{thread}/schedstat", os.O_RDONLY)

    def close(self) -> None:
        for descriptor in self._threads.values():
            os.close(descriptor)
        self._threads = {}


def _steal_s() -> float:
    try:
        with open("/proc/stat", "rb") as stream:
            fields = stream.readline().split()
        return int(fields[_STEAL_FIELD]) * _TICK_S
    except (OSError, IndexError, ValueError):
        return 0.0


RATE_PER_S = 200.0
EVERY_S = 1.0
SHORTEST_S, LONGEST_S = 0.15, 0.4
TOLERANCE_S = 0.005
RECALL, PRECISION = 1.0, 0.95
#: After a stop its queue drains for so long.
AFTER_S = 0.1
#: The client sends this late only when it was held up itself.
LATE_S = 0.005
_READY_WITHIN_S = 30.0
_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass(frozen=True)
class Stopped:
    """A service that was stopped and continued, as the client and the kernel saw it."""

    service: str
    pid: int
    trial: _Trial
    queue: RunQueue

    @property
    def noise_s(self) -> float:
        """The longest answer that no stop held up: what the machine itself does to requests."""
        calm = (end - start for start, end in self.trial.rows if not self._touched(start, end))
        return max(calm, default=float("inf"))

    def _touched(self, start_s: float, end_s: float) -> bool:
        return any(start_s <= high + AFTER_S and low <= end_s for low, high in self.trial.stops)


def sigstop(sims: int, seed: int) -> VerifyResult:
    """Stop a real service ``sims`` times. Control: the same stalls shifted by half a period match nothing.

    Raises:
        RematchError: the service could not be built, or does not answer.
    """
    return judged(stop_service(sims, seed), sims, seed)


def stop_service(sims: int, seed: int) -> Stopped:
    """Stop and continue a real service ``sims`` times under load.

    Raises:
        RematchError: the service could not be built, or does not answer.
    """
    rng = np.random.default_rng(seed)
    starts = EVERY_S * (np.arange(sims) + 1 + rng.uniform(0.1, 0.4, sims))
    lengths = rng.uniform(SHORTEST_S, LONGEST_S, sims)
    with tempfile.TemporaryDirectory(prefix="rematch-sigstop-") as folder:
        port = free_port()
        words, argv = echo_service(Path(folder), port)
        process = LocalHost().spawn(Command(argv=argv, folder=Path(folder)))
        queue = RunQueue((process.pid, os.getpid()))
        try:
            with queue:
                trial = asyncio.run(_run(process.pid, port, starts, lengths))
        finally:
            os.kill(process.pid, signal.SIGCONT)  # a stopped process does not see SIGTERM
            process.stop(grace_s=2.0)
    return Stopped(service=words, pid=process.pid, trial=trial, queue=queue)


def judged(stopped: Stopped, sims: int, seed: int) -> VerifyResult:
    """Hold what stall detection finds against the stops that were made."""
    trial, queue, pid = stopped.trial, stopped.queue, stopped.pid
    results = [
        (s.start_s, s.end_s) for s in detect_stalls(trial.start_s, trial.latency_s) if s.kind == "stall"
    ]
    right = match_events(results, trial.stops, tolerance_s=TOLERANCE_S)
    matched = {i for i, _ in right.pairs}
    others = [span for i, span in enumerate(results) if i not in matched]
    machines = [span for span in others if _machine_made(queue, pid, span)]
    clients = [span for span in others if span not in machines and _client_made(queue, trial, span)]
    n_ours = len(results) - len(clients) - len(machines)
    shifted = match_events(
        results, [(a + EVERY_S / 2, b + EVERY_S / 2) for a, b in trial.stops], tolerance_s=TOLERANCE_S
    )
    cells = Cells(
        "sigstop", sims, seed,
        bar="recall 1.0, precision >= .95",
        control="stops half a period off are not found; noise explains no stop",
    )  # fmt: skip
    cells.share(f"recall, {stopped.service}, n = {sims}", right.recall or 0.0, at_least=RECALL)
    name = (
        f"precision, {n_ours} found; {len(clients)} more are the client's own, {len(machines)} the machine's"
    )
    if n_ours:
        cells.share(name, len(right.pairs) / n_ours, n=n_ours, at_least=PRECISION)
    else:  # without a find there is none to give an interval to
        cells.plain(name, 0.0, at_least=PRECISION)
    cells.share("recall with the stops half a period off", shifted.recall or 0.0, at_most=0.5, control=True)
    cells.share(
        "stops that the machine's own noise would explain",
        sum(_machine_made(queue, pid, span) for span in trial.stops) / sims,
        at_most=0.25,
        control=True,
    )
    return cells.result()


def _machine_made(queue: RunQueue, pid: int, span: Span) -> bool:
    """Whether the service waited for a CPU, or the machine itself did, through half of the span or more."""
    return max(queue.waited_s(pid, *span), queue.stolen_s(*span)) >= (span[1] - span[0]) / 2


def _client_made(queue: RunQueue, trial: _Trial, span: Span) -> bool:
    """Whether the client sent late in the span, or waited for a CPU through half of it or more."""
    late = any(low <= span[1] and span[0] <= high for low, high in trial.late)
    return late or queue.waited_s(os.getpid(), *span) >= (span[1] - span[0]) / 2


class _Trial:
    """What the client saw, seconds on its monotonic clock."""

    def __init__(self) -> None:
        self.rows: list[Span] = []
        self.stops: list[Span] = []
        self.late: list[Span] = []

    @property
    def start_s(self) -> npt.NDArray[np.float64]:
        return np.array([start for start, _ in self.rows])

    @property
    def latency_s(self) -> npt.NDArray[np.float64]:
        return np.array([end - start for start, end in self.rows])


async def _run(
    pid: int, port: int, starts: npt.NDArray[np.float64], lengths: npt.NDArray[np.float64]
) -> _Trial:
    trial = _Trial()
    pool = _Pool(port)
    await pool.open(int(RATE_PER_S * LONGEST_S * 1.5))
    began = time.monotonic()
    stopper = asyncio.create_task(_stop_and_go(pid, began + starts, lengths, trial))
    requests: set[asyncio.Task[None]] = set()
    rng = np.random.default_rng(len(starts))
    planned = began
    while planned < began + starts[-1] + LONGEST_S + 1.0:
        await asyncio.sleep(max(0.0, planned - time.monotonic()))
        now = time.monotonic()
        if now - planned > LATE_S:
            trial.late.append((planned, now))
        task = asyncio.create_task(pool.request(trial))
        requests.add(task)
        task.add_done_callback(requests.discard)
        planned += rng.exponential(1 / RATE_PER_S)
    await stopper
    await asyncio.gather(*requests)
    pool.close()
    return trial


async def _stop_and_go(
    pid: int, starts: npt.NDArray[np.float64], lengths: npt.NDArray[np.float64], trial: _Trial
) -> None:
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        await asyncio.sleep(max(0.0, start - time.monotonic()))
        os.kill(pid, signal.SIGSTOP)
        stopped = time.monotonic()
        await asyncio.sleep(length)
        continued = time.monotonic()
        os.kill(pid, signal.SIGCONT)
        trial.stops.append((stopped, continued))


class _Pool:
    """Open connections; one more whenever none is free, so that nobody waits to send."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def open(self, n: int) -> None:
        until = time.monotonic() + _READY_WITHIN_S
        while len(self._free) < n:
            try:
                self._free.append(await asyncio.open_connection("127.0.0.1", self._port))
            except OSError as error:
                if time.monotonic() > until:
                    raise RematchError(
                        f"the service does not answer on port {self._port}: {error}"
                    ) from error
                await asyncio.sleep(0.05)

    async def request(self, trial: _Trial) -> None:
        connection = (
            self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port)
        )
        reader, writer = connection
        sent = time.monotonic()
        writer.write(_REQUEST)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        trial.rows.append((sent, time.monotonic()))
        self._free.append(connection)

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()
