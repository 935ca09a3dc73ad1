# SPDX-License-Identifier: Apache-2.0
"""Who takes a sampler's ticks between two slow ones: the seam, its schedule, and the interpreter's own way."""

from __future__ import annotations

import math
import time
from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from harness.agent.machine_counters import MachineReader
from harness.agent.process_tree import TreeReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.agent.process_tree import ProcessReader, ProcessReading

    #: One tick: for each process the moment (``time.monotonic``) and what was read; ``None``: it has ended.
    Tick = list[tuple[float, ProcessReading | None]]

#: Nobody sleeps longer at a stretch, so that a call to stop is heard.
LONGEST_SLEEP_NS = 50_000_000


@dataclass
class Schedule:
    """Absolute: the moment of a tick follows from its number alone, so a late one does not shift the others.

    ``number`` is that of the next tick. Ticks whose moment had passed before their turn are missed.
    ``longest_gap_ns`` is the longest between the beginnings of two ticks.
    """

    begin_ns: int
    period_ns: float
    number: int = 0
    ticks: int = 0
    missed: int = 0
    last_ns: int = 0
    longest_gap_ns: int = 0

    @classmethod
    def beginning_now(cls, hz: float) -> Schedule:
        begin_ns = time.monotonic_ns()
        return cls(begin_ns=begin_ns, period_ns=1e9 / hz, last_ns=begin_ns)

    def going_on(self, hz: float) -> Schedule:
        """Return one of another rate that goes on from the tick just taken, with what was counted so far."""
        begin_ns, period_ns = time.monotonic_ns(), 1e9 / hz
        return replace(self, begin_ns=begin_ns, period_ns=period_ns, number=1)

    @property
    def due_ns(self) -> int:
        """The moment of the next tick."""
        return self.begin_ns + int(self.number * self.period_ns)

    def count(self, began_ns: int) -> None:
        """Count the tick that began then and has just been taken, and go on to the first that is not past."""
        self.longest_gap_ns = max(self.longest_gap_ns, began_ns - self.last_ns)
        self.last_ns = began_ns
        self.ticks += 1
        first = math.ceil((time.monotonic_ns() - self.begin_ns) / self.period_ns)
        following = self.number + 1
        self.number = max(following, first)
        self.missed += self.number - following


class Calls:
    """What other threads want of a glancer at work, in memory that native code can look at, too."""

    def __init__(self) -> None:
        self._flags = array("i", (0, 0))

    @property
    def address(self) -> int:
        """Where the two flags stand: ``stop``, then ``added``, each a C ``int``."""
        return self._flags.buffer_info()[0]

    @property
    def stop(self) -> bool:
        """Return as soon as you can."""
        return self._flags[0] != 0

    @stop.setter
    def stop(self, wanted: bool) -> None:
        self._flags[0] = int(wanted)

    @property
    def added(self) -> bool:
        """There is more to be sampled: the next tick is not yours."""
        return self._flags[1] != 0

    @added.setter
    def added(self, wanted: bool) -> None:
        self._flags[1] = int(wanted)


class TickSource(Protocol):
    """Takes ticks that only glance. It keeps nothing from one call to the next."""

    @property
    def name(self) -> str:
        """``interpreter``, ``native`` or ``portable``, as a record tells it."""
        ...

    @property
    def tree(self) -> type[TreeReader]:
        """What reads the processes that it is given, and finds their children."""
        ...

    @property
    def machine(self) -> type[MachineReader]:
        """What reads the machine around them."""
        ...

    def take(
        self, schedule: Schedule, before: int, processes: Sequence[ProcessReader], calls: Calls
    ) -> list[Tick]:
        """Take the ticks of the schedule until the tick ``before``, or a later one, is due.

        Each tick reads every process, in their order. It returns earlier when a tick is due and
        ``calls.added`` is set (that tick is then not taken), and within 50 ms of ``calls.stop``.
        The schedule counts what was taken and missed, and its ``number`` is that of the tick to go on with.
        """
        ...


class PythonTicks:
    """In the interpreter, for where the native one cannot be."""

    name = "interpreter"
    tree: type[TreeReader] = TreeReader
    machine: type[MachineReader] = MachineReader

    def take(
        self, schedule: Schedule, before: int, processes: Sequence[ProcessReader], calls: Calls
    ) -> list[Tick]:
        # Understood afterwards, all at once: a woken process runs with cold caches, and the same work is
        # several times dearer spread over the ticks.
        seen = []
        while _sleep_until_due(schedule, calls) and schedule.number < before and not calls.added:
            began_ns = time.monotonic_ns()
            seen.append([(process, time.monotonic(), process.glance()) for process in processes])
            schedule.count(began_ns)
        return [[(at_s, process.understand(glance)) for process, at_s, glance in tick] for tick in seen]


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


__all__ = ["Calls", "PythonTicks", "Schedule", "TickSource"]
