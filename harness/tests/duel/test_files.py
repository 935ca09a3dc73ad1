# SPDX-License-Identifier: Apache-2.0
"""The experiment of a duel is the adopted one with both versions as its variants, and a load at a rate beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.adopt import Workspace
from harness.definitions import load_study
from harness.duel import Rate, Side, set_up
from harness.model import ClosedLoad, OpenLoad
from harness.tests.support.available import PROJECT

SERVICE = """name = "shop"
workload = "shop"
language = "java"
framework = "unknown"
runtime = "jvm"
artifact = "a.jar"
start = ["{java}", "{runtime_args}", "-jar", "{artifact}"]
"""
REQUEST = '{"mix": "shop", "name": "a", "method": "GET", "path": "/a", "expect": {"status": 200}}\n'


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """An adopted service whose experiment was changed by hand."""
    found = Workspace(folder=tmp_path / "shop-rematch", name="shop", service="shop")
    for file, text in ((found.service_toml, SERVICE), (found.contract / "requests.jsonl", REQUEST)):
        file.parent.mkdir(parents=True)
        file.write_text(text, "utf-8")
    (found.contract / "cases.jsonl").write_text("", "utf-8")
    found.write_experiment(["A comment."], "wrk", "wrk")
    changed = found.experiment.read_text("utf-8")
    for old, new in (
        ("cpus = 1", "cpus = 2"), ("blocks = 10", "blocks = 7"), ("users = 16, duration_s = 5", "users = 3, duration_s = 9"),
        ("at_most_s = 60", "at_most_s = 33"),
    ):  # fmt: skip
        assert old in changed
        changed = changed.replace(old, new)
    found.experiment.write_text(changed, "utf-8")
    return found


def experiment_of(place: Workspace, folder: Path, rate: Rate | None = None, **java: int) -> Any:
    sides = tuple(
        Side(label=name, source=place.service_toml.parent, what=name, java=java.get(name))
        for name in ("old", "new")
    )
    duel = set_up(place, (sides[0], sides[1]), folder / "duel", rate=rate)
    assert duel.variant(duel.sides[0]).runtime.cpus == 2
    return load_study(PROJECT, str(duel.experiment)).experiment


def test_users_duration_blocks_warm_up_and_cpus_are_those_of_the_experiment(
    place: Workspace, tmp_path: Path
) -> None:
    found = experiment_of(place, tmp_path, new=25)
    assert (found.reference, list(found.variants), found.load) == ("old", ["old", "new"], "users")
    assert [one.runtime.cpus for one in found.variants.values()] == [2, 2]
    assert [one.runtime.java for one in found.variants.values()] == [None, 25]
    quick = found.profiles["quick"]
    assert quick.blocks == 7 and quick.warm_up.at_most_s == 33
    assert quick.loads["users"].profile == ClosedLoad(users=3, duration_s=9.0)


def test_a_rate_is_a_second_load_of_the_same_process(place: Workspace, tmp_path: Path) -> None:
    found = experiment_of(place, tmp_path, Rate(generator="k6", per_s=1200.0))
    assert found.same_process == "load" and list(found.factors["load"]) == ["users", "rate"]
    offered = found.profiles["quick"].loads["rate"].profile
    assert isinstance(offered, OpenLoad) and offered.rate_per_s == 1200
    assert found.profiles["smoke"].levels == {"load": ("users",)}


def test_a_rate_is_found_by_the_tool_that_offers_it(place: Workspace, tmp_path: Path) -> None:
    quick = experiment_of(place, tmp_path, Rate(generator="k6")).profiles["quick"]
    assert quick.calibration.generator == "k6" and quick.calibration.of == "slowest"
    assert 0 < quick.scaled_loads["rate"].profile.rate_share < 1


def test_an_experiment_with_factors_of_its_own_keeps_them(place: Workspace, tmp_path: Path) -> None:
    text = place.experiment.read_text("utf-8").replace('load = "users"\n', "", 1)
    place.experiment.write_text(text + '\n[factors.kind]\none = { load = "users" }\n', "utf-8")
    found = experiment_of(place, tmp_path, Rate(generator="k6", per_s=10.0))
    assert list(found.factors) == ["kind"] and found.same_process is None
