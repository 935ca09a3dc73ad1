# SPDX-License-Identifier: Apache-2.0
"""How late this machine wakes who sleeps: the disturbance of a test that measures real time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

SLEEP_S = 0.005


@dataclass
class Lateness:
    """``most_s``: the longest time after its end that a sleep lasted."""

    most_s: float = 0.0


@contextlib.contextmanager
def lateness() -> Iterator[Lateness]:
    """Sleep again and again in a thread for as long as the context lasts."""
    found, stop = Lateness(), threading.Event()

    def sleep() -> None:
        while not stop.is_set():
            due_s = time.monotonic() + SLEEP_S
            time.sleep(SLEEP_S)
            found.most_s = max(found.most_s, time.monotonic() - due_s)

    sleeper = threading.Thread(target=sleep, name="sleeper", daemon=True)
    sleeper.start()
    try:
        yield found
    finally:
        stop.set()
        sleeper.join()
