# SPDX-License-Identifier: Apache-2.0
"""A campaign by several processes at once, each with scenes of its own, which have nothing in common.

Projects, ports, disks, control groups and network namespaces belong to a scene or to its process. What the processes
share is the clone's cache of builds, which is made for that, and the machine.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RematchError
from harness.verify.faults.campaign import run
from harness.verify.faults.journal import FaultLine, Journal, still_to_do
from harness.verify.faults.plan import Kind, Scene, plan
from harness.verify.stopping import stopping


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is left of a campaign. ``number``: of all its faults; ``None``: as many as ``seconds`` allow."""

    clone: Path
    journal: Journal
    seed: int
    kinds: tuple[Kind, ...]
    place: str
    number: int | None
    seconds: float | None
    quiet: bool


def work(task: Task, jobs: int) -> bool:
    """Go on with a campaign in ``jobs`` processes; return whether it was stopped by a signal before its end.

    Raises:
        RematchError: a scene cannot be laid out.
    """
    groups = shared(task.kinds, jobs)
    with stopping() as stopped:
        if len(groups) == 1:
            with contextlib.suppress(KeyboardInterrupt):
                part(task, groups[0])
            return bool(stopped)
        fresh = multiprocessing.get_context("spawn")
        workers = [fresh.Process(target=_worker, args=(task, group)) for group in groups]
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        except KeyboardInterrupt:
            for worker in workers:
                if worker.pid is not None:
                    worker.terminate()
                    worker.join()
            return True
    broken = [worker.exitcode for worker in workers if worker.exitcode]
    if broken:
        raise RematchError(
            f"a process of the campaign ended with exit status {broken[0]}; see its words above"
        )
    return False


def part(task: Task, scenes: Sequence[Scene]) -> None:
    """Inject the faults of some scenes that are still to be done."""
    faults = (
        one for one in itertools.islice(plan(task.seed, task.kinds), task.number) if one.kind.scene in scenes
    )

    def done(line: FaultLine) -> None:
        task.journal.append(line)
        if not task.quiet:
            say(line)

    left = still_to_do(faults, task.journal.read(), task.place)
    run(left, task.clone, place=task.place, seconds=task.seconds, done=done)


def say(line: FaultLine) -> None:
    """Print what came of a fault to stderr."""
    print(f"{line.number}: {line.kind}: {line.came}, {line.took_s:.1f} s", file=sys.stderr, flush=True)


def shared(kinds: Sequence[Kind], jobs: int) -> tuple[tuple[Scene, ...], ...]:
    """Return the scenes of each process, so that the most kinds of one are as few as can be; each has some."""
    weights: dict[Scene, int] = {}
    for kind in kinds:
        weights[kind.scene] = weights.get(kind.scene, 0) + 1
    groups: list[list[Scene]] = [[] for _ in range(min(jobs, len(weights)))]
    for scene in sorted(weights, key=lambda scene: -weights[scene]):
        min(groups, key=lambda group: sum(weights[one] for one in group)).append(scene)
    return tuple(tuple(group) for group in groups)


def _worker(task: Task, scenes: Sequence[Scene]) -> None:
    with stopping(), contextlib.suppress(KeyboardInterrupt):
        part(task, scenes)


__all__ = ["Task", "part", "say", "shared", "work"]
