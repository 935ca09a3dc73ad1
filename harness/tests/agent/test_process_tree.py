# SPDX-License-Identifier: Apache-2.0
"""Readings of real processes: what is allocated, burned or logged is what is read. Samplers: ``test_sampler.py``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.agent.process_tree import TreeReader, read_tree
from harness.agent.processes import read_stat
from harness.measure.runner.request_log import PROGRAM
from harness.tests.support.instances import eventually
from harness.tests.support.puppet import Puppet

MIB = 1024 * 1024


def test_memory_that_is_touched_is_counted(puppet: Puppet) -> None:
    before = read_tree(puppet.pid, puppet.start_ticks)
    puppet.do("held = bytearray(b'x') * (64 * 1024 * 1024)")
    after = read_tree(puppet.pid, puppet.start_ticks)
    for one, other in ((before.rss_bytes, after.rss_bytes), (before.pss_bytes, after.pss_bytes)):
        assert one is not None
        assert other is not None
        assert 63 * MIB < other - one < 72 * MIB


def test_cpu_time_is_what_the_process_itself_counts(puppet: Puppet, tmp_path: Path) -> None:
    before = read_tree(puppet.pid, puppet.start_ticks, pss=False)
    puppet.do(
        "a = time.process_time(); [0 for _ in iter(lambda: time.process_time() - a < 0.2, False)]; "
        f"open({str(tmp_path / 'used')!r}, 'w').write(str(time.process_time() - a))"
    )
    after = read_tree(puppet.pid, puppet.start_ticks, pss=False)
    assert before.cpu_s is not None
    assert after.cpu_s is not None
    used_s = float((tmp_path / "used").read_text())
    assert (after.cpu_s - before.cpu_s) / used_s == pytest.approx(1.0, abs=0.1)
    less = read_tree(puppet.pid, puppet.start_ticks, cpu_at_launch_s=5.0, pss=False).cpu_s
    assert less == pytest.approx(after.cpu_s - 5.0, abs=0.5), "CPU time before the launch is taken off"


def test_the_kernels_part_of_cpu_time_is_told_apart(puppet: Puppet) -> None:
    puppet.do("b = os.times().system; zero = open('/dev/zero', 'rb', 0)")
    puppet.do("[zero.read(1 << 20) for _ in iter(lambda: os.times().system - b < 0.3, False)]")
    reading = read_tree(puppet.pid, puppet.start_ticks, pss=False)
    assert reading.system_s is not None and reading.cpu_s is not None
    assert 0.3 <= reading.system_s <= reading.cpu_s + 0.02
    before_s = reading.system_s
    puppet.do(
        "u = os.times().user; [sum(range(2_000_000)) for _ in iter(lambda: os.times().user - u < 0.3, False)]"
    )
    reading = read_tree(puppet.pid, puppet.start_ticks, pss=False)
    assert reading.system_s is not None
    assert reading.system_s - before_s < 0.2, "a loop of the process's own is none of the kernel's time"


def test_time_in_which_threads_had_no_cpu_is_counted(puppet: Puppet) -> None:
    """Two processes that work for half a second on one CPU: each waits for about half of the time of both."""
    before = read_tree(puppet.pid, puppet.start_ticks, pss=False)
    puppet.do("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})")
    work = "[sum(range(50_000)) for _ in iter(lambda: time.monotonic() < until, False)]"
    puppet.do(f"until = time.monotonic() + 0.5; child = os.fork(); {work}; child or os._exit(0)")
    after = read_tree(puppet.pid, puppet.start_ticks, pss=False)
    assert before.wait_s is not None and after.wait_s is not None
    assert after.wait_s - before.wait_s > 0.1


def test_threads_and_descriptors_are_counted(puppet: Puppet) -> None:
    before = read_tree(puppet.pid, puppet.start_ticks, pss=False)
    puppet.do("stay = threading.Event()")
    puppet.do("[threading.Thread(target=stay.wait, daemon=True).start() for _ in range(3)]")
    puppet.do("files = [open('/dev/null') for _ in range(5)]")
    after = read_tree(puppet.pid, puppet.start_ticks, pss=False)
    assert before.n_threads is not None
    assert before.n_descriptors is not None
    assert (after.n_threads, after.n_descriptors) == (before.n_threads + 3, before.n_descriptors + 5)


def test_a_process_that_is_gone_or_another_has_no_reading(puppet: Puppet) -> None:
    assert read_tree(puppet.pid, puppet.start_ticks - 1).rss_bytes is None
    puppet.end()
    reading = read_tree(puppet.pid, puppet.start_ticks)
    values = (reading.rss_bytes, reading.pss_bytes, reading.cpu_s, reading.n_threads, reading.n_descriptors)
    assert values == (None, None, None, None, None)


def test_several_processes_are_one_sum_which_ends_with_the_first(puppets: Callable[[], Puppet]) -> None:
    first, second = puppets(), puppets()
    one, other = (read_tree(puppet.pid, puppet.start_ticks) for puppet in (first, second))
    both = read_tree(first.pid, first.start_ticks, siblings=((second.pid, second.start_ticks),))
    assert one.n_threads and other.n_threads and both.n_threads == one.n_threads + other.n_threads
    for name in ("rss_bytes", "pss_bytes", "cpu_s", "n_descriptors"):
        assert getattr(both, name) == pytest.approx(getattr(one, name) + getattr(other, name), rel=0.2)
    second.end()
    gone = read_tree(first.pid, first.start_ticks, siblings=((second.pid, second.start_ticks),))
    assert gone.rss_bytes is None


def test_children_count_with_their_parent_and_their_cpu_time_stays_when_they_end(puppet: Puppet) -> None:
    tree = TreeReader(puppet.pid, puppet.start_ticks)
    alone = tree.read()
    puppet.have_a_child(mib=40, cpu_s=0.2)
    tree.discover()
    both = tree.read()
    puppet.end_child()
    after = tree.read()
    tree.close()
    assert alone is not None
    assert both is not None
    assert after is not None
    assert both.n_threads == (alone.n_threads or 0) + 1
    assert (both.rss_bytes or 0) - (alone.rss_bytes or 0) > 32 * MIB
    assert (both.cpu_s or 0) - (alone.cpu_s or 0) > 0.15
    assert after.n_threads == alone.n_threads
    assert (after.cpu_s or 0) >= (both.cpu_s or 0)


def test_children_that_lived_too_short_to_be_seen_are_on_their_parents_account(puppet: Puppet) -> None:
    burn = "[0 for _ in iter(lambda: time.process_time() < 0.2, False)]"
    seen, unseen = (TreeReader(puppet.pid, puppet.start_ticks, short_lived=on) for on in (True, False))
    before = [tree.read() for tree in (seen, unseen)]
    puppet.do(f"child = os.fork() or ({burn}, os._exit(0)); os.waitpid(child, 0)")
    after = [tree.read() for tree in (seen, unseen)]
    seen.close()
    unseen.close()
    grown = [
        (later.cpu_s or 0) - (earlier.cpu_s or 0)
        for earlier, later in zip(before, after, strict=True)
        if earlier is not None and later is not None
    ]
    assert grown[0] > 0.15
    assert grown[1] < 0.1


def test_a_process_that_ended_and_was_not_reaped_has_no_reading(puppet: Puppet) -> None:
    tree = TreeReader(puppet.pid, puppet.start_ticks)
    assert tree.read() is not None
    puppet.process.kill()

    def is_zombie() -> bool:
        stat = read_stat(puppet.pid)
        return stat is not None and stat.ended

    assert eventually(is_zombie)
    assert tree.read() is None
    tree.close()


def test_what_is_in_the_pipe_when_it_is_stopped_is_read(tmp_path: Path) -> None:
    words = [sys.executable, "-I", "-S", str(PROGRAM), "pipe", "counted", "last"]
    with subprocess.Popen(words, cwd=tmp_path) as reader:
        try:
            assert eventually((tmp_path / "counted").exists)
            reader.send_signal(signal.SIGSTOP)
            (tmp_path / "pipe").write_bytes(b"line\n" * 5_000)
            reader.send_signal(signal.SIGTERM)
            reader.send_signal(signal.SIGCONT)
            assert reader.wait() == 0
        finally:
            reader.kill()
    assert json.loads((tmp_path / "counted").read_text()) == {"lines": 5_000, "bytes": 25_000}
