# SPDX-License-Identifier: Apache-2.0
"""Real processes that do as they are told, to be sampled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from harness.agent.processes import read_stat
from harness.agent.sampler import Subject


class Puppet:
    """A Python process that carries out one line after another and tells what came of it."""

    def __init__(self) -> None:
        code = (
            "import sys, os, time, threading\nfor line in sys.stdin:\n  exec(line); print('done', flush=True)"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.do("pass")
        stat = read_stat(self.process.pid)
        assert stat is not None
        self.pid, self.start_ticks = self.process.pid, stat.start_ticks
        self.watched = Subject(pid=self.pid, start_ticks=self.start_ticks)

    def do(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def have_a_child(self, mib: int, cpu_s: float) -> None:
        """Begin a child; it holds that much memory and has used that much CPU time when this returns."""
        self.do("r, w = os.pipe(); r2, w2 = os.pipe()")
        burn = f"[0 for _ in iter(lambda: time.process_time() < {cpu_s}, False)]"
        self.do(
            f"child = os.fork() or (held := bytearray(b'x') * ({mib} << 20), {burn},"
            " os.write(w2, b'1'), os.read(r, 1), os._exit(0))"
        )
        self.do("os.read(r2, 1)")

    def end_child(self) -> None:
        """Let the child end, and reap it."""
        self.do("os.write(w, b'1'); os.waitpid(child, 0)")

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def puppet_maker() -> Iterator[Callable[[], Puppet]]:
    """Gives a way to start puppets; in the end none is left."""
    with ExitStack() as stack:

        def make() -> Puppet:
            puppet = Puppet()
            stack.callback(puppet.end)
            return puppet

        yield make
