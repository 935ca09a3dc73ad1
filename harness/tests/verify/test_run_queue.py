# SPDX-License-Identifier: Apache-2.0
"""Waiting for a CPU, as the kernel counts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil

from harness.tests.support.instances import eventually
from harness.verify.real.sigstop import RunQueue

BUSY = "while True: pass"


def state_of(process: subprocess.Popen[bytes]) -> str:
    return psutil.Process(process.pid).status()


def test_two_who_share_a_cpu_wait_for_each_other_and_a_stopped_one_waits_for_nobody() -> None:
    cpu = min(os.sched_getaffinity(0))
    both = [subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(2)]
    try:
        for process in both:
            os.sched_setaffinity(process.pid, {cpu})
        with RunQueue([process.pid for process in both]) as queue:
            time.sleep(0.2)
            shared = time.monotonic()

            def waited_s(since_s: float) -> list[float]:
                return [queue.waited_s(process.pid, since_s, time.monotonic()) for process in both]

            # each has half of the CPU at most, and other work of the machine can only take more
            assert eventually(lambda: min(waited_s(shared)) > 0.15), waited_s(shared)
            for process in both:
                os.kill(process.pid, signal.SIGSTOP)
            # a stop is seen when its process next gets the CPU, and read when the reader does
            assert eventually(lambda: {state_of(process) for process in both} == {psutil.STATUS_STOPPED})
            assert eventually(lambda: max(waited_s(time.monotonic() - 0.4)) < 0.05)
    finally:
        for process in both:
            process.kill()
            process.wait()
