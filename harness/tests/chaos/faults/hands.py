# SPDX-License-Identifier: Apache-2.0
"""What does each kind of fault: what the session is started with, the blow while it runs, and how it is mended.

A hand is asked in this order: ``order``, ``strike`` (the session runs), ``after`` (it has ended), ``mend`` (before the
same command is given again).
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.tests.chaos.faults.agents import agents
from harness.tests.chaos.faults.plan import Act, Fault
from harness.tests.chaos.faults.power import lose_power
from harness.tests.chaos.faults.scenes import NUMBER, Stage
from harness.tests.chaos.faults.sessions import Process, Running, belonging_to, of_role
from harness.tests.support.machine.lacking import Lacking
from harness.tests.support.machine.link import Namespace, why_not
from harness.tests.support.machine.small_disk import remount, small_disk
from harness.tests.support.patience import patient

#: Nobody is stopped, and no link is silent, for longer.
LONGEST_PAUSE_S = 1.5
#: A trial of these sessions loads for one second.
LOAD_S = 1.2


class Hand:
    """A fault that does nothing: what others begin from. ``record`` is called right before the blow."""

    def __init__(self, fault: Fault, stage: Stage, stack: contextlib.ExitStack) -> None:
        self.fault, self.stage, self.stack = fault, stage, stack

    def order(self) -> dict[str, Any]:
        """Return what the session is started with, as ``prefork`` has it.

        Raises:
            Lacking: this fault cannot be had here.
        """
        return {}

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        """Do it while the session runs; return whether there was something to do it to."""
        record()
        return True

    def after(self) -> None:
        """Do what belongs to the fault once the session has ended."""

    def mend(self) -> None:
        """Let the same command have a machine without the fault."""

    def moment(self, running: Running) -> bool:
        """Wait for the fault's moment, drawn over a usual session; return whether the session still runs."""
        at_s = running.began_s + self.fault.when * self.stage.usual_s
        return not running.ended(max(0.0, at_s - time.monotonic()))


class Signal(Hand):
    """A signal to one process; after SIGSTOP, SIGCONT follows."""

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        target = self._target(running)
        if target is None:
            return False
        record()
        assert self.fault.signal is not None
        if not target.send(signal.Signals[self.fault.signal]):
            return False
        if self.fault.signal == "SIGSTOP":
            try:
                running.ended(0.05 + self.fault.size * LONGEST_PAUSE_S)
            finally:
                target.send(signal.SIGCONT)
        return True

    def _target(self, running: Running) -> Process | None:
        role = self.fault.target
        if role == "session":
            return running.process if self.moment(running) else None
        # each trial has its own, but the agent lives as long as the session
        nth, longest_s = (1, self.stage.usual_s) if role == "agent" else (1 + round(self.fault.where), LOAD_S)
        seen = set[Process]()
        while not running.ended(0.02):
            for one in self._candidates(role):
                seen.add(one)
                if len(seen) >= nth:
                    return None if running.ended(self.fault.when * longest_s) else one
        return None

    def _candidates(self, role: str) -> Iterable[Process]:
        if role != "agent":
            return of_role(self.stage.root, role)
        assert self.stage.far is not None
        return agents(self.stage.far.base)


class FullDisk(Hand):
    """A small disk at one folder, which another program fills up at some moment, down to some last bytes."""

    #: Above what the store asks for before each trial.
    SIZE = "72m"

    def order(self) -> dict[str, Any]:
        self.disk = self.stack.enter_context(_mounted(self.stage.root / self.fault.target, self.SIZE))
        return {}

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        if not self.moment(running):
            return False
        record()
        left = int(self.fault.size * 64) << 10  # of an empty disk's page size there is nothing less
        with (self.disk / "filler").open("wb") as stream, contextlib.suppress(OSError):
            while (free := shutil.disk_usage(self.disk).free - left) > 0:
                stream.write(bytes(min(free, 1 << 20)))
                stream.flush()
        return True

    def mend(self) -> None:
        (self.disk / "filler").unlink(missing_ok=True)


class ReadOnly(Hand):
    """The data folder is read-only from the start, with some trials of an earlier start in it or none."""

    def order(self) -> dict[str, Any]:
        self.data = self.stage.root / "data"
        if os.geteuid() == 0:
            self.disk = self.stack.enter_context(_mounted(self.data, "200m"))
        first = self.stage.start(NUMBER)
        first.ended(self.fault.when * self.stage.usual_s)
        first.kill()
        _wait_until_alone(self.stage)
        self._make("ro", 0o555)
        self.stack.callback(self.mend)
        return {}

    def mend(self) -> None:
        self._make("rw", 0o755)

    def _make(self, how: str, mode: int) -> None:
        if os.geteuid() == 0:  # whom a mode does not bind
            remount(self.data, how)
            return
        for folder in (self.data, *(path for path in self.data.rglob("*") if path.is_dir())):
            folder.chmod(mode)


