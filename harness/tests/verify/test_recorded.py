# SPDX-License-Identifier: Apache-2.0
"""Rules for the stalls of real files that no threshold was chosen on, and for how such files are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.model import LOAD_TOOLS
from harness.project import find_root
from harness.report.analyse import report_file
from harness.tests.support.available import program_or_not_run
from harness.verify.real import recorder
from harness.verify.real.recorded import FOLDER, Judged, Recording, has_stops, judge, recorded, recordings

HERE = find_root() / FOLDER
ALL = recordings(HERE)
ASIDE = [one for one in ALL if one.kept_aside]
MOST_BYTES = 1_500_000


def known(seed: int, *stops: tuple[float, float], waits: tuple[tuple[float, float], ...] = ()) -> Recording:
    return Recording(file="a.csv.gz", seed=seed, stops=stops, waits=waits, others_share=0.0, place="2 cores")


def judged(listed: tuple[tuple[float, float], ...], *stops: tuple[float, float]) -> Judged:
    return Judged(
        known(2, *stops, waits=((20.0, 20.06),)), limit_s=0.05, listed=listed, begin_s=5.0, duration_s=60.0
    )


@pytest.mark.parametrize("one", ASIDE, ids=lambda one: one.file)
def test_no_file_kept_aside_lists_a_stall_that_its_own_limit_excludes(one: Recording) -> None:
    found = judge(one, HERE)
    assert found.limit_s is not None
    assert found.below == 0


def test_stops_of_the_files_kept_aside_are_found_and_few_others_are_listed() -> None:
    found = recorded(len(ASIDE), 1)
    assert [f"{cell.name}: {cell.value:.3g}" for cell in found.cells if cell.refuted] == []
    assert any(cell.control for cell in found.cells)


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "never stopped"])
def test_every_tool_and_loop_is_kept_aside(stopped: bool) -> None:
    kinds = {one.file.rpartition("-")[0] for one in ASIDE if bool(one.stops) == stopped}
    assert kinds == {"jmeter-closed", "jmeter-open", "k6-closed", "k6-open", "locust-closed"}


def test_what_a_file_is_for_follows_from_its_seed() -> None:
    assert [known(seed).kept_aside for seed in (1, 2, 3, 4)] == [False, True, False, True]
    assert [has_stops(seed) for seed in (1, 2, 3, 4, 5, 6)] == [True, True, False, False, True, True]
    for one in ALL:
        assert one.file.split(".")[0].rpartition("-")[2] == str(one.seed)
        assert bool(one.stops) == has_stops(one.seed)


def test_each_recorded_file_has_its_truth_and_all_are_small() -> None:
    files = [path for path in HERE.iterdir() if path.suffix == ".gz"]
    assert sorted(path.name for path in files) == sorted(one.file for one in ALL)
    assert sum(path.stat().st_size for path in HERE.iterdir()) < MOST_BYTES


def test_only_stops_that_reach_the_limit_have_to_be_found_and_what_touches_none_is_false() -> None:
    stops = (10.0, 10.2), (11.98, 12.02)
    found = judged(((10.0, 10.2), (12.0, 12.06), (20.0, 20.1), (30.0, 30.04)), *stops, (4.0, 4.5))
    assert found.stops == stops, "the load had not begun"
    assert found.visible == ((10.0, 10.2),)
    assert (found.found(), found.found(1.5)) == (1, 0)
    assert found.false == ((20.0, 20.1), (30.0, 30.04))
    assert (found.explained, found.below) == (1, 1)


def test_a_recording_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"file": 1}')
    with pytest.raises(InputError, match=r"a\.json"):
        recordings(tmp_path)


@pytest.mark.parametrize("seed", [4, 6], ids=["never stopped", "stopped"])
def test_a_recorded_file_has_the_stops_that_were_made(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program_or_not_run("k6")
    monkeypatch.setattr(recorder, "LOAD_TOOLS", [tool for tool in LOAD_TOOLS if tool.name == "k6"])
    for name, value in {"LOAD_S": 4.0, "FIRST_S": 1.5, "EVERY_S": 1.0, "STOPS": 2}.items():
        monkeypatch.setattr(recorder, name, value)
    path = next(recorder.record(seed, tmp_path))
    (one,) = recordings(tmp_path)
    report = report_file(path)
    assert (one.file, one.seed, one.kept_aside) == (path.name, seed, True)
    assert len(one.stops) == (2 if seed == 6 else 0)
    assert report.requests > 0 and report.start_epoch_s is not None and report.duration_s is not None
    for low, high in one.stops:
        assert report.start_epoch_s < low < high
