# SPDX-License-Identifier: Apache-2.0
"""What the sampler keeps of its schedule, its files and the processes that it reads."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import pytest

from harness.agent.process_tree import ProcessReading, TreeReader
from harness.agent.sampler import SLOW_HZ, Sampler, Subject
from harness.tests.support.instances import eventually
from harness.tests.support.puppet import Puppet

MIB = 1024 * 1024
#: As docs/data.md has them.
SAMPLE_COLUMNS = ["monotonic_s", "role", "rss_bytes", "cpu_s", "n_threads", "n_descriptors"]
MACHINE_COLUMNS = [
    *("monotonic_s", "psi_cpu_some_s", "psi_memory_some_s", "psi_io_some_s", "steal_s", "idle_s"),
    *("total_cpu_s", "load_average_1m", "n_throttled", "throttled_s"),
]


class Bench(Protocol):
    """A sampler at work, which writes where ``Files`` says."""

    def __call__(self, hz: float, **roles: Subject) -> AbstractContextManager[Sampler]: ...


class Files:
    """The two files of a sampler."""

    def __init__(self, folder: Path) -> None:
        self.samples, self.machine = folder / "samples.csv", folder / "machine.csv"

    def count(self, role: str) -> int:
        """How many rows of a role are written by now."""
        return self.samples.read_text().count(f",{role},") if self.samples.exists() else 0

    def has(self, role: str) -> bool:
        return self.count(role) > 0

    def of(self, role: str) -> list[dict[str, str]]:
        return [row for row in rows(self.samples) if row["role"] == role]


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def bench(files: Files) -> Bench:
    @contextmanager
    def make(hz: float, **roles: Subject) -> Iterator[Sampler]:
        sampler = Sampler(files.samples, files.machine, hz)
        for role, watched in roles.items():
            sampler.add(role, watched)
        sampler.start()
        try:
            yield sampler
        finally:
            sampler.stop()

    return make


def test_rows_are_one_per_role_and_tick(bench: Bench, files: Files, puppets: Callable[[], Puppet]) -> None:
    one, other = puppets(), puppets()
    for puppet in (one, other):  # some sources count CPU time in ticks of 10 ms
        puppet.do("[0 for _ in iter(lambda: time.process_time() < .05, False)]")
    with bench(100, service=one.watched) as sampler:
        assert eventually(lambda: files.count("service") >= 5)
        sampler.add("generator", other.watched)
        assert eventually(lambda: files.count("generator") >= 25)
    summary = sampler.stop()
    samples, service = rows(files.samples), files.of("service")
    assert list(samples[0]) == SAMPLE_COLUMNS
    assert len(service) == summary.ticks
    assert 0 < len(samples) - len(service) < len(service)
    for role in ("service", "generator"):
        times = [float(row["monotonic_s"]) for row in files.of(role)]
        assert times == sorted(times)
    assert all(int(row["rss_bytes"]) > MIB and float(row["cpu_s"]) > 0 for row in samples)
    for dear in ("n_threads", "n_descriptors"):
        assert service[0][dear] != ""
        assert sum(row[dear] == "" for row in service) > len(service) / 2


def test_its_rate_changes_and_no_tick_is_lost_or_doubled(bench: Bench, files: Files, puppet: Puppet) -> None:
    def more(n: int) -> None:
        wanted = files.count("service") + n
        assert eventually(lambda: files.count("service") >= wanted)

    with bench(200, service=puppet.watched) as sampler:
        more(100)
        sampler.pace(10)
        slow_s = time.monotonic()
        more(10)
        fast_s = time.monotonic()
        sampler.pace(200)
        more(100)
    summary = sampler.stop()
    times_s = [float(row["monotonic_s"]) for row in files.of("service")]
    assert len(times_s) == summary.ticks and times_s == sorted(times_s)
    # one that was under way, and the one that takes the call in
    assert sum(slow_s <= at_s < fast_s for at_s in times_s) <= (fast_s - slow_s) * 10 + 2
    for part in ([at_s for at_s in times_s if at_s < slow_s], [at_s for at_s in times_s if at_s > fast_s]):
        assert min(after - before for before, after in pairwise(part)) < 0.05
    assert summary.duration_s >= times_s[-1] - times_s[0]


def test_the_machine_is_sampled_beside_it(bench: Bench, files: Files, puppet: Puppet) -> None:
    began_s = time.monotonic()
    with bench(20, service=puppet.watched):
        time.sleep(0.6)
    lasted_s = time.monotonic() - began_s
    machine = rows(files.machine)
    assert list(machine[0]) == MACHINE_COLUMNS
    assert 2 <= len(machine) <= lasted_s * SLOW_HZ + 2  # one at either end
    assert float(machine[-1]["total_cpu_s"]) >= float(machine[0]["total_cpu_s"]) > 0


def test_a_process_that_ends_ends_its_rows(bench: Bench, files: Files, puppets: Callable[[], Puppet]) -> None:
    mortal, other = puppets(), puppets()
    with bench(100, generator=mortal.watched, service=other.watched):
        assert eventually(lambda: files.count("generator") >= 3)
        mortal.end()
        ended_s = time.monotonic()
        lines = files.count("service")
        assert eventually(lambda: files.count("service") >= lines + 5)
    assert all(float(row["monotonic_s"]) <= ended_s for row in files.of("generator"))
    assert all(row["rss_bytes"] != "" for row in rows(files.samples))


def test_ticks_not_kept_are_counted(bench: Bench, puppet: Puppet, monkeypatch: pytest.MonkeyPatch) -> None:
    late, read = [0.25], TreeReader.read

    def read_late_once(tree: TreeReader, *, threads: bool = True) -> ProcessReading | None:
        time.sleep(late.pop() if late else 0.0)
        return read(tree, threads=threads)

    monkeypatch.setattr(TreeReader, "read", read_late_once)
    with bench(20, service=puppet.watched) as sampler:
        assert eventually(lambda: not late)
        time.sleep(0.5)
    summary = sampler.stop()
    assert summary.missed_ticks >= 4
    assert summary.longest_gap_s >= 0.25
    # every tick of the schedule was either made or counted; the last one is made at the stop
    made_or_missed = summary.ticks - 1 + summary.missed_ticks
    assert made_or_missed == pytest.approx(summary.duration_s * 20, abs=1.5)


@pytest.mark.parametrize(
    ("samples", "words"), [("/no/samples.csv", "No such file"), ("/dev/full", "No space left")]
)
def test_a_failing_file_is_an_error_of_stop(files: Files, puppet: Puppet, samples: str, words: str) -> None:
    sampler = Sampler(Path(samples), files.machine, 100)
    sampler.add("service", puppet.watched)
    sampler.start()
    time.sleep(0.05)
    with pytest.raises(OSError, match=words):
        sampler.stop()
