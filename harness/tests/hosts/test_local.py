# SPDX-License-Identifier: Apache-2.0
"""The local host keeps the contract, and nothing it started outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.agent.processes import alive, group_members, kill_group, parse_stat, read_stat, signal_group
from harness.errors import HostError
from harness.places.hosts.base import Command, Host
from harness.places.hosts.local import LocalHost, LocalProcess
from harness.tests.contracts.host import HostContract
from harness.tests.support.instances import eventually
from harness.tests.support.patience import patient


class TestLocalHost(HostContract):
    @pytest.fixture
    def host(self) -> Host:
        return LocalHost()


#: Starts a process in a folder, says which, and waits to be killed.
CONTROLLER = """
import sys, time; from pathlib import Path
from harness.places.hosts.base import Command; from harness.places.hosts.local import LocalHost
p = LocalHost().spawn(Command(argv=('sleep', '63'), folder=Path(sys.argv[1]), run_as={run_as}))
print(p.pid, p.start_ticks, flush=True); time.sleep(63)
"""


@pytest.mark.parametrize("run_as", [None, (65534, 65534)])
def test_a_killed_harness_takes_its_processes_with_it_of_any_user(run_as: tuple[int, int] | None) -> None:
    words = [sys.executable, "-c", CONTROLLER.format(run_as=run_as), "/"]
    harness = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    line = harness.stdout.readline()
    if run_as is not None and os.geteuid() != 0:
        assert "HostError: sleep on local: cannot be started in /" in harness.communicate()[1]
        return
    pid, ticks = (int(word) for word in line.split())
    uid = os.getuid() if run_as is None else run_as[0]
    assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}" in Path(f"/proc/{pid}/status").read_text()
    harness.kill()
    harness.communicate()
    assert eventually(lambda: not alive(pid, ticks))


def test_launch_is_the_moment_before_the_program_and_cpu_time_of_the_stub_is_known(tmp_path: Path) -> None:
    code = "import time; print(time.monotonic(), time.time())"
    words = (sys.executable, "-I", "-S", "-c", code)
    process = LocalHost().spawn(Command(argv=words, folder=tmp_path, stdout=Path("out")))
    assert process.wait(patient(20)) == 0
    for word in ("x" * 3_000_000, "a\0b"):  # that no program can get
        with pytest.raises(HostError, match="true on local: cannot "):
            LocalHost().spawn(Command(argv=("true", word), folder=tmp_path))
    monotonic_s, wall_s = (float(word) for word in (tmp_path / "out").read_text().split())
    assert process.launched.monotonic_s < monotonic_s
    assert process.launched.wall_epoch_s < wall_s
    assert process.cpu_at_launch_s > 0


def test_signals_that_the_harness_ignores_are_not_ignored_by_what_it_starts(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = LocalHost().spawn(Command(argv=("sleep", "60"), folder=tmp_path))
    finally:
        signal.signal(signal.SIGHUP, before)
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.stop(5)
    masks = {
        line.split()[0]: int(line.split()[1], 16)
        for line in status.splitlines()
        if line.startswith("Sig") and "/" not in line
    }
    assert masks["SigIgn:"] & (1 << (signal.SIGHUP - 1) | 1 << (signal.SIGPIPE - 1)) == 0
    assert masks["SigBlk:"] == 0


def test_a_recycled_id_is_never_signalled() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        stat = read_stat(other.pid)
        assert stat is not None
        assert alive(other.pid, stat.start_ticks) and not alive(other.pid, stat.start_ticks - 1)
        assert not signal_group(other.pid, stat.start_ticks - 1, signal.SIGKILL)
        assert kill_group(other.pid, stat.start_ticks - 1) == ()
        assert other.poll() is None
        assert kill_group(other.pid, stat.start_ticks) == ()
        assert other.wait(patient(20)) == -signal.SIGKILL


def test_a_command_name_may_hold_blanks_and_brackets() -> None:
    stat = parse_stat(b"42 (a) b (c) R 1 42 43 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 17 0 99 1000 25 0\n")
    assert (stat.state, stat.parent, stat.group, stat.session) == ("R", 1, 42, 43)
    assert (stat.n_threads, stat.start_ticks) == (17, 99)


def test_an_interrupted_stop_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = LocalHost().spawn(
        Command(argv=("sh", "-c", "trap '' TERM; touch deaf; while :; do sleep 60; done"), folder=tmp_path)
    )
    assert eventually((tmp_path / "deaf").exists)

    def interrupted(self: LocalProcess, timeout_s: float) -> int | None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalProcess, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            process.stop(60)
    assert group_members(process.pid, process.start_ticks) == ()
    assert process.stop(1).exit_code == 137
