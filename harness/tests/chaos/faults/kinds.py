# SPDX-License-Identifier: Apache-2.0
"""The named faults. Each is a generator: it yields what its session is started with, is sent the session, and yields
again when the blow was struck; when the session has ended it takes the fault away.

``mark`` is called right before the blow.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from harness.tests.chaos.faults.power import lose_power
from harness.tests.chaos.faults.stage import Session, Stage
from harness.tests.support.small_disk import remount, small_disk

Steps = Generator[dict[str, Any] | None, Session, None]
Mark = Callable[[], None]
#: What a disk of 72 MiB, more than the store asks for before each trial, has left when another program has filled it.
LEFT_BYTES = 32 << 10


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
    "database killed": Fault(scene="bank", steps=killed("database"), kills="database"),
    "upstream killed": Fault(scene="clients", steps=killed("upstream"), kills="upstream"),
    "agent killed": Fault(scene="remote", steps=killed("agent")),
    "disk full": Fault(scene="strings", steps=disk_full),
    "data read-only": Fault(scene="strings", steps=data_read_only),
    "few open files": Fault(scene="strings", steps=few_open_files),
    "power lost": Fault(scene="strings", steps=power_lost, ends=(-signal.SIGKILL,)),
}
