# SPDX-License-Identifier: Apache-2.0
"""What makes a machine less fit is remarked; what it has no more of ends a command in one line."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from harness.cli.app import at_a_limit
from harness.cli.check import quiet_in_words, remarks_on
from harness.model import CpuSpeed
from harness.model.started import slowed_share
from harness.tests.support.available import PROJECT

QUIET: dict[str, float | None] = {"busy_share": 0.01, "steal_share": 0.0}


def test_the_slowest_cpu_counts_and_what_could_not_be_read_is_unknown() -> None:
    means_ns = (64.0, 80.0)
    speeds = [
        CpuSpeed(cpu=cpu, n_readings=50, step_ns_p05=64.0, step_ns_p50=mean, step_ns_mean=mean)
        for cpu, mean in enumerate(means_ns)
    ]
    assert slowed_share(speeds) == pytest.approx(0.25) and slowed_share([]) is None
    assert "slowed unknown" in quiet_in_words(QUIET | {"slowed_share": None})


@pytest.mark.parametrize(("slowed", "n_remarks"), [(0.27, 1), (0.04, 0), (None, 0)])
def test_a_slowed_machine_is_remarked_and_one_at_its_speed_is_not(
    slowed: float | None, n_remarks: int
) -> None:
    remarks = remarks_on(8, False, 100_000, QUIET | {"slowed_share": slowed})
    assert len(remarks) == n_remarks
    assert all(remark.startswith("its CPUs are 27% slower than at their best") for remark in remarks)


#: The limit comes when all that a start imports is there, so that the command itself meets it.
AT_THE_LIMIT = """
import resource, sys
from harness.cli import main
sys.argv = ["rematch", "list"]
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
main()
"""


def test_a_command_without_a_further_descriptor_says_so_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_LIMIT], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "REMATCH_ROOT": str(PROJECT)},
    )  # fmt: skip
    (line,) = done.stderr.splitlines()
    assert line.startswith("rematch: ") and "Too many open files" in line and "ulimit -n" in line
    assert done.returncode == 2 and done.stdout == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x"), "/x: No space left on device; free"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (RuntimeError("can't start new thread"), "no further thread can be started"),
        (MemoryError(), "out of memory"),
        (OSError(errno.EROFS, "Read-only file system", "/x"), "make it writable"),
        (RuntimeError("x"), None),
        (FileNotFoundError(2, "x"), None),
    ],
    ids=["disk", "processes", "threads", "memory", "read-only", "a fault of ours", "no file"],
)
def test_what_is_used_up_and_nothing_else_is_said_with_what_to_do(error: Exception, words: str | None) -> None:
    text = at_a_limit(error)
    if words is None:
        assert text is None
        return
    assert text is not None and words in text and "\n" not in text
    assert text.endswith("give the same command again: finished trials are kept")
