# SPDX-License-Identifier: Apache-2.0
"""Trials of a notebook: of one age, in the parts of their loads, with what else they used, drawn, and what making their
variants took."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness.analysis.evidence.parameters import StageParameters
from harness.model import Unavailable
from harness.pipeline.steps import tidy_all
from harness.rows import (
    along,
    at_levels,
    block_mean,
    builds,
    find_session,
    means,
    of_one_age,
    open_session,
    parts,
    used,
)
from harness.rows.session import Session
from harness.tests.support.kept_sessions import lay_project, lay_session
from harness.tests.support.made_up_trials import made_up_trials
from harness.tests.support.synthetic import AOT_CACHE_BYTES, AOT_TRAINING_S, make_project
from harness.tests.support.synthetic_trial import OPENED_PUBLISHED

EXPERIMENTS = ("clients-hello", "clients-faces")
SETTINGS = StageParameters(profile="smoke", experiments=",".join(EXPERIMENTS))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a made-up session of two experiments on the clients."""
    root = lay_project(tmp_path_factory.mktemp("trials"), profile="smoke", experiments=EXPERIMENTS)
    tidy_all(SETTINGS, root=root)
    return root


def session(root: Path, name: str) -> Session:
    return find_session(name, SETTINGS, root=root)


def test_the_few_young_trials_of_a_warm_variant_go_and_a_young_variant_keeps_all() -> None:
    warm, young = "warm", "young"
    ages = {"warm": [warm, warm, young], "cold": [young, young, warm], "again": [warm, young, warm]}
    trials = pd.DataFrame(
        {"variant": name.replace("again", "warm"), "age": age, "measurement_s": 1.0, "excluded": False,
         "duplicate": name == "again", "part": name}
        for name, each in ages.items()
        for age in each
    )  # fmt: skip
    left = of_one_age(trials)
    assert list(left.query("part == 'warm'")["age"]) == ["warm", "warm"]
    assert len(left.query("part == 'cold'")) == 3  # most are young: that is its age
    assert len(left.query("part == 'again'")) == 3  # a duplicate is no part of a mean
    assert len(of_one_age(trials.assign(excluded=True))) == len(trials)
    assert of_one_age(trials.head(0)).empty
    split = trials.assign(
        level=["a", "a", "b"] * 3
    )  # the young one is alone at its level: there it is the age
    assert len(of_one_age(split, by=["level"]).query("part == 'warm'")) == 3


def test_each_part_of_a_load_is_a_row_and_is_compared_within_its_variant(root: Path) -> None:
    hello = session(root, "clients-hello")
    segments = parts(hello)
    assert set(segments["part"]) == {"1", "2", "3", "4"}
    assert len(segments) == 4 * len(hello.trials.query("not excluded"))
    assert segments.groupby("trial_id")["n_requests"].sum().eq(1200).all()
    assert set(parts(hello, n=8)["part"]) == set(map(str, range(1, 9)))
    rows = along(segments, "latency_mean_s", "mean", factor="part", base="1")
    assert set(rows["part"]) == {"2", "3", "4"} and set(rows["reference"]) == {"1"}
    assert rows["value"].between(0.8, 1.25).all()  # the made-up load does not change


def test_connections_are_those_that_the_database_and_go_itself_counted(root: Path) -> None:
    assert set(used(session(root, "clients-hello"))["most_connections"]) == {8}
    faces = used(session(root, "clients-faces"))
    of_go = faces[faces["variant"] == "go-nethttp"]
    opened = of_go.groupby("face")["upstream_opened"].mean().to_dict()
    assert opened == {"matched": 0, "published": OPENED_PUBLISHED}
    assert faces.loc[faces["variant"] == "java-quarkus", "upstream_opened"].isna().all()


def test_of_what_was_not_measured_there_are_no_parts_and_nothing_was_used(root: Path) -> None:
    nothing = session(root, "clients-db")
    assert parts(nothing).empty and used(nothing).empty
    assert along(parts(nothing), "latency_mean_s", "mean", factor="part", base="1").empty
    assert means(used(nothing), most="most_connections").empty


def test_a_level_of_a_factor_that_was_not_measured_asks_for_nothing() -> None:
    trials = made_up_trials().assign(craft=None)
    chosen = at_levels(trials, logging="on", craft="idiomatic", load="saturation")
    assert set(chosen["logging"]) == {"on"} and len(chosen) == len(trials) / 2


def test_a_mean_of_differences_has_students_interval_and_of_one_block_none() -> None:
    values = pd.Series([-0.3, 0.1, 0.4, 0.2])
    row = block_mean(values, level=0.9, name="step", inputs=["e/s/1"])
    low, high = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert [row["value"], row["low"], row["high"]] == pytest.approx([0.1, low, high])
    assert (row["n_blocks"], row["name"], row["inputs"]) == (4, "step", ["e/s/1"])
    assert np.isnan(block_mean(values[:1])["low"])


REASON = "native-image is missing: it was not looked for, as this is made up"
GONE = ("java-jdkhttp-native", "java-helidon-native", "java-jaxrs-native")


def test_a_form_that_was_made_has_numbers_and_one_without_its_compiler_the_reason(tmp_path: Path) -> None:
    root = make_project(tmp_path, profile="smoke", experiments=())
    settings = StageParameters(experiments="forms,forms-clients")
    lay_session(
        root, "forms", "quick", unavailable=[Unavailable(variant=name, reason=REASON) for name in GONE]
    )
    tidy_all(StageParameters(experiments="forms"), root=root)
    rows = builds(open_session("forms", settings, root=root)).set_index(["variant", "name"])
    for name in GONE:
        assert rows.loc[name].loc[["build", "peak", "size"], "why"].eq(REASON).all()
    cache = rows.loc["java-jdkhttp-aot"]["value"]
    assert (cache["build"], cache["size"]) == (AOT_TRAINING_S, AOT_CACHE_BYTES)
    assert "java-jdkhttp" not in rows.index.get_level_values("variant")
    assert builds(find_session("forms-clients", settings, root=root)).empty
