# SPDX-License-Identifier: Apache-2.0
"""What is loaded, compiled or opened for a trial is not kept when the next one begins."""

from __future__ import annotations

import inspect
import os
import platform
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.agent import __main__ as agent
from harness.agent import process_tree
from harness.agent.files import file_sha256
from harness.project import find_root
from harness.provenance import name_places, without_paths
from harness.session import measuring

ROOT = find_root(Path(__file__).parent)
TRIALS = 8
MALLOC_KEEPS = 128 << 10


def test_places_of_trials_are_named_without_a_pattern_for_each(tmp_path: Path) -> None:
    re.purge()
    for n in range(TRIALS):
        trial = tmp_path / f"trial-{n}"
        trial.mkdir()
        (trial / "message.txt").write_text(f"{trial}/a and {trial}b and {trial}")
        assert without_paths([f"{trial}/gc.log", f"-Xlog:{trial}:x", f"{trial}b"], places={"trial": trial}) == (
            "{trial}/gc.log", "-Xlog:{trial}:x", f"{trial}b",
        )  # fmt: skip
        name_places(trial, places={"trial": trial})
        assert (trial / "message.txt").read_text() == f"{{trial}}/a and {trial}b and {{trial}}"
    assert len(vars(re)["_cache"]) < TRIALS


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


def most_bytes(act: Callable[[], object]) -> int:
    """The memory that something needs at once."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_no_thread_of_a_trial_needs_a_buffer_that_its_malloc_keeps(tmp_path: Path) -> None:
    """Of 128 KiB on, glibc keeps what a thread freed: a mebibyte for each thread that worked at the same time."""
    large = tmp_path / "samples.csv"
    large.write_bytes(bytes(8 << 20))
    counters = tmp_path / f"hsperfdata_x/{os.getpid()}"
    counters.parent.mkdir()
    counters.write_bytes(process_tree.MAGIC + bytes(32 << 10))
    assert most_bytes(lambda: file_sha256(large)) < MALLOC_KEEPS
    assert most_bytes(lambda: process_tree.read_file(counters)) < MALLOC_KEEPS
    assert most_bytes(large.read_bytes) > MALLOC_KEEPS


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
            [sys.executable, "-c", HEAPS, how], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    if platform.libc_ver()[0] == "glibc":
        assert grown("keeps") > 6 << 20, "the control: a mebibyte for each thread"
    assert grown("returns") < 2 << 20
    for begins in (agent._become_daemon, measuring.measure):
        assert "return_large_blocks()" in inspect.getsource(begins)
