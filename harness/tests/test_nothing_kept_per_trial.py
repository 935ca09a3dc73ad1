# SPDX-License-Identifier: Apache-2.0
"""A trial leaves neither the places of this machine in its files nor large blocks in memory."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from harness.project import find_root
from harness.provenance import name_places, without_paths

ROOT = find_root(Path(__file__).parent)


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
import psutil
from harness.agent.platforms import return_large_blocks

def act():
    meeting.wait()
    for _ in range(3):
        bytearray(1 << 20)
    meeting.wait()

if sys.argv[1] == "returns":
    return_large_blocks()
bytearray(1 << 20)
meeting = threading.Barrier(8)

def own():
    memory = psutil.Process().memory_info()
    return memory.rss - memory.shared

before = own()
threads = [threading.Thread(target=act) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(own() - before)
"""


def test_no_heap_of_large_blocks_is_kept_for_each_thread_of_a_session_or_an_agent() -> None:
    def grown(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", HEAPS, how], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    if platform.libc_ver()[0] == "glibc":
        assert grown("keeps") > 6 << 20, "the control: a mebibyte for each thread"
    assert grown("returns") < 2 << 20
