# SPDX-License-Identifier: Apache-2.0
"""What a machine has no more of ends a command in one line; a fault of ours keeps its traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from harness.cli.app import at_a_limit
from harness.project import find_root

#: The limit comes when all that a start imports is there, so that the command itself meets it.
AT_THE_LIMIT = """
import resource, sys
from harness.cli import main
sys.argv = ["rematch", "list"]
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
main()
"""


def test_a_command_without_a_further_descriptor_says_so_in_one_line() -> None:
    root = find_root()
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_LIMIT],
        env={**os.environ, "PYTHONPATH": str(root), "REMATCH_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("rematch: ") and "Too many open files" in line and "ulimit -n" in line
    assert done.returncode == 2 and done.stdout == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/data/x"),
            "/data/x: No space left on device; free",
        ),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (RuntimeError("can't start new thread"), "no further thread can be started"),
        (MemoryError(), "out of memory"),
        (OSError(errno.EROFS, "Read-only file system", "/data/x"), "make it writable"),
    ],
    ids=["disk", "processes", "threads", "memory", "read-only"],
)
def test_what_is_used_up_is_said_with_what_to_do(error: Exception, words: str) -> None:
    said = at_a_limit(error)
    assert said is not None and words in said and "\n" not in said
    assert said.endswith("give the same command again: finished trials are kept")


@pytest.mark.parametrize("error", [ValueError("x"), RuntimeError("x"), FileNotFoundError(2, "x")], ids=repr)
def test_anything_else_is_no_limit(error: Exception) -> None:
    assert at_a_limit(error) is None
