# SPDX-License-Identifier: Apache-2.0
"""The two versions of a duel, and its experiment: the adopted one with both as variants, and a load at a rate."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.adopt import Workspace
from harness.adopt.duel import Rate, Side, set_up
from harness.adopt.duel.sides import sides
from harness.definitions import load_study
from harness.errors import InputError
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
    toml = place.service_toml.parent
    sides = tuple(Side(label=name, source=toml, what=name, java=java.get(name)) for name in ("old", "new"))
    duel = set_up(place, (sides[0], sides[1]), folder / "duel", rate=rate)
    assert duel.variant(duel.sides[0]).runtime.cpus == 2
    return load_study(PROJECT, str(duel.experiment)).experiment


def test_users_duration_blocks_and_cpus_are_those_of_the_experiment(place: Workspace, tmp_path: Path) -> None:
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


def test_two_releases_of_the_jdk_run_the_same_sources(tmp_path: Path) -> None:
    with sides("java:17", "java:25", tmp_path) as (first, second):
        assert (first.label, first.java, second.label, second.java) == ("java-17", 17, "java-25", 25)
        assert first.source == second.source == tmp_path


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("java:9", "java:25", "found 'java:9'; allowed: java:11 or newer"),
        ("java:21", "java:21", "both versions are the same"),
        ("./nowhere", "java:21", "no such folder"),
        ("java:x", "java:25", "neither a folder"),
    ],
)
def test_what_is_no_version_is_refused(first: str, second: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said), sides(first, second, tmp_path):
        pass


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", "-C", str(folder), *named, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """A repository with two commits of a service in the folder ``web``, which a first one does not have."""
    repository = tmp_path / "repository"
    (repository / "web").mkdir(parents=True)
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "empty")
    git(repository, "tag", "empty")
    for name in ("one", "two"):
        (repository / "web" / "app.py").write_text(name, "utf-8")
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", name)
        git(repository, "tag", name)
    return repository / "web"


def state(service: Path) -> tuple[str, ...]:
    """What a duel must leave alone."""
    asked = (("worktree", "list"), ("status", "--porcelain"), ("ls-files", "-s"))
    return tuple(git(service, *words) for words in asked)


def test_two_refs_are_two_trees_that_are_gone_afterwards(service: Path) -> None:
    hook = Path(git(service, "rev-parse", "--absolute-git-dir")) / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\n", "utf-8")
    hook.chmod(0o755)
    before = state(service)
    with sides("one", "two", service) as both:
        assert [(side.source / "app.py").read_text("utf-8") for side in both] == ["one", "two"]
        assert [side.remark for side in both] == ["", ""]
        assert not any((side.source.parent / "ran").exists() for side in both)
        assert state(service) == before
    assert state(service) == before and not any(side.source.exists() for side in both)


def test_changes_that_are_not_committed_are_said_where_their_commit_is_meant(service: Path) -> None:
    (service / "app.py").write_text("three", "utf-8")
    (service / "more.py").write_text("", "utf-8")
    (service.parent / "elsewhere.txt").write_text("", "utf-8")
    with sides("one", "HEAD", service) as (first, second):
        assert (first.remark, second.remark) == ("", "without 2 uncommitted changes in web/")
        assert (second.source / "app.py").read_text("utf-8") == "two"
    assert (service / "app.py").read_text("utf-8") == "three"


@pytest.mark.parametrize(
    ("ref", "said"),
    [("three", "neither a folder nor a ref of this repository"), ("empty", "has no folder web/")],
)
def test_a_ref_without_the_service_is_refused(ref: str, said: str, service: Path) -> None:
    with pytest.raises(InputError, match=f"{said}.*found '{ref}'"), sides("one", ref, service):
        pass


def test_a_hook_names_no_repository(service: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    with sides("one", "two", service) as (first, _):
        assert (first.source / "app.py").read_text("utf-8") == "one"
