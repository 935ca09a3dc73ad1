# SPDX-License-Identifier: Apache-2.0
"""A number of the harness beside that of a peer which did the same work in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from harness.agent.machine_counters import read_machine
from harness.agent.platforms import usable_cpus
from harness.errors import RematchError
from harness.model.digits import plain

#: Beyond this share of its CPU time used by others the machine is not idle.
BUSY_SHARE = 0.1


class Others:
    """What others used of the machine since this was made, this process and its ended children left out."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._machine_s, self._own_s = read_machine().total_cpu_s, _own_cpu_s()

    def share(self) -> float | None:
        """Share of all cores' time; ``None``: the kernel does not tell."""
        now_s = read_machine().total_cpu_s
        if now_s is None or self._machine_s is None:
            return None
        used_s = now_s - self._machine_s - (_own_cpu_s() - self._own_s)
        return max(0.0, used_s / max(time.monotonic() - self._began, 1e-9) / len(usable_cpus()))


def _own_cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def judge(limit: float, values: Sequence[float], busy: float | None) -> bool | None:
    """Judge repetitions against an upper limit: the median keeps it, none does, or it cannot be told.

    ``busy``: the share of the machine that others used; a miss beside their work is ``None``.
    """
    if median(values) <= limit:
        return True
    return False if min(values) > limit and busy is not None and busy <= BUSY_SHARE else None


class Ratio(NamedTuple):
    """Repetitions of the harness and of a peer, in the same unit; their ratio is that of the medians.

    ``limit``: the most that the ratio may be, or, with ``of_value``, the value; ``None``: nothing to keep.
    """

    name: str
    values: list[float]
    unit: str
    peer: str = ""
    peers: tuple[float, ...] = ()
    limit: float | None = None
    of_value: bool = False

    @property
    def ratio(self) -> float | None:
        """``None``: there is no peer, or it needed nothing."""
        return median(self.values) / median(self.peers) if self.peers and median(self.peers) else None

    def holds(self, busy: float | None) -> bool | None:
        """Whether the limit is kept; ``None``: there is none, or others used the machine too much to tell.

        ``busy``: the share of the machine that others used meanwhile.
        """
        if self.limit is None:
            return None
        if self.of_value:
            return judge(self.limit, self.values, busy)
        return (
            None
            if self.ratio is None
            else judge(self.limit, [x / median(self.peers) for x in self.values], busy)
        )

    def text(self, busy: float | None) -> str:
        """Return the line that is printed."""
        words = f"{self.name}: {plain(median(self.values))} {self.unit} ({plain(min(self.values))} to {plain(max(self.values))})"
        if self.peers:
            words += f"; {self.peer}: {plain(median(self.peers))}"
        if self.ratio is not None:
            words += f", ratio {plain(self.ratio)}"
        if self.limit is not None:
            verdict = {True: "holds", False: "DOES NOT HOLD", None: "cannot say"}[self.holds(busy)]
            words += f"; {'at' if self.of_value else 'ratio at'} most {self.limit:g}: {verdict}"
        return words


#: A process of its own, for a child begins with the peak memory of whoever started it.
STOPWATCH = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"


class Taken(NamedTuple):
    """Wall time, CPU time and peak memory of a process, its start included."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def take(argv: Sequence[str]) -> Taken:
    """Run a command and return what it took.

    Raises:
        RematchError: it failed.
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    began = time.monotonic()
    watch = [sys.executable, "-I", "-S", "-c", STOPWATCH, *argv]
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(watch, env=environment, stdout=output, stderr=subprocess.STDOUT) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        words = output.read().decode(errors="replace").strip()[-300:]
    if process.returncode:
        raise RematchError(f"{Path(argv[0]).name} ended with {process.returncode}; output: {words}")
    return Taken(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
