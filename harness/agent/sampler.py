# SPDX-License-Identifier: Apache-2.0
"""Samples processes and the machine in a background thread and writes them as they come.

The schedule is absolute: a late tick does not shift the later ones, and ticks that could not be kept are counted. Every
tick reads memory and CPU time; a slow one also looks for children, threads, descriptors and the machine.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from harness.agent.machine_counters import MACHINE_COLUMNS, MachineReader
from harness.agent.process_tree import TreeReader

SAMPLE_COLUMNS = ("monotonic_s", "role", "rss_bytes", "cpu_s", "n_threads", "n_descriptors")

#: How often the dear things are read: threads, descriptors, children, the machine.
SLOW_HZ = 2.0
#: The longest sleep at a stretch, so that a call to stop is heard.
LONGEST_SLEEP_S = 0.05


@dataclass(frozen=True)
class Subject:
    """A process to be sampled, with its children, less ``cpu_at_launch_s``, its CPU time before the program itself ran.
    ``short_lived``: most of its many children are, so it is read at SLOW_HZ; ``siblings``: see ``TreeReader``."""

    pid: int
    start_ticks: int
    cpu_at_launch_s: float = 0.0
    short_lived: bool = False
    siblings: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class SamplerSummary:
    """Ticks that were kept and missed. ``ticks_by``: the kind of loop, as records name it."""

    ticks: int
    missed_ticks: int
    longest_gap_s: float
    duration_s: float
    ticks_by: str = "interpreter"


class Sampler:
    """``start`` it and ``stop`` it; roles may be added while it works. ``samples`` and ``machine`` are CSV, columns as
    in docs/data.md. A process that ends has no more rows."""

    def __init__(self, samples: Path, machine: Path, hz: float) -> None:
        self._hz = hz
        self._files = (samples, machine)
        self._added: list[tuple[str, Subject]] = []
        self._trees: dict[str, TreeReader] = {}
        self._only_slow: set[str] = set()
        self._n_begun: int | None = None
        self._stopping = self._called = False
        self._thread = threading.Thread(target=self._work, name="sampler", daemon=True)
        self._problem: BaseException | None = None
        self._summary = SamplerSummary(0, 0, 0.0, 0.0)

    def start(self) -> None:
        self._thread.start()

    def add(self, role: str, watched: Subject) -> None:
        """Sample one more process from the next tick on (the generator starts after the service)."""
        self._added.append((role, watched))
        self._called = True

    def pace(self, hz: float) -> None:
        """Take so many samples a second, 1 to 1000, from the next tick on."""
        self._hz = hz
        self._called = True

    def stop(self) -> SamplerSummary:
        """Stop, write everything out, and return the summary. Idempotent. Raises OSError: files cannot be written."""
        self._stopping = True
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
                self._keep_schedule(samples, machine, MachineReader())
        except BaseException as problem:  # a thread's exception would vanish: stop() raises it
            self._problem = problem
        finally:
            for tree in self._trees.values():
                tree.close()

    def _keep_schedule(self, samples: IO[str], machine: IO[str], the_machine: MachineReader) -> None:
        first_s = begin_s = last_s = time.monotonic()
        hz, number, next_slow, n_ticks, n_missed, longest_gap_s = self._hz, 0, 0, 0, 0, 0.0
        while self._sleep_until(begin_s + number / hz):
            began_s = time.monotonic()
            if number >= next_slow or self._called:
                self._slow_tick(samples, machine, the_machine)
                slow_every = max(1, round(hz / SLOW_HZ))
                next_slow = (number // slow_every + 1) * slow_every
            else:
                self._tick(samples)
            longest_gap_s, last_s = max(longest_gap_s, began_s - last_s), began_s
            n_ticks += 1
            first_not_past = math.ceil((time.monotonic() - begin_s) * hz)
            n_missed += max(0, first_not_past - number - 1)
            number = max(number + 1, first_not_past)
            if self._hz != hz:  # another rate goes on from the tick just taken
                hz, begin_s, number = self._hz, time.monotonic(), 1
                next_slow = max(1, round(hz / SLOW_HZ))
        # the last moment: the window is covered to its end
        self._slow_tick(samples, machine, the_machine)
        duration_s = time.monotonic() - first_s
        self._summary = SamplerSummary(n_ticks + 1, n_missed, longest_gap_s, duration_s)

    def _sleep_until(self, due_s: float) -> bool:
        """Sleep until a tick is due; false: called to stop instead."""
        while not self._stopping:
            left_s = due_s - time.monotonic()
            if left_s <= 0:
                return True
            time.sleep(min(left_s, LONGEST_SLEEP_S))  # a third of the cost of a wait for an event
        return False

    def _tick(self, samples: IO[str], *, slow: bool = False, grown: bool = False) -> None:
        for role, tree in tuple(self._trees.items()):
            if role in self._only_slow and not slow:
                continue
            if grown:  # one file for each thread
                tree.discover()
            n_descriptors = tree.n_descriptors() if slow else None
            at_s = time.monotonic()
            reading = tree.read(threads=slow)
            if reading is None:
                self._trees.pop(role).close()
                continue
            # a tenth of a millisecond: further digits are noise, and would be most of an archive of samples
            row = f"{at_s:.4f},{role},{reading.rss_bytes},{reading.cpu_s:.4f}"
            samples.write(f"{row},{_cell(reading.n_threads)},{_cell(n_descriptors)}\n")

    def _slow_tick(self, samples: IO[str], machine: IO[str], the_machine: MachineReader) -> None:
        self._take_in()
        now, begun_before = the_machine.read(), self._n_begun
        # read before children are looked for: later ones change it again
        self._n_begun = the_machine.n_begun
        self._tick(samples, slow=True, grown=begun_before is None or self._n_begun != begun_before)
        machine.write(",".join(_cell(getattr(now, name)) for name in MACHINE_COLUMNS) + "\n")
        samples.flush()
        machine.flush()

    def _take_in(self) -> None:
        self._called = False  # before looking: what is added meanwhile calls again
        while self._added:
            role, watched = self._added.pop(0)
            try:
                tree = TreeReader(**asdict(watched))
            except ProcessLookupError:  # over before it began: it has no rows
                continue
            tree.discover()
            replaced = self._trees.pop(role, None)  # of a generator that is over: another one has its role
            if replaced is not None:
                replaced.close()
            self._trees[role] = tree
            if watched.short_lived:
                self._only_slow.add(role)


def _cell(value: float | int | None) -> str:
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)
