# SPDX-License-Identifier: Apache-2.0
"""A campaign by several processes, which stay alive over many files.

Files are numbered: reader by reader, then the next file of each. A process gets some numbers at a time, so that what a
reader is given depends on neither the number of processes nor their speed. A process that ends in the middle of a
file is a finding; another one goes on in its place.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agent.platforms import die_with_parent
from harness.verify.fuzz import campaign
from harness.verify.fuzz.campaign import Campaign, Finding, empty, try_number
from harness.verify.fuzz.hostile import hostile_archive, prepare
from harness.verify.fuzz.readers import Reader

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

#: Numbers that a process gets at a time.
AT_A_TIME = 200
SAY_EVERY_S = 20.0
#: A process that is told to stop ends with its file; one that does not is killed after so long.
STOPS_WITHIN_S = 40.0


@dataclass(slots=True)
class _Child:
    """One process: ``numbers`` are what it was given, ``at`` (shared with it) is the one it is at."""

    process: ForkProcess
    pipe: Connection
    at: Any
    numbers: range = field(default=range(0))


class Children:
    """The processes of a campaign. A context: at its end none is left."""

    def __init__(self, chosen: Sequence[Reader], scratch: Path, *, seed: int, jobs: int) -> None:
        self._chosen, self._scratch, self._seed, self._jobs = chosen, scratch, seed, jobs
        self._forked = multiprocessing.get_context(
            "fork"
        )  # readers are functions with a clone's recordings in them
        self._stop = self._forked.RawValue("b", 0)
        self._every: list[_Child] = []
        self._n_started = 0
        self._others_froze = False

    def __enter__(self) -> Children:
        prepare([data for one in self._chosen if one.make is hostile_archive for data in one.recordings])
        self._others_froze = gc.get_freeze_count() > 0
        gc.collect()
        gc.freeze()  # what is there before the first file is not looked through after each thousand of them
        return self

    def __exit__(self, *_: object) -> None:
        if not self._others_froze:  # else what they froze would be looked through again
            gc.unfreeze()
        for child in self._every:
            child.process.kill()
            child.process.join()
            child.pipe.close()

    def run(
        self, numbers: Iterator[range], *, ends_s: float | None, say: Callable[[Campaign], None] | None
    ) -> Campaign:
        """Give out numbers until there are no more, until the moment ``ends_s``, or ``KeyboardInterrupt``."""
        found = empty(self._chosen)
        left: deque[range] = deque()
        said_s = time.monotonic()
        stopped_s: float | None = None
        while True:
            try:
                now_s = time.monotonic()
                if stopped_s is None and ends_s is not None and now_s > ends_s:
                    self._stop.value, stopped_s = 1, now_s
                if stopped_s is None:
                    self._give(numbers, left)
                busy = [child for child in self._every if child.numbers]
                if not busy or (stopped_s is not None and now_s - stopped_s > STOPS_WITHIN_S):
                    return found
                self._take(busy, found, left)
                if say is not None and time.monotonic() - said_s > SAY_EVERY_S:
                    say(found)
                    said_s = time.monotonic()
            except KeyboardInterrupt:
                self._stop.value, stopped_s = 1, stopped_s or time.monotonic()

    def _give(self, numbers: Iterator[range], left: deque[range]) -> None:
        while len(self._every) < self._jobs:
            self._every.append(self._started())
        for child in self._every:
            if not child.numbers:
                more = left.popleft() if left else next(numbers, None)
                if more is None:
                    return
                child.numbers = more
                child.at.value = more.start
                child.pipe.send(more)

    def _take(self, busy: list[_Child], found: Campaign, left: deque[range]) -> None:
        """Add what the processes answer, within a second; of one that has ended, that it has."""
        ready = wait([child.pipe for child in busy], timeout=1.0)
        for child in busy:
            if child.pipe not in ready:
                continue
            try:
                found.add(child.pipe.recv())
                child.numbers = range(0)
            except (EOFError, OSError):  # before its answer, or in the middle of it
                self._ended(child, found, left)

    def _ended(self, child: _Child, found: Campaign, left: deque[range]) -> None:
        child.process.join()
        child.pipe.close()
        self._every.remove(child)
        number = child.at.value
        found.add(self._death(number, child.process.exitcode or 0))
        left.extend(
            some
            for some in (range(child.numbers.start, number), range(number + 1, child.numbers.stop))
            if some
        )

    def _death(self, number: int, code: int) -> Campaign:
        one, rng = campaign.nth(self._chosen, self._seed, number)
        how = f"ended by signal {-code}" if code < 0 else f"ended with exit status {code}"
        part = empty(self._chosen)
        part.count(one.name, Finding(one.name, f"process: {how}", one.name, one.input(rng)))
        return part

    def _started(self) -> _Child:
        ours, theirs = self._forked.Pipe()
        at = self._forked.RawValue("q", 0)
        scratch = self._scratch / f"process-{self._n_started}"
        self._n_started += 1
        scratch.mkdir()
        process = self._forked.Process(
            target=_work, args=(theirs, ours, at, self._stop, self._chosen, scratch, self._seed), daemon=True
        )
        process.start()
        theirs.close()
        return _Child(process, ours, at)


def _work(
    pipe: Connection, ours: Connection, at: Any, stop: Any, chosen: Sequence[Reader], scratch: Path, seed: int
) -> None:
    """Answer until the pipe ends."""
    ours.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def ended(_number: int, _frame: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    # who stops a campaign may signal all its processes: they answer first, and go only when nobody is there to ask
    signal.signal(signal.SIGTERM, ended)
    die_with_parent()
    with contextlib.suppress(EOFError):
        while True:
            found = empty(chosen)
            for number in pipe.recv():
                if stop.value:
                    break
                at.value = number
                # a library that never comes back to the interpreter is not ended by an exception
                signal.setitimer(signal.ITIMER_PROF, 2 * campaign.LONGEST_CPU_S)
                try_number(chosen, number, scratch, seed, found)
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send(found)


def in_portions(inputs: int | None) -> Iterator[range]:
    """Yield the numbers of files, ``AT_A_TIME`` at a time; ``None``: without end."""
    begin = 0
    while inputs is None or begin < inputs:
        end = begin + AT_A_TIME if inputs is None else min(begin + AT_A_TIME, inputs)
        yield range(begin, end)
        begin = end


def run_jobs(
    chosen: Sequence[Reader],
    scratch: Path,
    *,
    seed: int,
    jobs: int,
    inputs: int | None = None,
    seconds: float | None = None,
    say: Callable[[Campaign], None] | None = None,
) -> Campaign:
    """Do as ``campaign.run`` does, in ``jobs`` processes."""
    ends_s = None if seconds is None else time.monotonic() + seconds
    with Children(chosen, scratch, seed=seed, jobs=jobs) as children:
        return children.run(in_portions(inputs), ends_s=ends_s, say=say)


__all__ = ["AT_A_TIME", "in_portions", "run_jobs"]
