# SPDX-License-Identifier: Apache-2.0
"""What git says of a source, where it can say it, and places of this machine that no record has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.project import commit_of, has_changes, has_commit
from harness.provenance import name_places, without_paths

WHO = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "pom.xml").write_text("one\n")
    for words in (["init", "-q"], ["add", "."], [*WHO, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


def test_a_file_is_read_as_it_was_at_a_commit_and_a_change_is_noticed(repository: Path) -> None:
    commit = commit_of(repository)
    assert commit is not None and has_commit(repository, commit) is True
    assert has_changes(repository) is False
    (repository / "pom.xml").write_text("two\n")
    assert has_changes(repository) is True


def test_a_commit_that_nobody_has_is_told_from_an_unknown_one(repository: Path, tmp_path: Path) -> None:
    assert has_commit(repository, "f" * 40) is False
    assert has_commit(repository, "--help") is None
    first = commit_of(repository)
    subprocess.run(["git", *WHO, "commit", "-q", "--amend", "-m", "another"], cwd=repository, check=True)
    assert first is not None and has_commit(repository, first) is False  # it is here, and in no clone of this
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    assert commit_of(lonely) is None and has_changes(lonely) is None
    assert has_commit(lonely, "f" * 40) is None


def test_places_of_a_trial_are_named_in_its_words_and_its_files(tmp_path: Path) -> None:
    (tmp_path / "message.txt").write_text(f"{tmp_path}/a and {tmp_path}b and {tmp_path}")
    words = [f"{tmp_path}/gc.log", f"-Xlog:{tmp_path}:x", f"{tmp_path}b"]
    assert without_paths(words, places={"trial": tmp_path}) == (
        "{trial}/gc.log", "-Xlog:{trial}:x", f"{tmp_path}b",
    )  # fmt: skip
    name_places(tmp_path, places={"trial": tmp_path})
    assert (tmp_path / "message.txt").read_text() == f"{{trial}}/a and {tmp_path}b and {{trial}}"


@pytest.mark.parametrize(
    ("text", "named"), [("/a/a/b", "{x}{x}/b"), ("/a.b /a", "/a.b {x}"), ("", ""), ("/aa:/a:", "/aa:{x}:")]
)
def test_a_place_is_replaced_where_it_ends(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "file").write_text(text)
    name_places(tmp_path, places={"x": Path("/a")})
    assert (tmp_path / "file").read_text() == named
