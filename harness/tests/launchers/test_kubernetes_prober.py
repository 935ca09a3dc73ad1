# SPDX-License-Identifier: Apache-2.0
"""When a container's process becomes the service's program, and which one counts, is read from the kernel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.agent.processes import read_stat
from harness.launchers.kubernetes_pods import PodProcess, Prober, has_entered
from harness.tests.support.instances import eventually

#: A process that has a container runtime's name until it reads a line, and then says when it becomes another program.
RUNTIME = """
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(15, b"runc:[2:INIT]", 0, 0, 0)
print("named", flush=True)
told = sys.stdin.readline().strip()
if told == "end":
    sys.exit()
if told == "hold":
    ctypes.CDLL(None).prctl(15, b"pause", 0, 0, 0)
    time.sleep(60)
print(time.monotonic(), flush=True)
os.execvp("sleep", ["sleep", "60"])
"""


@pytest.fixture
def runtime() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", RUNTIME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "named\n"
        try:
            yield process
        finally:
            process.kill()


def prober(process: subprocess.Popen[str]) -> Prober:
    """Return a started prober that has seen the process as the container runtime's."""
    seen: list[bool] = []

    def look(uids: object) -> dict[str, PodProcess]:
        stat = read_stat(process.pid)
        if not uids or stat is None or stat.ended:
            return {}
        try:
            entered = has_entered(process.pid)
        except OSError:  # it holds the pod
            return {}
        seen.append(entered)
        return {"a": PodProcess(process.pid, stat.start_ticks, "127.0.0.1", entered=entered)}

    made = Prober(wanted=lambda: ["a"], look=look, expected=1, port=1, path="/")
    made.start()
    assert eventually(lambda: len(seen) > 1) and not any(
        seen
    )  # the second look comes after the first was followed
    return made


def is_the_runtime(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and not stat.ended and Path(f"/proc/{pid}/comm").read_text().startswith("runc")


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def test_a_process_of_the_container_runtime_is_followed_until_it_runs_the_services_program(
    runtime: subprocess.Popen[str],
) -> None:
    made = prober(runtime)
    assert made.pods["a"].process is None and made.pods["a"].probes == 0
    tell(runtime, "become")
    assert runtime.stdout is not None
    became_s = float(runtime.stdout.readline())
    assert eventually(lambda: made.pods["a"].probes > 0)
    made.stop()
    one = made.pods["a"]
    assert one.process is not None and one.process.entered
    assert one.program_s is not None and one.program_s >= became_s
    assert 0 < one.program_gap_s <= one.program_s


@pytest.mark.parametrize("told", ["end", "hold"])
def test_a_process_that_ends_before_it_runs_that_program_or_holds_the_pod_is_not_the_services(
    runtime: subprocess.Popen[str], told: str
) -> None:
    made = prober(runtime)
    tell(runtime, told)
    assert eventually(lambda: not is_the_runtime(runtime.pid))
    made.stop()
    assert made.pods["a"].process is None and made.pods["a"].program_s is None
