# SPDX-License-Identifier: Apache-2.0
"""``rematch passport``: what this machine can tell, kept, and held against the earlier ones of the same machine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness.analysis.tables.tidy import tidy
from harness.evidence import Evidence
from harness.evidence.passport import (
    DUET,
    EXPERIMENT,
    Passport,
    changes,
    compare_designs,
    half_width,
    passport_of,
)
from harness.store import Store
from harness.tests.support.available import only_when_long
from harness.tests.support.command import run_here
from harness.tests.support.synthetic import make_project, make_session


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two made-up passports."""
    root = make_project(tmp_path_factory.mktemp("passport"), experiments=(EXPERIMENT,))
    make_session(root, EXPERIMENT, "quick", 2)
    return root


@pytest.fixture(scope="module")
def passport(root: Path) -> Passport:
    tidy(root, [EXPERIMENT])
    session = Store(root).sessions(EXPERIMENT)[0]
    return passport_of(Evidence(root=root, experiment=EXPERIMENT, sessions=(session,)))


def test_the_newest_passport_is_printed_within_eighty_columns_and_compared(root: Path) -> None:
    code, out, err = run_here(root, "passport", "--last")
    assert code == 0, err
    assert "5 blocks" in out and "20 blocks" in out and "CPU time per request" in out
    assert "blocks not used" in out and "spread now over then" in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_the_json_has_every_metric_with_both_designs(root: Path) -> None:
    code, out, err = run_here(root, "passport", "--last", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert {one["metric"] for one in said["lines"]} >= {"throughput", "cpu", "memory"}
    for one in said["lines"]:
        assert [point["n_blocks"] for point in one["blocked"]] == [5, 10, 20]
        assert [point["n_blocks"] for point in one["unpaired"]] == [5, 10, 20]
    assert all(isinstance(one["changed"], bool) for one in said["changes"])


def test_more_blocks_tell_smaller_ratios_in_both_designs(passport: Passport) -> None:
    for line in passport.lines:
        for points in (line.blocked, line.unpaired):
            values = [one.ratio.value for one in points if one.ratio.value is not None]
            assert values == sorted(values, reverse=True) and all(value > 1 for value in values)


def with_spread(passport: Passport, factor: float, *, at_s: float, machine: str | None = None) -> Passport:
    lines = tuple(
        one.model_copy(update={"sd_log_ratio": factor * (one.sd_log_ratio or 0.01)}) for one in passport.lines
    )
    return passport.model_copy(
        update={
            "lines": lines, "started_epoch_s": at_s, "session": f"passport/at-{at_s:g}",
            "machine_id": machine or passport.machine_id,
        }
    )  # fmt: skip


def test_a_machine_that_became_noisier_is_told_and_one_that_did_not_is_not(passport: Passport) -> None:
    now = with_spread(passport, 1.0, at_s=100.0)
    same = changes(now, [with_spread(passport, 1.1, at_s=50.0)])
    assert same and not any(one.changed for one in same)
    noisier = changes(with_spread(passport, 5.0, at_s=100.0), [with_spread(passport, 1.0, at_s=50.0)])
    assert all(one.changed and one.ratio == pytest.approx(5.0) for one in noisier)


def test_only_the_newest_earlier_passport_of_the_same_machine_is_compared_with(passport: Passport) -> None:
    now = with_spread(passport, 1.0, at_s=100.0)
    earlier = [
        with_spread(passport, 2.0, at_s=10.0),
        with_spread(passport, 2.0, at_s=60.0),
        with_spread(passport, 2.0, at_s=90.0, machine="another"),
        with_spread(passport, 2.0, at_s=200.0),
    ]
    assert {one.earlier for one in changes(now, earlier)} == {"passport/at-60"}
    assert changes(now, earlier[2:]) == ()


def test_without_a_passport_the_command_says_how_to_make_one(tmp_path: Path) -> None:
    root = make_project(tmp_path, experiments=())
    code, _, err = run_here(root, "passport", "--last")
    assert code == 2 and "measure one: rematch passport" in err


def test_equal_spreads_are_called_changed_about_as_often_as_the_level(passport: Passport) -> None:
    rng = np.random.default_rng(1)
    n = passport.lines[0].n_pairs
    wrong = 0
    for _ in range(300):
        a, b = (float(rng.normal(size=n).std(ddof=1)) for _ in range(2))
        one = passport.model_copy(
            update={
                "lines": (passport.lines[0].model_copy(update={"sd_log_ratio": a}),),
                "started_epoch_s": 2.0,
            }
        )
        two = passport.model_copy(
            update={
                "lines": (passport.lines[0].model_copy(update={"sd_log_ratio": b}),),
                "started_epoch_s": 1.0,
                "session": "earlier",
            }
        )
        wrong += changes(one, [two])[0].changed
    assert wrong <= 12


@only_when_long("a passport of real processes")
def test_a_real_passport_is_measured_and_kept(tmp_path: Path) -> None:
    root = make_project(tmp_path, experiments=())
    (root / ".tools").symlink_to(Path(__file__).resolve().parents[3] / ".tools")
    for _ in range(2):
        code, out, err = run_here(root, "passport", "--profile", "smoke")
        assert code == 0, err
    assert "spread now over then" in out
    assert len(Store(root).sessions(EXPERIMENT)) == 2


def test_a_pilot_says_which_design_tells_more_in_the_same_minutes(tmp_path: Path) -> None:
    project = make_project(tmp_path, experiments=(EXPERIMENT, DUET))
    make_session(project, DUET, "quick", 2)
    code, out, err = run_here(project, "passport", "--last", "--duet")
    assert code == 0, err
    assert "side by side: throughput" in out, "pilots are compared with earlier ones, too"
    assert "alternating" in out and ("gains nothing" in out or 'design = "duet"' in out)
    assert max(len(line) for line in out.splitlines()) <= 80
    code, out, err = run_here(project, "passport", "--last", "--duet", "--json")
    assert code == 0, err
    assert all(isinstance(one["changed"], bool) for one in json.loads(out)["duet_changes"])
    said = json.loads(out)["designs"]
    assert said["recommended"] in ("duet", "alternating")
    assert {one["metric"] for one in said["lines"]} >= {"throughput", "cpu"}


def test_a_duet_is_recommended_where_it_is_shown_to_be_narrower_and_not_elsewhere(passport: Passport) -> None:
    def recommended(factor: float) -> tuple[str, str]:
        found = compare_designs(
            with_spread(passport, 1.0, at_s=1.0), with_spread(passport, factor, at_s=2.0),
            alternating_block_s=8.0, duet_block_s=4.0,
        )  # fmt: skip
        assert (found.n_alternating, found.n_duet) == (225, 450)
        return found.recommended, found.lines[0].narrower

    assert recommended(0.2) == ("duet", "duet")
    assert recommended(1.3) == ("alternating", "not shown")
    assert recommended(8.0) == ("alternating", "alternating")
    sizes = [half_width(0.1, n) or 0.0 for n in (5, 10, 50)]
    assert sizes == sorted(sizes, reverse=True) and half_width(None, 5) is None
