# SPDX-License-Identifier: Apache-2.0
"""Samples processes and the machine in a background thread and writes them as they come.

The schedule is absolute: a late tick does not shift the later ones. Ticks that could not be
kept are counted, not made up for. Between two slow ticks a tick source takes the ticks: in the interpreter here, or
native.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from harness.agent.machine_counters import MACHINE_COLUMNS, MachineReader
from harness.agent.process_tree import TreeReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.agent.process_tree import ProcessReader, ProcessReading

    #: One tick: for each process the moment (``time.monotonic``) and what was read; ``None``: it has ended.
    Tick = list[tuple[float, ProcessReading | None]]

SAMPLE_COLUMNS = ("monotonic_s", "role", "rss_bytes", "cpu_s", "n_threads", "n_descriptors")

#: How often the dear things are read: threads, descriptors, children, the machine.
SLOW_HZ = 2.0
#: Nobody sleeps longer at a stretch, so that a call to stop is heard.
LONGEST_SLEEP_NS = 50_000_000


class Schedule(ctypes.Structure):
    """Absolute: the moment of a tick follows from its number alone. ``number`` is that of the next tick. Ticks whose
    moment had passed before their turn are missed. ``longest_gap_ns``: between the beginnings of two ticks. Native code
    works on it, too: ``struct schedule``."""

    begin_ns: int
    period_ns: float
    number: int
    ticks: int
    missed: int
    last_ns: int
    longest_gap_ns: int

    _fields_ = (
        ("begin_ns", ctypes.c_int64),
        ("period_ns", ctypes.c_double),
        ("number", ctypes.c_int64),
        ("ticks", ctypes.c_int64),
        ("missed", ctypes.c_int64),
        ("last_ns", ctypes.c_int64),
        ("longest_gap_ns", ctypes.c_int64),
    )

    @classmethod
    def beginning_now(cls, hz: float) -> Schedule:
        begin_ns = time.monotonic_ns()
        return cls(begin_ns=begin_ns, period_ns=1e9 / hz, last_ns=begin_ns)

    def going_on(self, hz: float) -> Schedule:
        """Return one of another rate that goes on from the tick just taken, with what was counted so far."""
        counted = (self.ticks, self.missed, self.last_ns, self.longest_gap_ns)
        return Schedule(time.monotonic_ns(), 1e9 / hz, 1, *counted)

    @property
    def due_ns(self) -> int:
        """The moment of the next tick."""
        due_ns: int = self.begin_ns + int(self.number * self.period_ns)
        return due_ns

    def count(self, began_ns: int) -> None:
        """Count the tick that began then and has just been taken, and go on to the first that is not past."""
        self.longest_gap_ns = max(self.longest_gap_ns, began_ns - self.last_ns)
        self.last_ns = began_ns
        self.ticks += 1
        first = math.ceil((time.monotonic_ns() - self.begin_ns) / self.period_ns)
        following = self.number + 1
        self.number = max(following, first)
        self.missed += self.number - following


class Calls(ctypes.Structure):
    """What other threads want of a glancer at work, in memory that native code can look at, too. ``stop``: return as
    soon as you can; ``added``: there is more to be sampled, the next tick is not yours."""

    _fields_ = (("stop", ctypes.c_int32), ("added", ctypes.c_int32))


class PythonTicks:
    """Takes the ticks between two slow ones, in the interpreter. ``name``: as a record tells it. ``tree`` and
    ``machine``: what reads the processes that it is given, with their children, and the machine around them."""

    name = "interpreter"
    tree: type[TreeReader] = TreeReader
    machine: type[MachineReader] = MachineReader

    def take(
        self, schedule: Schedule, before: int, processes: Sequence[ProcessReader], calls: Calls
    ) -> list[Tick]:
        """Take the ticks of the schedule until the tick ``before``, or a later one, is due. Each tick reads every
        process, in their order. It returns earlier when a tick is due and ``calls.added`` is set (that tick is then
        not taken), and within 50 ms of ``calls.stop``."""
        ticks = []
        while _sleep_until_due(schedule, calls) and schedule.number < before and not calls.added:
            began_ns = time.monotonic_ns()
            ticks.append([(time.monotonic(), process.read()) for process in processes])
            schedule.count(began_ns)
        return ticks


def _sleep_until_due(schedule: Schedule, calls: Calls) -> bool:
    """Sleep until the next tick is due; false: called to stop instead."""
    due_ns = schedule.due_ns
    while not calls.stop:
        left_ns = due_ns - time.monotonic_ns()
        if left_ns <= 0:
            return True
        # A plain sleep costs a third of a wait for an event.
        time.sleep(min(left_ns, LONGEST_SLEEP_NS) / 1e9)
    return False


@dataclass(frozen=True)
class Watched:
    """A process to be sampled, with its children. ``cpu_at_launch_s`` (CPU time before the program itself ran) is
    taken off. ``short_lived``: most of its many children are, so it is read at SLOW_HZ; see ``TreeReader``."""

    pid: int
    start_ticks: int
    cpu_at_launch_s: float = 0.0
    short_lived: bool = False


@dataclass(frozen=True)
class SamplerSummary:
    """How well the schedule was kept. ``ticks_by``: who took the ticks, its ``name``."""

    ticks: int
    missed_ticks: int
    longest_gap_s: float
    duration_s: float
    ticks_by: str = PythonTicks.name


class _Taken(NamedTuple):
    """Ticks between two slow ones, and of whom: role, tree, the ids of its processes."""

    of: list[tuple[str, TreeReader, list[int]]]
    ticks: list[Tick]


class Sampler:
    """Use as a context manager, or ``start`` and ``stop``; roles may be added while it works. ``samples`` and
    ``machine`` are CSV, columns as in docs/data.md. A process that ends has no more rows. SLOW_HZ times a second it
    discovers, counts, and makes rows; the ticks between are the ``glancer``'s; ``None``: taken in the interpreter."""

    def __init__(
        self,
        processes: dict[str, Watched],
        *,
        samples: Path,
        machine: Path,
        hz: float = 20.0,
        glancer: PythonTicks | None = None,
    ) -> None:
        self._hz = _possible(hz)
        self._files = (samples, machine)
        self._added: list[tuple[str, Watched]] = list(processes.items())
        self._trees: dict[str, TreeReader] = {}
        self._only_slow: set[str] = set()
        self._n_begun: int | None = None
        self._glancer = glancer or PythonTicks()
        self._calls = Calls()
        self._thread = threading.Thread(target=self._work, name="sampler", daemon=True)
        self._problem: BaseException | None = None
        self._summary = SamplerSummary(ticks=0, missed_ticks=0, longest_gap_s=0.0, duration_s=0.0)

    def __enter__(self) -> Sampler:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._thread.start()

    def add(self, role: str, watched: Watched) -> None:
        """Sample one more process from the next tick on (the generator starts after the service)."""
        self._added.append((role, watched))
        self._calls.added = True

    def pace(self, hz: float) -> None:
        """Take so many samples a second from the next tick on, which is a slow one.

        Raises ValueError: not from 1 to 1000.
        """
        self._hz = _possible(hz)
        self._calls.added = True

    def stop(self) -> SamplerSummary:
        """Stop, write everything out, and return how well the schedule was kept. Idempotent.

        Raises OSError: the files could not be written.
        """
        self._calls.stop = True
        if self._thread.ident is not None:
            self._thread.join()
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        return self._summary

    def _work(self) -> None:
        try:
            with self._files[0].open("w") as samples, self._files[1].open("w") as machine:
                samples.write(",".join(SAMPLE_COLUMNS) + "\n")
                machine.write(",".join(MACHINE_COLUMNS) + "\n")
                self._keep_schedule(samples, machine, self._glancer.machine())
        except BaseException as problem:  # a thread's exception would vanish: stop() raises it
            self._problem = problem
        finally:
            for tree in self._trees.values():
                tree.close()

    def _keep_schedule(self, samples: IO[str], machine: IO[str], the_machine: MachineReader) -> None:
        hz = self._hz
        schedule = Schedule.beginning_now(hz)
        first_ns = schedule.begin_ns
        taken = _Taken([], [])
        while not self._calls.stop:
            began_ns = time.monotonic_ns()
            slow_every = max(1, round(hz / SLOW_HZ))
            next_slow = (schedule.number // slow_every + 1) * slow_every
            self._slow_tick(taken, samples, machine, the_machine)
            schedule.count(began_ns)
            if self._hz != hz:  # after the tick that took the call in: a call that comes now ends the glance
                hz = self._hz
                schedule = schedule.going_on(hz)
                next_slow = max(1, round(hz / SLOW_HZ))
            taken = self._glance(schedule, next_slow)
        # the last moment: the window is covered to its end
        self._slow_tick(taken, samples, machine, the_machine)
        self._summary = SamplerSummary(
            ticks=schedule.ticks + 1,
            missed_ticks=schedule.missed,
            longest_gap_s=schedule.longest_gap_ns / 1e9,
            duration_s=(time.monotonic_ns() - first_ns) / 1e9,
            ticks_by=self._glancer.name,
        )

    def _glance(self, schedule: Schedule, before: int) -> _Taken:
        of, processes = [], []
        for role, tree in self._trees.items():
            if role not in self._only_slow:
                members = tree.processes()
                of.append((role, tree, [process.pid for process in members]))
                processes += members
        return _Taken(of, self._glancer.take(schedule, before, processes, self._calls))

    def _slow_tick(
        self, taken: _Taken, samples: IO[str], machine: IO[str], the_machine: MachineReader
    ) -> None:
        self._write_taken(taken, samples)
        self._take_in()
        now, begun_before = the_machine.read(), self._n_begun
        # read before anybody is looked for: who comes later changes it again
        self._n_begun = the_machine.n_begun
        nobody_new = begun_before is not None and self._n_begun == begun_before
        for role, tree in tuple(self._trees.items()):
            if not nobody_new:  # to look for children is the dearest part: one file for each thread
                tree.discover()
            n_descriptors = tree.n_descriptors()
            at = time.monotonic()
            reading = tree.read()
            if reading is None:
                self._trees.pop(role).close()
                continue
            samples.write(f"{_row(at, role, reading)},{_cell(reading.n_threads)},{_cell(n_descriptors)}\n")
        machine.write(",".join(_cell(getattr(now, name)) for name in MACHINE_COLUMNS) + "\n")
        samples.flush()
        machine.flush()

    def _write_taken(self, taken: _Taken, samples: IO[str]) -> None:
        """Rows of the ticks since the last slow one; threads and descriptors were not counted and are empty."""
        for tick in taken.ticks:
            glances = iter(tick)
            for role, tree, pids in taken.of:
                readings = [(pid, *next(glances)) for pid in pids]
                if self._trees.get(role) is not tree:  # its end was in an earlier tick
                    continue
                reading = tree.account((pid, read) for pid, _, read in readings)
                if reading is None:
                    self._trees.pop(role).close()
                    continue
                samples.write(f"{_row(readings[0][1], role, reading)},,\n")

    def _take_in(self) -> None:
        self._calls.added = False  # before looking: what is added meanwhile calls again
        while self._added:
            role, watched = self._added.pop(0)
            try:
                tree = self._glancer.tree(**asdict(watched))
            except ProcessLookupError:  # over before it began: it has no rows
                continue
            tree.discover()
            replaced = self._trees.pop(role, None)  # of a generator that is over: another one has its role
            if replaced is not None:
                replaced.close()
            self._trees[role] = tree
            if watched.short_lived:
                self._only_slow.add(role)


def _possible(hz: float) -> float:
    if not 1.0 <= hz <= 1000.0:
        raise ValueError(f"hz: found {hz}; allowed: 1 to 1000")
    return hz


def _row(at_s: float, role: str, reading: ProcessReading) -> str:
    # A tenth of a millisecond: some hundredths pass between the moment and what is read, and digits that are noise are
    # most of what an archive of samples would hold.
    return f"{at_s:.4f},{role},{reading.rss_bytes},{reading.cpu_s:.4f}"


def _cell(value: float | int | None) -> str:
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)
