# SPDX-License-Identifier: Apache-2.0
"""``rematch check --machine``: what this machine can tell, kept, and compared with its earlier passports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.passport import EXPERIMENT, Passport, changes, passport_of
from harness.analysis.tables.tidy import tidy
from harness.store import Store
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
    code, out, err = run_here(root, "check", "--machine", "--last")
    assert code == 0, err
    assert max(len(line) for line in out.splitlines()) <= 80
    assert "5 blocks" in out and "20 blocks" in out and "spread now over then" in out
    values = json.loads(run_here(root, "check", "--last", "--json")[1])
    assert {line["metric"] for line in values["lines"]} >= {"throughput", "cpu", "memory"}
    assert values["changes"] and all(isinstance(change["changed"], bool) for change in values["changes"])


def with_spread(passport: Passport, sd: float, *, at_s: float, machine: str | None = None) -> Passport:
    lines = tuple(line.model_copy(update={"sd_log_ratio": sd}) for line in passport.lines)
    session, machine_id = f"passport/at-{at_s:g}", machine or passport.machine_id
    more = {"lines": lines, "started_epoch_s": at_s, "session": session, "machine_id": machine_id}
    return passport.model_copy(update=more)


def test_the_newest_earlier_passport_of_the_same_machine_is_compared_with(passport: Passport) -> None:
    now = with_spread(passport, 0.05, at_s=100.0)
    same = changes(now, [with_spread(passport, 0.055, at_s=50.0)])
    assert same and not any(change.changed for change in same)
    earlier = [
        with_spread(passport, 0.02, at_s=10.0), with_spread(passport, 0.01, at_s=60.0),
        with_spread(passport, 0.02, at_s=90.0, machine="another"), with_spread(passport, 0.02, at_s=200.0),
    ]  # fmt: skip
    noisier = changes(now, earlier)
    assert all(change.changed and change.ratio == pytest.approx(5.0) for change in noisier)
    assert {change.earlier for change in noisier} == {"passport/at-60"} and changes(now, earlier[2:]) == ()


def test_equal_spreads_are_called_changed_about_as_often_as_the_level(passport: Passport) -> None:
    rng, n, wrong = np.random.default_rng(1), passport.lines[0].n_pairs, 0
    alone = passport.model_copy(update={"lines": passport.lines[:1]})
    for _ in range(300):
        now, before = (
            with_spread(alone, float(rng.normal(size=n).std(ddof=1)), at_s=at_s) for at_s in (2.0, 1.0)
        )
        wrong += changes(now, [before])[0].changed
    assert wrong <= 12


def test_without_a_passport_the_command_says_how_to_make_it(tmp_path: Path) -> None:
    root = make_project(tmp_path, experiments=())
    code, _, err = run_here(root, "check", "--last")
    assert code == 2 and "measure one: rematch check --machine" in err
    code, _, err = run_here(root, "check", "--machine", "--host", "bighost")
    assert code == 2 and "no --host" in err
