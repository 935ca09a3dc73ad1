# SPDX-License-Identifier: Apache-2.0
"""Rules for the two versions of a duel: what names one, and what is refused in one line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.duel.sides import sides
from harness.errors import InputError


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
    with (
        pytest.raises(InputError, match=said),
        sides(first, second, tmp_path),
    ):
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


def test_a_hooks_environment_does_not_name_another_repository(
    service: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    with sides("one", "two", service) as (first, _):
        assert (first.source / "app.py").read_text("utf-8") == "one"
