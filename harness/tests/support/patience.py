# SPDX-License-Identifier: Apache-2.0
"""Time limits of tests: they are for what hangs, so they are longer where everything takes longer.

How much longer is measured once a run: a child process is started a few times, which needs CPU time, the disk's cache
and the scheduler as tests do. The workers of a run and their children inherit the result.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from statistics import median

VARIABLE = "REMATCH_TEST_PATIENCE"
#: What such a child takes on an idle machine of two cores. Limits are chosen for that, and are never shortened.
IDLE_S = 0.05
N_CHILDREN = 5
MOST = 20.0


def patient(limit_s: float) -> float:
    """Return the limit, lengthened for this machine."""
    return limit_s * factor()


@functools.cache
def factor() -> float:
    """Return by how much limits are lengthened, from 1 to 20."""
    said = os.environ.get(VARIABLE)
    return calibrated() if said is None else float(said)


def calibrated() -> float:
    """Measure it."""
    return min(MOST, max(1.0, median(_child_s() for _ in range(N_CHILDREN)) / IDLE_S))


def _child_s() -> float:
    began_s = time.monotonic()
    subprocess.run([sys.executable, "-I", "-S", "-c", "import json"], check=True)
    return time.monotonic() - began_s
