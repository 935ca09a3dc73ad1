# SPDX-License-Identifier: Apache-2.0
"""A load during which the JVM compiled, or that was late, is offered again; and once more to count its calls."""

from __future__ import annotations

import csv
import dataclasses
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.agent.sampler import Subject
from harness.analysis.tables.runtime_columns import warm_up_columns
from harness.loadgen.base import LoadSpec
from harness.measure.runner.load_phase import CALLS, counts_of
from harness.model import LoadSummary, Outcome, ResourceReading, TrialRecord
from harness.places.hosts.local import LocalHost
from harness.store import SessionFolder
from harness.tests.runner.test_one_process import two_loads, with_windows
from harness.tests.support import sessions
from harness.tests.support.fakes import FakeLoadGenerator

#: Longer than any load here lasts.
COMPILED_S = 60.0
#: So often a load may be offered again, and during so many loads the first and the second calm process compile.
REPEATS = 2
COMPILING_LOADS = (1, 9)


class CompilingHost(LocalHost):
    """This machine, on which each process compiles during its first loads, as its counters have it."""

    def __init__(self, n_loads: Sequence[int]) -> None:
        super().__init__()
        self._n_loads = n_loads
        self._n_boundaries: dict[int, int] = {}

    def resources(self, watched: Subject, *, pss: bool = True) -> ResourceReading:
        self._n_boundaries[watched.pid] = self._n_boundaries.get(watched.pid, 0) + pss
        n_over = (self._n_boundaries[watched.pid] - 1) // 2
        n_loads = self._n_loads[list(self._n_boundaries).index(watched.pid)]
        compiled_s = COMPILED_S * min(n_over, n_loads)
        return super().resources(watched, pss=pss).model_copy(update={"compile_s": compiled_s})


