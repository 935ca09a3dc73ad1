# SPDX-License-Identifier: Apache-2.0
"""What is loaded, compiled or opened for a trial is not kept when the next one begins."""

from __future__ import annotations

import ctypes
import gc
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.hosts.local import LocalHost
from harness.project import find_root
from harness.provenance import name_places, without_paths
from harness.sampling import tick_source_here

ROOT = find_root(Path(__file__).parent)
TRIALS = 8


def libraries() -> int:
    return sum(isinstance(one, ctypes.CDLL) for one in gc.get_objects())


def test_the_sampling_library_is_loaded_once_for_all_trials(tmp_path: Path) -> None:
    LocalHost().sampler(tmp_path / "samples.csv", tmp_path / "machine.csv", 20.0).stop()
    before = libraries()
    glancers = [tick_source_here()[0] for _ in range(TRIALS)]
    for n in range(TRIALS):
        LocalHost().sampler(tmp_path / f"samples-{n}.csv", tmp_path / f"machine-{n}.csv", 20.0).stop()
    assert libraries() == before and len(glancers) == TRIALS


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
