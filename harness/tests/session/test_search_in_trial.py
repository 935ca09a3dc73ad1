# SPDX-License-Identifier: Apache-2.0
"""A capacity that each trial searches for, on its own process, once its load is over."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pydantic import ValidationError

from harness.analysis.tables.layout import load_trials
from harness.measure.session import Assembly
from harness.model import Outcome, ProfileDefinition, TrialRecord
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.tests.support.fakes import FakeLoadGenerator
from harness.tests.support.sessions import make_session_project, measure_whole, tiny_assembly, tiny_folder

USERS = {"generator": "locust", "profile": {"model": "closed", "users": 2, "loops": 5}}
RATE = {"generator": "locust", "profile": {"model": "open", "rate_per_s": 5, "duration_s": 1}}
SEARCH = (
    "search = { generator = 'k6', connections = 4, loss_ratio = 0.9, late_after_s = 30.0, "
    "first_trial_s = 0.2, trial_s = 0.3, trials_s = 0.6, width = 0.2 }"
)
#: Before a search: one poll for readiness, the four posts among the cases of the contract, and the load.
RIGHT_ANSWERS = 1 + 4 + 10


def searching_project(root: Path) -> Path:
    """The tiny project, whose trials search for their capacity with another tool than their load has."""
    made = make_session_project(root, other=f"slow_s = 0.04, wrong_answers = {RIGHT_ANSWERS}")
    path = made / "harness/experiments/tiny.toml"
    calm = 'implementation = "misbehaving"'
    text = path.read_text().replace(calm, f"{calm}\nsettings = {{ slow_s = 0.04 }}", 1)
    path.write_text(text.replace("blocks = 1\n", f"blocks = 1\n{SEARCH}\n", 1))
    return made


def assembly_with(root: Path, *tools: str) -> Assembly:
    generators = {name: partial(FakeLoadGenerator, name=name) for name in tools}
    return replace(tiny_assembly(root), generators=generators)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one session: two trials of the calm variant, and one of another in which no rate is good."""
    made = searching_project(tmp_path_factory.mktemp("searching"))
    measure_whole(assembly_with(made, "locust", "k6"))
    return made


def of_variant(root: Path, name: str) -> list[TrialRecord]:
    records = tiny_folder(root).records()
    return [one for one in records if one.planned.configuration.variant_name == name]


def test_each_trial_has_a_capacity_of_its_own_with_all_its_short_loads(root: Path) -> None:
    records = of_variant(root, "calm")
    assert len(records) == 2 and {record.outcome for record in records} == {Outcome.OK}
    for record in records:
        search = record.search
        assert search is not None and search.goals == record.planned.configuration.search
        assert len(search.trials) >= 2 and search.lower_per_s > 0
        assert record.load is not None and record.load.n_requests == 10, "the load is apart from its search"
    assert not list((root / ".cache").rglob("samples.csv*")), "files of the search are thrown away"
    tidy_all(StageParameters(profile="smoke", experiments="tiny"), root=root)
    trials = load_trials(root, "tiny")
    trials = trials[trials["variant"] == "calm"]
    assert sorted(trials["capacity_per_s"]) == sorted(one.search.lower_per_s for one in records if one.search)
    assert (trials["search_load_s"] > 0).all()


def test_a_trial_of_which_no_rate_keeps_the_goals_has_failed_and_the_session_goes_on(root: Path) -> None:
    assert tiny_folder(root).complete
    (record,) = of_variant(root, "other")
    assert record.outcome == Outcome.FAILED and record.search is None
    assert record.reason is not None and "already misses the goals" in record.reason
    assert record.load is not None, "what the load came to is kept"
    assert record.load.n_requests == 10


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"loads": {"few": RATE}}, "users without a pause reach, found a rate: .*few"),
        ({"search": {"connections": 4}, "loads": {"few": {**USERS, "generator": "wrk"}}}, "open loop"),
    ],
    ids=["a rate", "no open loop"],
)
def test_a_search_begins_at_what_users_reach_and_offers_rates(changes: dict[str, object], why: str) -> None:
    known = {"blocks": 1, "search": {"generator": "oha"}, "loads": {"few": USERS}}
    with pytest.raises(ValidationError, match=why):
        ProfileDefinition.model_validate(known | changes)