@dataclasses.dataclass(frozen=True, kw_only=True)
class LateAtFirst(FakeLoadGenerator):
    """Stands for a tool that knows how late it was: at its first try of a process's second load, of 16 requests."""

    def argv(self, spec: LoadSpec) -> tuple[str, ...]:
        """Sleeps first, for longer than a busy machine keeps the sampler waiting."""
        return ("sh", "-c", 'sleep 0.5; exec "$@"', "sh", *super().argv(spec))

    def read(self, folder: Path) -> LoadSummary:
        summary, again = super().read(folder), any(folder.parent.glob("earlier-load-*"))
        return summary.model_copy(update={"late_share": 0.3 * (summary.n_requests == 16 and not again)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    """One session: its first calm process compiles during its first load and has its second one sent late, its second
    process compiles during all of them."""
    root = two_loads(tmp_path_factory.mktemp("again"), more="")
    file = root / "harness" / "experiments" / "tiny.toml"
    file.write_text(file.read_text().replace("at_most_s = 60\n", f"at_most_s = 60\nrepeats = {REPEATS}\n"))
    assembly = with_windows(root)
    generators = {**assembly.generators, "locust": LateAtFirst}
    assembly = dataclasses.replace(assembly, generators=generators, host=CompilingHost(COMPILING_LOADS))
    return sessions.measure_whole(assembly)


def of(folder: SessionFolder, variant: str, process: int = 0) -> list[TrialRecord]:
    """Return the records of one of a variant's processes, counted from 0, in the order of its loads."""
    records = [one for one in folder.records() if one.planned.configuration.variant_name == variant]
    first = [one for one in records if one.planned.process_of is None][process]
    return [first, *(one for one in records if one.planned.process_of == first.planned.trial_id)]


def compiled_s(record: TrialRecord) -> float:
    read = {one.name: one.reading.compile_s or 0.0 for one in record.boundaries}
    return read["after-load"] - read["before-load"]


def test_the_last_load_counts_and_the_one_before_it_is_kept(folder: SessionFolder) -> None:
    first, second = of(folder, "calm")
    assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.OK)
    (earlier,) = first.earlier_loads
    assert (earlier.n_requests, earlier.n_errors, earlier.compile_s) == (10, 0, COMPILED_S)
    assert earlier.cpu_s is not None and earlier.cpu_s > 0 and earlier.duration_s > 0
    assert first.load is not None and first.load.n_requests == 10
    assert compiled_s(first) == 0.0
    name = first.planned.trial_id
    for kept in ("load", earlier.folder):
        assert folder.has(name, f"{kept}/samples.csv")
    assert (
        folder.open(name, "load/samples.csv").read()
        != folder.open(name, f"{earlier.folder}/samples.csv").read()
    )
    (late,) = second.earlier_loads
    assert (late.n_requests, late.compile_s, late.late_share, earlier.late_share) == (16, 0.0, 0.3, 0.0)
    assert second.load is not None and second.load.late_share == 0.0 and "generator_late" not in second.flags
    assert second.instance is not None and first.instance is not None
    assert second.instance.pid == first.instance.pid


def test_an_earlier_load_is_a_part_of_the_warm_up(folder: SessionFolder) -> None:
    first, _ = of(folder, "calm")
    names = [phase.name for phase in first.phases]
    assert names == ["start-up", "warm-up", "warm-up", "measurement", "cool-down", "conformance"]
    assert first.phases[2].end.monotonic_s <= first.phases[3].start.monotonic_s
    assert [one.name for one in first.boundaries] == ["first-response", "before-load", "after-load"]
    row = warm_up_columns(first)
    assert row["earlier_loads"] == 1 and row["compile_s"] == 0.0


def test_samples_of_an_earlier_load_are_not_those_of_the_generator_that_counts(folder: SessionFolder) -> None:
    first, _ = of(folder, "calm")
    began_s = next(one.start.monotonic_s for one in first.phases if one.name == "measurement")
    lines = folder.open(first.planned.trial_id, "samples.csv").read().decode().splitlines()
    at: dict[str, list[float]] = {}
    for row in csv.DictReader(lines):
        at.setdefault(row["role"], []).append(float(row["monotonic_s"]))
    assert set(at) == {"service", "generator", "earlier-generator"}
    assert max(at["earlier-generator"]) < began_s <= min(at["generator"])


def test_a_load_is_offered_again_only_so_often(folder: SessionFolder) -> None:
    first, second = of(folder, "calm", process=1)
    for record in (first, second):
        assert record.outcome == Outcome.OK
        assert [one.compile_s for one in record.earlier_loads] == [COMPILED_S] * REPEATS
        assert compiled_s(record) == COMPILED_S  # which the comparison refuses


def test_a_load_that_failed_is_not_made_good(folder: SessionFolder) -> None:
    first, _ = of(folder, "other")
    assert first.outcome == Outcome.FAILED and first.earlier_loads == ()


#: As perf writes it: a comment, an empty line, then a line for each event.
PERF = """# started on Sat Nov 28 19:00:00 2026

1000,,raw_syscalls:sys_enter,2001234567,100.00,,
400,,syscalls:sys_enter_read,2001234567,100.00,,
0,,syscalls:sys_enter_poll,2001234567,100.00,,
<not supported>,,syscalls:sys_enter_futex,0,100.00,,
"""


def test_all_calls_come_first_and_what_was_not_counted_is_left_out() -> None:
    assert list(counts_of(PERF).items()) == [("all", 1000), ("read", 400)]
    assert counts_of("perf: no permission\n") == {}


def counting_session(root: Path) -> SessionFolder:
    sessions.calm_alone(sessions.make_session_project(root))
    file = root / "harness" / "experiments" / "tiny.toml"
    file.write_text(file.read_text().replace("[profiles.smoke]\n", "[profiles.smoke]\nsystem_calls = true\n"))
    return sessions.measure_tiny(root)


def test_a_trial_has_the_calls_of_its_service_or_why_there_are_none(tmp_path: Path) -> None:
    event = ("-e", "raw_syscalls:sys_enter")
    try:
        tried = subprocess.run(
            ("unshare", "-m", "perf", "stat", *event, "true"), capture_output=True, check=False
        )
        can_count = tried.returncode == 0
    except OSError:
        can_count = False
    folder = counting_session(tmp_path)
    for record in folder.records():
        assert record.outcome == Outcome.OK
        assert not (folder.folder / record.planned.trial_id / CALLS).exists()
        assert record.load is not None and record.load.n_requests == 10, "the other load counts"
        counted = record.extra["system_calls"]
        assert isinstance(counted, dict)
        if not can_count:
            assert set(counted) == {"unavailable"} and counted["unavailable"]
            continue
        calls: Any = counted["calls"]
        n_requests: Any = counted["n_requests"]
        assert n_requests > 10
        assert calls["all"] >= 2 * n_requests, "it reads and it writes"
        assert calls["all"] >= sum(n for name, n in calls.items() if name != "all") > n_requests
