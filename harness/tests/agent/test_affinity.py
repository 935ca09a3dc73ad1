# SPDX-License-Identifier: Apache-2.0
"""Exchanged CPUs: every thread of both arms goes with them, and neither arm ever is on the CPUs of the other."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.agent.affinity import HEADER, JITTER, Exchanger, intervals, move, threads_of, tree_of
from harness.agent.platforms import usable_cpus
from harness.agent.processes import read_stat
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
def restless() -> Iterator[list[subprocess.Popen[bytes]]]:
    code = RESTLESS.format(parent=os.getpid())
    started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    try:
        assert eventually(lambda: all(len(tree_of([one.pid])) == 2 for one in started))
        yield started
    finally:
        for one in started:
            for pid in tree_of([one.pid]):
                os.kill(pid, 9)
            one.wait()


def where(pid: int) -> set[tuple[int, ...]]:
    """The sets of CPUs that threads of a process and its children may use."""
    found = set()
    for thread in [thread for one in tree_of([pid]) for thread in threads_of(one)]:
        try:
            found.add(tuple(sorted(os.sched_getaffinity(thread))))
        except ProcessLookupError:
            continue
    return found


def ticks(pid: int) -> int:
    stat = read_stat(pid)
    assert stat is not None
    return stat.start_ticks


def test_every_thread_of_a_tree_is_moved_and_those_it_makes_later_are_there_too(
    restless: list[subprocess.Popen[bytes]],
) -> None:
    for cpu in CPUS[:2] * 3:
        assert move([restless[0].pid], [cpu]) >= 2  # it and its child
        assert where(restless[0].pid) == {(cpu,)}
        time.sleep(0.05)  # some of its threads are new by now
        assert where(restless[0].pid) == {(cpu,)}


def test_arms_exchange_their_cpus_and_never_share_them(
    restless: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    exchanger = Exchanger(((CPUS[0],), (CPUS[1],)), interval_s=0.1, seed=3)
    for arm, one in enumerate(restless):
        exchanger.add(arm, one.pid, ticks(one.pid))
        assert where(one.pid) == {(CPUS[arm],)}
    exchanger.start()
    exchanger.start()
    try:
        assert eventually(lambda: len(exchanger.exchanges) > 6)
    finally:
        exchanger.stop()
    for arm, one in enumerate(restless):
        assert where(one.pid) == {exchanger.cpus(arm)}
    for before, after in itertools.pairwise(exchanger.exchanges):
        assert after.cpus == before.cpus[::-1]
        assert before.done_s <= after.began_s <= after.done_s
        assert min(after.n_threads) > 1
    files = [tmp_path / f"{arm}.csv" for arm in (0, 1)]
    for arm, file in enumerate(files):
        exchanger.write(file, arm)
    mine, theirs = ([line.split(",") for line in file.read_text().splitlines()] for file in files)
    assert mine[0] == HEADER.split(",")
    assert [(row[0], row[3], row[2]) for row in mine[1:]] == [(row[0], row[2], row[3]) for row in theirs[1:]]


def test_intervals_come_in_equal_pairs_of_about_the_length_asked_for() -> None:
    lengths = list(itertools.islice(iter(intervals(0.5, 1)), 40))
    assert lengths[::2] == lengths[1::2] and len(set(lengths)) == 20
    assert all(abs(length - 0.5) <= 0.5 * JITTER for length in lengths)
    assert lengths == list(itertools.islice(iter(intervals(0.5, 1)), 40))
    assert duets.JITTER == JITTER, "the simulation varies them as they are"