class OpenFiles(Hand):
    """The session may open few files."""

    def order(self) -> dict[str, Any]:
        return {"limits": {"RLIMIT_NOFILE": int(12 * 60**self.fault.size)}}


class Ports(Hand):
    """In a network of its own, all ports but a few are taken from some moment on."""

    #: Of the kernel's own range; above it and below it all are taken.
    FIRST, LAST = 32000, 32063

    def order(self) -> dict[str, Any]:
        if (reason := why_not()) is not None:
            raise Lacking(reason.replace("cutting a link", "a network with few ports"))
        self.network = Namespace(number=2 * os.getpid() % 16000 + 1)
        self.stack.callback(self.network.remove)
        self.network.make()
        words = (*self.network.prefix, "sh", "-c", f"echo {self.FIRST} {self.LAST} > {_PORT_RANGE}")
        made = subprocess.run(words, capture_output=True, check=False)
        if made.returncode != 0:
            raise Lacking(f"a network with few ports: {made.stderr.decode().strip()}")
        return {"network": self.network.file}

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        if not self.moment(running):
            return False
        record()
        free = int(self.fault.size * 8)
        taker = subprocess.Popen(
            [*self.network.prefix, sys.executable, "-I", "-c", _TAKE, str(self.FIRST), str(self.LAST - free)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.stack.callback(_end, taker)
        self.taker = taker
        assert taker.stdout is not None
        taker.stdout.readline()
        return True

    def mend(self) -> None:
        if hasattr(self, "taker"):
            _end(self.taker)


class Clock(Hand):
    """The session's wall clock jumps at some moment, by up to two hours there or back."""

    def order(self) -> dict[str, Any]:
        by_s = (self.fault.size * 2 - 1) * 7200
        return {"clock": {"after_s": self.fault.when * self.stage.usual_s, "by_s": by_s}}

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        struck = self.moment(running)
        record()
        return struck


class CutLink(Hand):
    """The link to the remote machine is silent from some moment on: for a while, or for as long as the agent waits."""

    def order(self) -> dict[str, Any]:
        far = self.stage.far
        if far is None or far.namespace is None:
            raise Lacking((far.no_link if far else None) or "no link to cut")
        self.link = far.namespace
        self.stack.callback(self.link.join)
        return {}

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        if not self.moment(running):
            return False
        record()
        self.link.cut()
        running.ended(0.1 + self.fault.size * (LONGEST_PAUSE_S if self.fault.where < 0.5 else 12.0))
        self.link.join()
        return True


class Power(Hand):
    """The session is killed, and of what it wrote only what was synced is certain to be there."""

    def order(self) -> dict[str, Any]:
        self.below = self.stage.root / "data" / "raw"
        self.record = self.stage.root.parent / "syncs"
        self.stack.callback(shutil.rmtree, self.record, ignore_errors=True)
        return {"syncs": {"below": str(self.below), "record": str(self.record)}}

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        if not self.moment(running):
            return False
        record()
        return running.process.send(signal.SIGKILL)

    def after(self) -> None:
        _wait_until_alone(self.stage)
        if self.record.is_dir():
            lose_power(self.below, self.record, random.Random(self.fault.name))


HANDS: Mapping[Act, type[Hand]] = MappingProxyType(
    {
        "signal": Signal, "full disk": FullDisk, "read-only": ReadOnly, "open files": OpenFiles, "port": Ports,
        "clock": Clock, "cut link": CutLink, "power": Power,
    }
)  # fmt: skip
_PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
#: Takes the ports of a range, and those below and above it that the harness chooses from, until its input ends.
_TAKE = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = []
for port in (*range(int(sys.argv[1]), int(sys.argv[2]) + 1), *range(20000, int(sys.argv[1]))):
    try:
        held.append(socket.create_server(("0.0.0.0", port)))
    except OSError:
        continue
print(len(held), flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def _mounted(folder: Path, size: str) -> Iterator[Path]:
    """A small disk at a folder of a project, with what the project has there."""
    with small_disk(folder, size) as disk:
        if folder.name == "data":
            (disk / "raw").mkdir()
        if folder.name == "tmp":
            disk.chmod(0o1777)
        yield disk


def _wait_until_alone(stage: Stage) -> None:
    """Wait until what a killed session had started is gone; what stays is found later."""
    until = time.monotonic() + patient(20.0)
    while belonging_to(stage.root, but=stage.ours) and time.monotonic() < until:
        time.sleep(0.02)


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait(patient(10))
