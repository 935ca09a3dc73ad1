# SPDX-License-Identifier: Apache-2.0
"""Waiting for a CPU, as the kernel counts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from harness.verify.real.run_queue import RunQueue

BUSY = "while True: pass"


def test_two_who_share_a_cpu_wait_for_each_other_and_a_stopped_one_waits_for_nobody() -> None:
    cpu = min(os.sched_getaffinity(0))
    both = [subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(2)]
    try:
        for process in both:
            os.sched_setaffinity(process.pid, {cpu})
        with RunQueue([process.pid for process in both]) as queue:
            time.sleep(0.2)
            shared = time.monotonic()
            time.sleep(0.6)
            stopped = time.monotonic()
            for process in both:
                os.kill(process.pid, signal.SIGSTOP)
            time.sleep(0.5)
            end = time.monotonic()
        for process in both:
            # each has half of the CPU at most, and other work of the machine can only take more
            assert queue.waited_s(process.pid, shared, stopped) > 0.15
            # a stop is seen when its process next gets the CPU, and read when the reader does
            assert queue.waited_s(process.pid, stopped + 0.4, end) < 0.05
    finally:
        for process in both:
            process.kill()
            process.wait()


def test_nothing_read_is_nothing_waited() -> None:
    with RunQueue([os.getpid()], every_s=10.0) as queue:
        pass
    assert queue.waited_s(os.getpid(), 0.0, 1.0) == queue.stolen_s(0.0, 1.0) == 0.0
