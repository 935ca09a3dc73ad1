# SPDX-License-Identifier: Apache-2.0
"""Races from real tables, block by block, and after how many requests the other one has caught up; how much slower the first
requests are, and the trials of each class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.analysis.warmup.curves import Course
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.rows import Session, even, leads, open_session, races
from harness.rows.warming import Race
from harness.tests.support.kept_sessions import lay_project

EXPERIMENT = "forms-load"
PAIRS = {
    "java-helidon-aot": "java-helidon", "java-helidon-jlink": "java-helidon", "java-helidon-native": "java-helidon",
    "java-jaxrs-aot": "java-jaxrs", "java-jaxrs-native": "java-jaxrs",
}  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A made-up quick session: with an AOT cache the first answer comes in half the time, and nothing else differs."""
    root: Path = lay_project(tmp_path_factory.mktemp("forms"), experiments=(EXPERIMENT,))
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    return open_session(EXPERIMENT, settings, root=root)


@pytest.fixture(scope="module")
def runs(session: Session) -> list[Race]:
    return races(session, session.counted, session.declared[-1].pairs)


def test_every_form_is_raced_against_its_own_program_in_every_block(runs: list[Race]) -> None:
    assert {race.trial["variant"]: race.against for race in runs} == PAIRS
    assert len(runs) == 2 * 5 * len(PAIRS)


def test_a_course_begins_with_the_first_answer_where_aot_is_ahead(session: Session, runs: list[Race]) -> None:
    race = runs[0]
    windows = session.windows().query("trial_id == @race.trial['trial_id']")
    course, first_s = race.courses[0], race.trial["time_to_first_response_s"]
    assert race.spent == "time" and course.n_requests[0] == 1 and course.spent[0] == pytest.approx(first_s)
    assert course.n_requests[-1] == 1 + windows["n_requests"].sum() - windows["n_errors"].sum()
    last = windows.iloc[-1]
    assert course.spent[-1] == pytest.approx(first_s + last["start_s"] + last["duration_s"])
    assert course.warm_cost == pytest.approx(1 / race.trial["throughput_per_s"])
    lines = leads(runs).query("variant == 'java-helidon-aot' and spent == 'time'")
    assert lines["block"].nunique() == 5 and (lines.groupby("block")["lead_s"].first() > 0).all()
    assert leads([]).empty


def test_a_mean_is_given_only_where_the_other_one_caught_up_in_every_block(runs: list[Race]) -> None:
    fast = Course(n_requests=(1.0,), spent=(0.1,), warm_cost=2e-3)
    slow = Course(n_requests=(1.0,), spent=(1.1,), warm_cost=1e-3)
    own = [race for race in runs if race.trial["variant"] == "java-jaxrs-native" and race.spent == "time"]
    caught = [race._replace(courses=(fast, slow)) for race in own]
    (row,) = even(caught).to_dict("records")
    assert row["value"] == pytest.approx(1001) and row["n_trials"] == 5 and row["spent"] == "time"
    assert row["warnings"][-1] == "beyond the last window in 5 of 5 blocks, by the warm cost"
    (row,) = even([*caught[1:], caught[0]._replace(courses=(slow, fast))]).to_dict("records")
    assert row["value"] != row["value"]
    assert row["why"] == "caught up in 4 of 5 blocks, stays ahead in 1, never ahead in 0"


def requests(cold: float, n: int = 4000) -> pd.DataFrame:
    """Requests of which the first third takes ``cold`` times as long as the others."""
    latency = np.where(np.arange(n) < n // 3, cold, 1.0) * 1e-3 * np.random.default_rng(1).normal(1, 0.01, n)
    return pd.DataFrame({"start_epoch_s": np.arange(n) / 400, "latency_s": latency, "ok": True})
