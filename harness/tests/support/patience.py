# SPDX-License-Identifier: Apache-2.0
"""Time limits of tests, which are for what hangs, and how late this machine wakes who sleeps."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

#: Limits are chosen for an idle machine of two cores; beside other tests everything takes longer.
FACTOR = 4.0
#: How often ``lateness`` looks how late who sleeps is woken: the disturbance of a test that measures real time.
SLEEP_S = 0.005


def patient(limit_s: float) -> float:
    """Return the limit, lengthened for a machine that runs other tests meanwhile."""
    return FACTOR * limit_s


@dataclass
class Lateness:
    """``most_s``: the longest time after its end that a sleep lasted."""

    most_s: float = 0.0


@contextlib.contextmanager
def lateness() -> Iterator[Lateness]:
    """Sleep again and again in a thread for as long as the context lasts."""
    late, stop = Lateness(), threading.Event()

    def sleep() -> None:
        while not stop.is_set():
            due_s = time.monotonic() + SLEEP_S
            time.sleep(SLEEP_S)
            late.most_s = max(late.most_s, time.monotonic() - due_s)

    sleeper = threading.Thread(target=sleep, name="sleeper", daemon=True)
    sleeper.start()
    try:
        yield late
    finally:
        stop.set()
        sleeper.join()
