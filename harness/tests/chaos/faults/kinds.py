# SPDX-License-Identifier: Apache-2.0
"""The named faults. Each is a generator: it yields what its session is started with, is sent the session, and yields
again when the blow was struck; when the session has ended it takes the fault away.

``mark`` is called right before the blow.
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
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from harness.tests.chaos.faults.power import lose_power
from harness.tests.chaos.faults.stage import Session, Stage
from harness.tests.support.available import not_run
from harness.tests.support.namespace import Namespace, why_not
from harness.tests.support.small_disk import remount, small_disk

Steps = Generator[dict[str, Any] | None, Session, None]
Mark = Callable[[], None]
#: What a disk of 72 MiB, more than the store asks for before each trial, has left when another program has filled it.
LEFT_BYTES = 32 << 10
#: The kernel's own range of ports where few are left; above it and below it all are taken.
FIRST_PORT, LAST_PORT, FREE_PORTS = 32000, 32063, 1
#: How long a generator stands still.
PAUSE_S = 0.8
_TAKE_PORTS = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
taken = []
for port in (*range(int(sys.argv[1]), int(sys.argv[2]) + 1), *range(20000, int(sys.argv[1]))):
    try:
        taken.append(socket.create_server(("0.0.0.0", port)))
    except OSError:
        continue
print(len(taken), flush=True)
sys.stdin.read()
"""


def signalled(number: signal.Signals) -> Callable[[Stage, Mark], Steps]:
    """A signal to the session while its second trial is under load."""

    def fault(here: Stage, mark: Mark) -> Steps:
        session = yield {}
        here.under_load(session)
        mark()
        session.process.send_signal(number)
        yield None

    return fault


def killed(role: str) -> Callable[[Stage, Mark], Steps]:
    """SIGKILL to the process of a role in the middle of the first load; of the agent, in the second trial."""

    def fault(here: Stage, mark: Mark) -> Steps:
        session = yield {}
        here.under_load(session, 1 if role == "agent" else 0)
        time.sleep(0.3)
        process = here.running(role)
        assert process is not None, f"no {role} runs"
        mark()
        process.kill()
        yield None

    return fault


def generator_paused(here: Stage, mark: Mark) -> Steps:
    """SIGSTOP, and SIGCONT a little later."""
    session = yield {}
    here.under_load(session, 0)
    process = here.running("generator")
    assert process is not None
    mark()
    process.suspend()
    try:
        session.ended(PAUSE_S)
    finally:
        process.resume()
    yield None


def disk_full(here: Stage, mark: Mark) -> Steps:
    """Another program fills the disk of the data."""
    with small_disk(here.root / "data", "72m") as disk:
        session = yield {}
        here.under_load(session)
        mark()
        with (disk / "filler").open("wb") as stream, contextlib.suppress(OSError):
            while (free := shutil.disk_usage(disk).free - LEFT_BYTES) > 0:
                stream.write(bytes(min(free, 1 << 20)))
                stream.flush()
        yield None
        (disk / "filler").unlink()
        yield None  # the same command is given while the disk is there


def data_read_only(here: Stage, mark: Mark) -> Steps:
    """A session is killed, and may not write when it is to go on."""
    with small_disk(here.root / "data", "200m") as disk:
        first = here.start()
        here.under_load(first)
        first.kill()
        here.left_running()
        remount(disk, "ro")
        yield {}
        mark()
        yield None
        remount(disk, "rw")
        yield None


def few_open_files(here: Stage, mark: Mark) -> Steps:
    """The session may open 41 files."""
    yield {"changes": {"open_files": {"limit": 41}}}
    mark()
    yield None


def ports_taken(here: Stage, mark: Mark) -> Steps:
    """In a network of its own, all ports but one are taken from some moment on."""
    if (reason := why_not()) is not None:
        not_run(reason.replace("cutting a link", "a network with few ports"))
    network = Namespace(number=2 * os.getpid() % 16000 + 1)
    with contextlib.ExitStack() as stack:
        stack.callback(network.remove)
        network.make()
        words = f"echo {FIRST_PORT} {LAST_PORT} > /proc/sys/net/ipv4/ip_local_port_range"
        made = subprocess.run([*network.prefix, "sh", "-c", words], capture_output=True, check=False)
        if made.returncode != 0:
            not_run(f"a network with few ports: {made.stderr.decode().strip()}")
        session = yield {"prefix": network.prefix}
        here.under_load(session)
        mark()
        argv = [
            *network.prefix,
            sys.executable,
            "-I",
            "-c",
            _TAKE_PORTS,
            str(FIRST_PORT),
            str(LAST_PORT - FREE_PORTS),
        ]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as taker:
            assert taker.stdout is not None
            taker.stdout.readline()
            yield None


def clock_stepped(here: Stage, mark: Mark) -> Steps:
    """The wall clock of the session jumps back by 72 minutes."""
    session = yield {"changes": {"clock": {"by_s": -4320.0}}}
    here.under_load(session, 0)
    mark()
    session.process.send_signal(signal.SIGUSR1)
    yield None


def power_lost(here: Stage, mark: Mark) -> Steps:
    """The session is killed, and of what it wrote only what was synced is certain to be there."""
    below, record = here.root / "data" / "raw", here.root.parent / "syncs"
    below.mkdir(parents=True, exist_ok=True)
    session = yield {"changes": {"syncs": {"below": str(below), "record": str(record)}}}
    here.under_load(session)
    mark()
    session.process.kill()
    yield None
    here.left_running()
    lose_power(below, record, random.Random("power lost"))
    shutil.rmtree(record)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault. ``ends``: how its session may end. ``kills``: whose trial does not count when it met it under load."""

    scene: str
    steps: Callable[[Stage, Mark], Steps]
    ends: tuple[int, ...] = (0, 1, 2)
    kills: str = ""


FAULTS = {
    "session killed": Fault(scene="strings", steps=signalled(signal.SIGKILL), ends=(-signal.SIGKILL,)),
    "session stopped": Fault(scene="strings", steps=signalled(signal.SIGTERM), ends=(128 + signal.SIGTERM,)),
    "service killed": Fault(scene="strings", steps=killed("service"), kills="service"),
    "generator killed": Fault(scene="strings", steps=killed("generator"), kills="generator"),
    "generator paused": Fault(scene="strings", steps=generator_paused),
    "database killed": Fault(scene="bank", steps=killed("database"), kills="database"),
    "upstream killed": Fault(scene="clients", steps=killed("upstream"), kills="upstream"),
    "agent killed": Fault(scene="remote", steps=killed("agent")),
    "disk full": Fault(scene="strings", steps=disk_full),
    "data read-only": Fault(scene="strings", steps=data_read_only),
    "few open files": Fault(scene="strings", steps=few_open_files),
    "ports taken": Fault(scene="strings", steps=ports_taken),
    "clock stepped": Fault(scene="strings", steps=clock_stepped),
    "power lost": Fault(scene="strings", steps=power_lost, ends=(-signal.SIGKILL,)),
}
