# SPDX-License-Identifier: Apache-2.0
"""Samples of real processes: what is allocated and burned is what is read."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from harness.processes import read_stat
from harness.sampling import ProcessReading, Sampler, TreeReader, Watched, read_resources
from harness.tests.instances import eventually

MIB = 1024 * 1024


class Puppet:
    """A Python process that carries out one line after another and tells what came of it."""

    def __init__(self) -> None:
        code = (
            "import sys, os, time, threading\nfor line in sys.stdin:\n  exec(line); print('done', flush=True)"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.do("pass")
        stat = read_stat(self.process.pid)
        assert stat is not None
        self.pid, self.start_ticks = self.process.pid, stat.start_ticks
        self.watched = Watched(pid=self.pid, start_ticks=self.start_ticks)

    def do(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def puppets() -> Iterator[Callable[[], Puppet]]:
    with ExitStack() as stack:

        def make() -> Puppet:
            puppet = Puppet()
            stack.callback(puppet.end)
            return puppet

        yield make


@pytest.fixture
def puppet(puppets: Callable[[], Puppet]) -> Puppet:
    return puppets()


#: As docs/data.md has them.
MACHINE_COLUMNS = (
    *("monotonic_s", "psi_cpu_some_s", "psi_memory_some_s", "psi_io_some_s", "steal_s", "idle_s"),
    *("total_cpu_s", "load_average_1m", "n_throttled", "throttled_s"),
)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_memory_that_is_touched_is_counted(puppet: Puppet) -> None:
    before = read_resources(puppet.pid, puppet.start_ticks)
    puppet.do("held = bytearray(b'x') * (64 * 1024 * 1024)")
    after = read_resources(puppet.pid, puppet.start_ticks)
    for one, other in ((before.rss_bytes, after.rss_bytes), (before.pss_bytes, after.pss_bytes)):
        assert one is not None
        assert other is not None
        assert 63 * MIB < other - one < 72 * MIB


def test_cpu_time_is_what_the_process_itself_counts(puppet: Puppet, tmp_path: Path) -> None:
    before = read_resources(puppet.pid, puppet.start_ticks, pss=False)
    puppet.do(
        "a = time.process_time(); [0 for _ in iter(lambda: time.process_time() - a < 0.2, False)]; "
        f"open({str(tmp_path / 'used')!r}, 'w').write(str(time.process_time() - a))"
    )
    after = read_resources(puppet.pid, puppet.start_ticks, pss=False)
    assert before.cpu_s is not None
    assert after.cpu_s is not None
    used_s = float((tmp_path / "used").read_text())
    assert (after.cpu_s - before.cpu_s) / used_s == pytest.approx(1.0, abs=0.1)


def test_cpu_time_before_launch_is_taken_off(puppet: Puppet) -> None:
    whole = read_resources(puppet.pid, puppet.start_ticks, pss=False).cpu_s
    less = read_resources(puppet.pid, puppet.start_ticks, cpu_at_launch_s=5.0, pss=False).cpu_s
    assert whole is not None
    assert less is not None
    assert less == pytest.approx(whole - 5.0, abs=0.5)


def test_threads_and_descriptors_are_counted(puppet: Puppet) -> None:
    before = read_resources(puppet.pid, puppet.start_ticks, pss=False)
    puppet.do(
        "stay = threading.Event(); [threading.Thread(target=stay.wait, daemon=True).start() for _ in range(3)]"
    )
    puppet.do("files = [open('/dev/null') for _ in range(5)]")
    after = read_resources(puppet.pid, puppet.start_ticks, pss=False)
    assert before.n_threads is not None
    assert before.n_descriptors is not None
    assert (after.n_threads, after.n_descriptors) == (before.n_threads + 3, before.n_descriptors + 5)


def test_a_process_that_is_gone_or_another_has_no_reading(puppet: Puppet) -> None:
    assert read_resources(puppet.pid, puppet.start_ticks - 1).rss_bytes is None
    puppet.end()
    reading = read_resources(puppet.pid, puppet.start_ticks)
    values = (reading.rss_bytes, reading.pss_bytes, reading.cpu_s, reading.n_threads, reading.n_descriptors)
    assert values == (None, None, None, None, None)


def test_children_count_with_their_parent_and_their_cpu_time_stays_when_they_end(puppet: Puppet) -> None:
    tree = TreeReader(puppet.pid, puppet.start_ticks)
    alone = tree.read()
    puppet.do("r, w = os.pipe(); r2, w2 = os.pipe()")
    burn = "[0 for _ in iter(lambda: time.process_time() < 0.2, False)]"
    puppet.do(
        f"child = os.fork() or (held := bytearray(b'x') * (40 << 20), {burn},"
        " os.write(w2, b'1'), os.read(r, 1), os._exit(0))"
    )
    puppet.do("os.read(r2, 1)")
    tree.discover()
    both = tree.read()
    puppet.do("os.write(w, b'1'); os.waitpid(child, 0)")
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
    seen, unseen = (
        TreeReader(puppet.pid, puppet.start_ticks, short_lived=short_lived) for short_lived in (True, False)
    )
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


def test_a_tree_of_short_lived_children_is_read_at_the_slow_rate(
    puppets: Callable[[], Puppet], tmp_path: Path
) -> None:
    one, other = puppets(), puppets()
    watched = {"service": one.watched, "database": replace(other.watched, short_lived=True)}
    with Sampler(watched, samples=tmp_path / "s.csv", machine=tmp_path / "m.csv", hz=50.0):
        assert eventually(
            lambda: (tmp_path / "s.csv").exists() and (tmp_path / "s.csv").read_text().count("service,") > 60
        )
    roles = [row["role"] for row in rows(tmp_path / "s.csv")]
    assert roles.count("database") >= 2
    assert roles.count("service") > 5 * roles.count("database")


def test_samples_have_a_row_per_role_and_tick(puppets: Callable[[], Puppet], tmp_path: Path) -> None:
    one, other = puppets(), puppets()
    with Sampler(
        {"service": one.watched}, samples=tmp_path / "samples.csv", machine=tmp_path / "machine.csv", hz=100
    ) as sampler:
        time.sleep(0.1)
        sampler.add("generator", other.watched)
        time.sleep(0.3)
    summary = sampler.stop()
    samples = rows(tmp_path / "samples.csv")
    assert list(samples[0]) == ["monotonic_s", "role", "rss_bytes", "cpu_s", "n_threads", "n_descriptors"]
    service = [row for row in samples if row["role"] == "service"]
    assert len(service) == summary.ticks
    assert 0 < len(samples) - len(service) < len(service)
    times = [float(row["monotonic_s"]) for row in service]
    assert times == sorted(times)
    assert all(int(row["rss_bytes"]) > MIB and float(row["cpu_s"]) > 0 for row in samples)
    for dear in ("n_threads", "n_descriptors"):
        assert service[0][dear] != ""
        assert sum(row[dear] == "" for row in service) > len(service) / 2


def test_the_machine_is_sampled_beside_it(puppet: Puppet, tmp_path: Path) -> None:
    with Sampler(
        {"service": puppet.watched}, samples=tmp_path / "samples.csv", machine=tmp_path / "machine.csv", hz=20
    ):
        time.sleep(0.6)
    machine = rows(tmp_path / "machine.csv")
    assert tuple(machine[0]) == MACHINE_COLUMNS
    assert 2 <= len(machine) <= 4
    assert float(machine[-1]["total_cpu_s"]) >= float(machine[0]["total_cpu_s"]) > 0


def test_a_process_that_ends_ends_its_rows_and_nothing_else(
    puppets: Callable[[], Puppet], tmp_path: Path
) -> None:
    mortal, other = puppets(), puppets()
    roles = {"generator": mortal.watched, "service": other.watched}
    with Sampler(roles, samples=tmp_path / "s", machine=tmp_path / "m", hz=100):
        assert eventually((tmp_path / "s").exists)
        assert eventually(lambda: (tmp_path / "s").read_text().count("generator") >= 3)
        mortal.end()
        ended = time.monotonic()
        lines = (tmp_path / "s").read_text().count("service")
        assert eventually(lambda: (tmp_path / "s").read_text().count("service") >= lines + 5)
    samples = rows(tmp_path / "s")
    assert all(float(row["monotonic_s"]) <= ended for row in samples if row["role"] == "generator")
    assert all(row["rss_bytes"] != "" for row in samples)


def test_a_process_that_was_gone_before_has_no_rows(puppet: Puppet, tmp_path: Path) -> None:
    puppet.end()
    with Sampler({"service": puppet.watched}, samples=tmp_path / "s", machine=tmp_path / "m", hz=100):
        time.sleep(0.05)
    assert rows(tmp_path / "s") == []
    assert rows(tmp_path / "m") != []


def test_ticks_that_could_not_be_kept_are_counted_and_not_made_up_for(
    puppet: Puppet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, read = [0.25], TreeReader.read

    def read_late_once(tree: TreeReader) -> ProcessReading | None:
        time.sleep(late.pop() if late else 0.0)
        return read(tree)

    monkeypatch.setattr(TreeReader, "read", read_late_once)
    with Sampler(
        {"service": puppet.watched}, samples=tmp_path / "s", machine=tmp_path / "m", hz=20
    ) as sampler:
        assert eventually(lambda: not late)
        time.sleep(0.5)
    summary = sampler.stop()
    assert summary.missed_ticks >= 4
    assert summary.longest_gap_s >= 0.25
    # every tick of the schedule was either made or counted; the last one is made at the stop
    made_or_missed = summary.ticks - 1 + summary.missed_ticks
    assert made_or_missed == pytest.approx(summary.duration_s * 20, abs=1.5)


def test_an_unwritable_file_is_an_error_of_stop(puppet: Puppet, tmp_path: Path) -> None:
    sampler = Sampler({"service": puppet.watched}, samples=tmp_path / "no" / "s", machine=tmp_path / "m")
    sampler.start()
    with pytest.raises(FileNotFoundError):
        sampler.stop()


def test_a_full_disk_is_an_error_of_stop(puppet: Puppet, tmp_path: Path) -> None:
    sampler = Sampler({"service": puppet.watched}, samples=Path("/dev/full"), machine=tmp_path / "m", hz=100)
    sampler.start()
    time.sleep(0.05)
    with pytest.raises(OSError, match="No space left"):
        sampler.stop()


def test_descriptors_of_the_sampler_itself_are_closed(puppet: Puppet, tmp_path: Path) -> None:
    def n_open() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = n_open()
    with Sampler({"service": puppet.watched}, samples=tmp_path / "s", machine=tmp_path / "m", hz=100):
        time.sleep(0.05)
    read_resources(puppet.pid, puppet.start_ticks)
    assert n_open() == before


def test_a_process_that_ended_and_was_not_reaped_has_no_reading(puppet: Puppet) -> None:
    tree = TreeReader(puppet.pid, puppet.start_ticks)
    assert tree.read() is not None
    puppet.process.kill()

    def is_zombie() -> bool:
        stat = read_stat(puppet.pid)
        return stat is not None and stat.ended

    assert eventually(is_zombie)
    assert tree.account(tree.glance()) is None
    assert tree.read() is None
    tree.close()
