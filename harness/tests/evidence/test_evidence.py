# SPDX-License-Identifier: Apache-2.0
"""Which session is read, and from sessions of the bank and the clients to their tables: overloaded trials stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.load_response import every, load_response, offered_per_s
from harness.analysis.evidence.opening import open_evidence
from harness.analysis.evidence.sessions import newest_session
from harness.model import ClosedLoad, Load, OpenLoad
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.questions.bank import bends
from harness.rows import along
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.synthetic import CAPACITY_PER_S
from harness.tests.support.toy_sessions import make_session, trial_ids

CHOSEN = ("bank-connections", "clients-hello")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = lay_project(tmp_path_factory.mktemp("articles"), profile="smoke", experiments=CHOSEN)
    tidy_all(StageParameters(profile="smoke", experiments=",".join(CHOSEN)), root=root)
    return root


def opened(project: Path, name: str) -> Evidence:
    return open_evidence(StageParameters(profile="smoke", experiments=name), name, root=project)


def load(profile: ClosedLoad | OpenLoad) -> Load:
    return Load(generator="jmeter", profile=profile)


def test_users_who_come_once_and_arrivals_offer_a_rate_and_users_who_wait_offer_none() -> None:
    assert offered_per_s(load(ClosedLoad(users=1000, ramp_up_s=60, loops=1)), 3) == pytest.approx(50)
    assert offered_per_s(load(OpenLoad(rate_per_s=100, duration_s=1)), 7) == 700
    assert offered_per_s(load(ClosedLoad(users=100, loops=10000, ramp_up_s=10)), 1) is None
    assert offered_per_s(load(ClosedLoad(users=4, duration_s=2)), 1) is None


def test_the_table_tells_what_the_load_did_and_what_the_database_saw(project: Path) -> None:
    evidence = opened(project, "bank-connections")
    table = load_response(evidence)
    assert table is not None
    assert len(table) == len(evidence.trials)
    assert table["offered_per_s"].round(6).unique().tolist() == [0.5 * CAPACITY_PER_S * 7]
    assert set(table["most_connections"]) == {8}
    assert bends(table)["value"].isna().all()  # one load has no bend


def test_an_overloaded_trial_counts_only_where_it_is_asked_for(project: Path) -> None:
    evidence = opened(project, "bank-connections")
    table = load_response(evidence)
    assert table is not None
    wrecked = table.assign(excluded=table["connections"].str.startswith("per-statement"))
    rows = along(wrecked, "latency_p99_s", "p99", factor="connections", base="pool-20")
    assert rows["value"].isna().all()
    assert not every(wrecked)["excluded"].any()


HOUR_S = 3600.0


def newest(root: Path, *, bundled: bool = True) -> str | None:
    session = newest_session(root, "toy", bundled=bundled)
    return None if session is None else session.folder.name


@pytest.mark.parametrize(
    ("n_noisy", "read"), [(10, "smoke-local-2"), (6, "smoke-local-2"), (5, "smoke-local-1")]
)
def test_a_mostly_disturbed_session_gives_way_to_another(tmp_path: Path, n_noisy: int, read: str) -> None:
    make_session(tmp_path, bundled=True, seed=2)
    disturbed = make_session(tmp_path, bundled=True, seed=1, began_s=HOUR_S, n_noisy=n_noisy)
    assert len(trial_ids(disturbed)) == 10
    assert newest(tmp_path) == read


def test_the_newest_is_read_where_all_are_disturbed_and_of_those_measured_here(tmp_path: Path) -> None:
    for bundled in (True, False):
        make_session(tmp_path, bundled=bundled, seed=2, n_noisy=10 if bundled else 0)
        make_session(tmp_path, bundled=bundled, seed=1, began_s=HOUR_S, n_noisy=10)
        assert newest(tmp_path, bundled=bundled) == "smoke-local-1"
