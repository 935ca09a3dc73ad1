# SPDX-License-Identifier: Apache-2.0
"""Time limits of tests, and how late this machine is: limits are for what hangs, so they are longer where everything
takes longer.

How much longer is measured: a child process is started a few times, which needs CPU time, the disk's cache and the
scheduler as tests do. It is measured when a run begins, whose workers and their children inherit the result, and by
each worker once a minute, for other programs may begin later: the largest factor of the run counts from then on.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

VARIABLE = "REMATCH_TEST_PATIENCE"
#: What such a child takes on an idle machine of two cores. Limits are chosen for that, and are never shortened.
IDLE_S = 0.05
N_CHILDREN = 5
MOST = 20.0
#: So long a factor counts before it is measured again.
AGAIN_AFTER_S = 60.0


@dataclass
class _Measured:
    """When this process measured last, or inherited what was measured."""

    at_s: float


_measured = _Measured(time.monotonic())


def patient(limit_s: float) -> float:
    """Return the limit, lengthened for this machine."""
    return limit_s * factor()


def factor() -> float:
    """Return by how much limits are lengthened, from 1 to 20; never less than what was returned before."""
    said = os.environ.get(VARIABLE)
    if said is None or time.monotonic() - _measured.at_s > AGAIN_AFTER_S:
        said = f"{max(calibrated(), float(said or 1.0)):.2f}"
        _measured.at_s = time.monotonic()
        os.environ[VARIABLE] = said
    return float(said)


def calibrated() -> float:
    """Measure it."""
    return min(MOST, max(1.0, median(_child_s() for _ in range(N_CHILDREN)) / IDLE_S))


def _child_s() -> float:
    began_s = time.monotonic()
    subprocess.run([sys.executable, "-I", "-S", "-c", "import json"], check=True)
    return time.monotonic() - began_s


#: How often ``lateness`` looks how late who sleeps is woken: the disturbance of a test that measures real time.
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
