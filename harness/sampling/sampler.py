# SPDX-License-Identifier: Apache-2.0
"""Samples processes and the machine in a background thread and writes them as they come.

The schedule is absolute: a late tick does not shift the later ones. Ticks that could not be
kept are counted, not made up for.

Standard library only, Python >= 3.8: the agent on a far host is built of this file too.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from harness.sampling.machine import MACHINE_COLUMNS, MachineReader
from harness.sampling.process import ProcessReading, TreeReader

if TYPE_CHECKING:
    from harness.sampling.process import Glance

SAMPLE_COLUMNS = ("monotonic_s", "role", "rss_bytes", "cpu_s", "n_threads", "n_descriptors")

#: How often the dear things are read: threads, descriptors, children, the machine.
SLOW_HZ = 2.0
#: It sleeps no longer at a time, so that ``stop`` need not wait. A plain sleep costs a third of a wait for an event.
_LONGEST_SLEEP_S = 0.05


@dataclass(frozen=True)
class Watched:
    """A process to be sampled, with its children.

    ``cpu_at_launch_s`` is taken off: CPU time before the program itself ran. ``short_lived``: many
    children, most of them short-lived, read at SLOW_HZ; see ``TreeReader``.
    """

    pid: int
    start_ticks: int
    cpu_at_launch_s: float = 0.0
    short_lived: bool = False


@dataclass(frozen=True)
class SamplerSummary:
    """How well the schedule was kept."""

    ticks: int
    missed_ticks: int
    longest_gap_s: float
    duration_s: float


class Sampler:
    """Use as a context manager, or ``start`` and ``stop``. Roles may be added while it works.

    Files: ``samples`` and ``machine`` as CSV, columns as in docs/data.md. A process that ends while
    it is sampled just has no more rows. A failure of writing (disk full) is raised by ``stop``.

    A tick only glances. What was seen is made into rows SLOW_HZ times a second, all at once: a woken
    process runs with cold caches, and the same work is several times dearer spread over the ticks.
    """

    def __init__(
        self, processes: dict[str, Watched], *, samples: Path, machine: Path, hz: float = 20.0
    ) -> None:
        if not 1.0 <= hz <= 1000.0:
            raise ValueError(f"hz: found {hz}; allowed: 1 to 1000")
        self._hz = hz
        self._files = (samples, machine)
        self._added: list[tuple[str, Watched]] = list(processes.items())
        self._trees: dict[str, TreeReader] = {}
        self._only_slow: set[str] = set()
        self._seen: list[tuple[float, str, list[tuple[int, Glance]]]] = []
        self._stopping = threading.Event()
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

    def stop(self) -> SamplerSummary:
        """Stop, write everything out, and return how well the schedule was kept. Idempotent.

        Raises:
            OSError: the files could not be written.
        """
        self._stopping.set()
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
                self._keep_schedule(samples, machine)
        except BaseException as problem:  # a thread's exception would vanish: stop() raises it
            self._problem = problem
        finally:
            for tree in self._trees.values():
                tree.close()

    def _keep_schedule(self, samples: IO[str], machine: IO[str]) -> None:
        period_s = 1.0 / self._hz
        slow_every = max(1, round(self._hz / SLOW_HZ))
        the_machine = MachineReader()
        begin = last = time.monotonic()
        number = ticks = missed = 0
        next_slow = 0
        longest_gap_s = 0.0
        while not self._stopping.is_set():
            now = time.monotonic()
            if number >= next_slow or self._added:
                next_slow = (number // slow_every + 1) * slow_every
                self._slow_tick(samples, machine, the_machine)
            else:
                self._tick()
            ticks += 1
            longest_gap_s, last = max(longest_gap_s, now - last), now
            due = max(number + 1, math.ceil((time.monotonic() - begin) / period_s))
            missed += due - number - 1
            number = due
            self._sleep_until(begin + number * period_s)
        self._slow_tick(samples, machine, the_machine)  # the last moment: the window is covered to its end
        self._summary = SamplerSummary(
            ticks=ticks + 1,
            missed_ticks=missed,
            longest_gap_s=longest_gap_s,
            duration_s=time.monotonic() - begin,
        )

    def _sleep_until(self, when_s: float) -> None:
        while (left_s := when_s - time.monotonic()) > 0 and not self._stopping.is_set():
            time.sleep(min(left_s, _LONGEST_SLEEP_S))

    def _tick(self) -> None:
        for role, tree in self._trees.items():
            if role not in self._only_slow:
                self._seen.append((time.monotonic(), role, tree.glance()))

    def _slow_tick(self, samples: IO[str], machine: IO[str], the_machine: MachineReader) -> None:
        self._write_seen(samples)
        self._take_in()
        for role, tree in tuple(self._trees.items()):
            tree.discover()
            n_descriptors = tree.n_descriptors()
            at = time.monotonic()
            reading = tree.read()
            if reading is None:
                self._trees.pop(role).close()
                continue
            samples.write(f"{_row(at, role, reading)},{_cell(reading.n_threads)},{_cell(n_descriptors)}\n")
        now = the_machine.read()
        machine.write(",".join(_cell(getattr(now, name)) for name in MACHINE_COLUMNS) + "\n")
        samples.flush()
        machine.flush()

    def _write_seen(self, samples: IO[str]) -> None:
        """Rows of the ticks since the last slow one; threads and descriptors were not counted and are empty."""
        for at, role, glances in self._seen:
            tree = self._trees.get(role)
            if tree is None:  # its end was in an earlier glance
                continue
            reading = tree.account(glances)
            if reading is None:
                self._trees.pop(role).close()
                continue
            samples.write(f"{_row(at, role, reading)},,\n")
        self._seen.clear()

    def _take_in(self) -> None:
        while self._added:
            role, watched = self._added.pop(0)
            try:
                tree = TreeReader(
                    watched.pid,
                    watched.start_ticks,
                    watched.cpu_at_launch_s,
                    short_lived=watched.short_lived,
                )
            except ProcessLookupError:  # over before it began: it has no rows
                continue
            self._trees[role] = tree
            if watched.short_lived:
                self._only_slow.add(role)


def _row(at_s: float, role: str, reading: ProcessReading) -> str:
    return f"{at_s:.6f},{role},{reading.rss_bytes},{reading.cpu_s:.6f}"


def _cell(value: float | int | None) -> str:
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)


__all__ = ["SAMPLE_COLUMNS", "Sampler", "SamplerSummary", "Watched"]
