# SPDX-License-Identifier: Apache-2.0
"""What git says of a source, and what a trial leaves of this machine: no places in its files, no blocks in memory."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from harness.project import commit_of, has_changes, has_commit
from harness.provenance import name_places, without_paths
from harness.tests.support.available import PROJECT

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


def test_a_commit_that_nobody_has_is_told_from_one_that_cannot_be_looked_up(
    repository: Path, tmp_path: Path
) -> None:
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
    ("text", "old", "found"),
    [
        ("/a/a/b", "/a", "{x}{x}/b"),
        ("/a.b /a", "/a", "/a.b {x}"),
        ("", "/a", ""),
        ("/aa:/a:", "/a", "/aa:{x}:"),
    ],
)
def test_a_place_is_replaced_where_it_ends(tmp_path: Path, text: str, old: str, found: str) -> None:
    (tmp_path / "file").write_text(text)
    name_places(tmp_path, places={"x": Path(old)})
    assert (tmp_path / "file").read_text() == found


HEAPS = """
import sys, threading
from harness.agent.platforms import return_large_blocks
from harness.tests.chaos.watch import held
import os

def act():
    meeting.wait()
    for _ in range(3):
        bytearray(1 << 20)
    meeting.wait()

if sys.argv[1] == "returns":
    return_large_blocks()
bytearray(1 << 20)
meeting = threading.Barrier(8)
before = held(os.getpid())["memory"]
threads = [threading.Thread(target=act) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(int(held(os.getpid())["memory"] - before))
"""


def test_no_heap_of_large_blocks_is_kept_for_each_thread_of_a_session_or_an_agent() -> None:
    def grown(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", HEAPS, how], cwd=PROJECT, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    if platform.libc_ver()[0] == "glibc":
        assert grown("keeps") > 6 << 20, "the control: a mebibyte for each thread"
    assert grown("returns") < 2 << 20
