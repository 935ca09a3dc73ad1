# SPDX-License-Identifier: Apache-2.0
"""Trials that share a process: it is warmed up once, in windows, and then takes one load after the other."""

from __future__ import annotations

import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.loadgen.base import LoadCommand, LoadSpec
from harness.measure.runner.context import SAMPLING_HZ, WARM_UP_HZ
from harness.measure.session import Assembly
from harness.model import ClosedLoad, LoadSummary, Outcome, TrialRecord
from harness.store import SessionFolder
from harness.tests.support import sessions
from harness.tests.support.fakes import FakeLoadGenerator

WARM_UP = """
[profiles.smoke.warm_up]
generator = "wrk"
users = 2
n_windows = 2
tolerance = 0.9
at_most_s = 60
"""


#: The variant ``other`` crashes; this one answers wrongly.
WRONG = """
[variants.wrong]
implementation = "misbehaving"
settings = { wrong_answers = 4 }
"""

#: Requests of each user in a window of a warm-up here.
WINDOW_LOOPS = 25


@dataclass(frozen=True, kw_only=True)
class ShortWindows(FakeLoadGenerator):
    """Stands for wrk, which does not look at bodies; its windows end after some requests, not after a second."""

    name: str = "wrk"

    def command(self, spec: LoadSpec) -> LoadCommand:
        assert isinstance(spec.profile, ClosedLoad)
        profile = ClosedLoad(users=spec.profile.users, loops=WINDOW_LOOPS)
        return super().command(spec.model_copy(update={"profile": profile}))

    def read(self, folder: Path) -> LoadSummary:
        found = super().read(folder)
        kinds = {kind: n for kind, n in found.errors_by_kind.items() if kind != "wrong body"}
        return found.model_copy(update={"n_errors": sum(kinds.values()), "errors_by_kind": kinds})


def two_loads(root: Path, more: str = WRONG) -> Path:
    """Lay out the tiny project, whose processes take two loads each after a warm-up; ``more``: variants, as TOML."""
    sessions.make_session_project(root, other="crash_after = 0")
    file = root / "harness" / "experiments" / "tiny.toml"
    head, _, rest = file.read_text().partition("\n[variants.calm]")
    file.write_text(
        f'{head}same_process = "load"\n\n[variants.calm]{rest}{more}{sessions.TWO_LOADS}{WARM_UP}'
    )
    return root


def with_windows(root: Path) -> Assembly:
    assembly = sessions.tiny_assembly(root)
    return dataclasses.replace(assembly, generators={**assembly.generators, "wrk": ShortWindows})


def pairs(folder: SessionFolder, variant: str = "calm") -> list[tuple[TrialRecord, TrialRecord]]:
    """Return the trials of each process of a variant, first and second."""
    records = {record.planned.trial_id: record for record in folder.records()}
    return [
        (records[record.planned.process_of], record)
        for record in records.values()
        if record.planned.process_of and record.planned.configuration.variant_name == variant
    ]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one session, with a warm-up in each process."""
    made = two_loads(tmp_path_factory.mktemp("one-process"))
    sessions.measure_whole(with_windows(made))
    return made


def test_one_process_takes_all_its_loads_and_is_warmed_up_once(folder: SessionFolder) -> None:
    found = pairs(folder)
    assert len(found) == 2  # and its duplicate
    for first, second in found:
        assert [first.outcome, second.outcome] == [Outcome.OK, Outcome.OK]
        assert first.instance is not None and second.instance is not None
        assert first.instance.pid == second.instance.pid
        assert first.instance.stop_signal == second.instance.stop_signal
        assert first.load is not None and second.load is not None
        assert (first.load.n_requests, second.load.n_requests) == (10, 16)
        assert first.start_up is not None and second.start_up is None
        assert [phase.name for phase in first.phases].count("warm-up") == 1
        assert [phase.name for phase in second.phases] == ["measurement"]
        names = [phase.name for phase in first.phases]
        assert names == ["start-up", "warm-up", "measurement", "cool-down", "conformance"]
        assert first.phases[3].end.monotonic_s <= second.phases[0].start.monotonic_s
        assert second.phases[0].end.monotonic_s <= first.phases[4].start.monotonic_s
        assert first.warm_up == second.warm_up
        assert first.extra["ticks_hz"] == {"load": SAMPLING_HZ, "warm-up": WARM_UP_HZ}
        assert second.extra["ticks_hz"] == {"load": SAMPLING_HZ}
        assert first.warm_up is not None and len(first.warm_up.windows) >= 4
        for window in first.warm_up.windows:
            assert window.n_requests > 0 and window.n_errors == 0
            assert window.cpu_s is not None and window.cpu_s > 0
            assert window.compile_s is None  # it is no JVM
        assert [boundary.name for boundary in second.boundaries] == ["before-load", "after-load"]
        assert folder.has(second.planned.trial_id, "samples.csv")
        assert folder.has(second.planned.trial_id, "service.stderr.txt")


def test_what_cannot_go_on_has_failed_with_the_trial_before_it(folder: SessionFolder) -> None:
    ((first, second),) = pairs(folder, "other")
    assert first.outcome == second.outcome == Outcome.FAILED
    assert second.reason is not None
    assert second.reason.startswith(f"the process of {first.planned.trial_id} ended before it: ")
    assert second.load is None and second.instance == first.instance


def test_a_trial_whose_process_is_gone_is_made_up_for_on_one_of_its_own(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "project"
    shutil.copytree(root, copy, symlinks=True)
    folder = sessions.tiny_folder(copy)
    first, second = pairs(folder)[0]
    shutil.rmtree(folder.folder / second.planned.trial_id)
    again = next(
        pair for pair in pairs(sessions.measure_whole(with_windows(copy))) if pair[0].planned == first.planned
    )
    assert again[0] == first
    assert again[1].outcome == Outcome.OK
    assert again[1].instance is not None and first.instance is not None
    assert again[1].instance.pid != first.instance.pid
    assert again[1].warm_up is not None and again[1].start_up is not None


def test_wrong_answers_are_of_all_trials_of_the_process(folder: SessionFolder) -> None:
    ((first, second),) = pairs(folder, "wrong")
    assert first.outcome == second.outcome
    assert first.outcome in (Outcome.NONCONFORMING, Outcome.OVERLOADED, Outcome.FAILED)
    assert first.reason == second.reason or first.outcome != Outcome.NONCONFORMING
