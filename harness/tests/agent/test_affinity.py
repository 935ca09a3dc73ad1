# SPDX-License-Identifier: Apache-2.0
"""CPUs: every thread of an arm is moved with it. Their speed: ``contracts/host.py``."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from harness.agent.affinity import JITTER, intervals, move, threads_of, tree_of
from harness.agent.platforms import usable_cpus
from harness.tests.support.available import needs
from harness.tests.support.instances import eventually
from harness.verify.simulated import duets

#: A process that makes a thread every few milliseconds, and has a child that does so, too.
RESTLESS = """
import os, threading, time
child = os.fork()
while os.getppid() == {parent} or child == 0:
    for _ in range(4):
        threading.Thread(target=time.sleep, args=(0.1,), daemon=True).start()
    time.sleep(0.01)
    if child == 0 and os.getppid() == 1:
        break
"""

CPUS = usable_cpus()
pytestmark = needs(None if len(CPUS) > 1 else "two CPUs are needed, and this machine gives one")


@pytest.fixture
def restless() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", RESTLESS.format(parent=os.getpid())]) as process:
        try:
            assert eventually(lambda: len(tree_of([process.pid])) == 2)
            yield process.pid
        finally:
            for pid in tree_of([process.pid]):
                os.kill(pid, 9)


def where(pid: int) -> set[tuple[int, ...]]:
    """The sets of CPUs that threads of a process and its children may use."""
    found = set()
    for thread in [thread for one in tree_of([pid]) for thread in threads_of(one)]:
        try:
            found.add(tuple(sorted(os.sched_getaffinity(thread))))
        except ProcessLookupError:
            continue
    return found


def test_every_thread_of_a_tree_is_moved_and_those_it_makes_later_are_there_too(restless: int) -> None:
    for cpu in CPUS[:2] * 3:
        assert move([restless], [cpu]) >= 2  # it and its child
        assert where(restless) == {(cpu,)}
        time.sleep(0.05)  # some of its threads are new by now
        assert where(restless) == {(cpu,)}


def test_intervals_come_in_equal_pairs_of_about_the_length_asked_for() -> None:
    lengths = list(itertools.islice(iter(intervals(0.5, 1)), 40))
    assert lengths[::2] == lengths[1::2] and len(set(lengths)) == 20
    assert all(abs(length - 0.5) <= 0.5 * JITTER for length in lengths)
    assert lengths == list(itertools.islice(iter(intervals(0.5, 1)), 40))
    assert duets.JITTER == JITTER, "the simulation varies them as they are"
