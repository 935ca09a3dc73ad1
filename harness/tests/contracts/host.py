# SPDX-License-Identifier: Apache-2.0
"""What every host keeps. Subclass in a test module and give it a host."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.agent.processes import alive, group_members, read_stat
from harness.errors import HostError
from harness.places.hosts.base import Command, Host, Process
from harness.tests.support.available import patient
from harness.tests.support.instances import eventually


class HostContract:
    """Needs a fixture ``host``; ``tmp_path`` must be a folder the host can see."""

    @pytest.fixture
    def host(self) -> Host:
        # Abstract: pytest never collects this base class, so only a subclass that forgot its part gets here.
        raise NotImplementedError("the subclass brings the host")

    @pytest.fixture
    def python(self, host: Host) -> str:
        """A Python that may be started there."""
        return sys.executable

    @pytest.fixture
    def spawn(self, host: Host, tmp_path: Path) -> Callable[..., Process]:
        def start(*argv: str, cpus: tuple[int, ...] | None = None) -> Process:
            out, err = Path("out"), Path("err")
            return host.spawn(Command(argv=argv, folder=tmp_path, cpus=cpus, stdout=out, stderr=err))

        return start

    def test_run_returns_what_the_command_said_and_how_it_ended(self, host: Host, tmp_path: Path) -> None:
        words = ("sh", "-c", "echo out; echo err >&2; exit 7")
        done = host.run(Command(argv=words, folder=tmp_path), patient(20))
        assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 7)

    def test_words_reach_the_program_as_they_are(self, host: Host, tmp_path: Path, python: str) -> None:
        words = ("a b", "$HOME", "*", "", "; echo no", "ü\n'\"")
        code = "import sys; print(ascii(sys.argv[1:]))"
        done = host.run(Command(argv=(python, "-c", code, *words), folder=tmp_path), patient(20))
        assert done.stdout.strip() == ascii(list(words))

    def test_only_the_given_environment_and_a_small_base_reach_the_program(
        self, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xint")
        done = host.run(Command(argv=("env",), folder=tmp_path, environment={"MINE": "1"}), patient(20))
        names = {line.partition("=")[0] for line in done.stdout.splitlines()}
        assert "MINE" in names
        assert names <= {"MINE", "PATH", "HOME", "USER", "TMPDIR", "LANG"}

    def test_a_command_over_its_time_is_ended_with_all_its_group(self, host: Host, tmp_path: Path) -> None:
        slow = Command(argv=("sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 61 & sleep 61"), folder=tmp_path)
        with pytest.raises(HostError, match=r"sh on .*: not done after 0.5 s"):
            host.run(slow, 0.5)
        group = int((tmp_path / "pid").read_text())

        def is_gone() -> bool:  # somebody else reaps the children, in his own time
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                return True
            return False

        assert eventually(is_gone)

    def test_an_unknown_program_and_a_missing_folder_are_named(self, host: Host, tmp_path: Path) -> None:
        with pytest.raises(HostError, match=r"no-such-program .*cannot be started"):
            host.spawn(Command(argv=("no-such-program",), folder=tmp_path))
        with pytest.raises(HostError, match="nowhere"):
            host.spawn(Command(argv=("true",), folder=tmp_path / "nowhere"))

    def test_a_spawned_process_is_named_by_id_and_start_time(self, spawn: Callable[..., Process]) -> None:
        process = spawn("sleep", "60")
        stat = read_stat(process.pid)
        assert stat is not None
        assert stat.start_ticks == process.start_ticks
        assert stat.group == stat.session == process.pid
        assert alive(process.pid, process.start_ticks)
        process.stop(5)
        assert not alive(process.pid, process.start_ticks)

    def test_an_ended_process_tells_its_cpu_time(self, spawn: Callable[..., Process], python: str) -> None:
        burn = "import os, time\nwhile time.process_time() < 0.4: pass\nif os.fork() == 0:\n"
        burn += "    while time.process_time() < 0.3: pass\n    os._exit(0)\nos.wait()"
        process = spawn(python, "-c", burn)
        assert eventually(lambda: (stat := read_stat(process.pid)) is None or stat.ended)
        assert process.wait(patient(20)) == 0
        cpu_s = process.cpu_s()
        assert (
            cpu_s is not None and cpu_s >= 0.55
        )  # children count in hundredths, and Python's clock began with the launcher

    def test_its_cpus_and_sigterm_are_obeyed(self, spawn: Callable[..., Process], tmp_path: Path) -> None:
        last = max(os.sched_getaffinity(0))
        process = spawn("sh", "-c", "pwd; echo err >&2; exec sleep 60", cpus=(last,))
        assert os.sched_getaffinity(process.pid) == {last}
        assert eventually(lambda: (tmp_path / "err").exists() and (tmp_path / "err").read_text() == "err\n")
        assert (tmp_path / "out").read_text() == f"{tmp_path}\n"
        stopped = process.stop(20)
        assert (stopped.signal, stopped.exit_code) == ("SIGTERM", 143)
        assert process.stop(20) == stopped

    def test_a_deaf_tree_of_processes_is_killed(self, spawn: Callable[..., Process], tmp_path: Path) -> None:
        process = spawn("sh", "-c", "trap '' TERM; sleep 60 & touch deaf; while :; do sleep 60; done")
        assert eventually((tmp_path / "deaf").exists)
        stopped = process.stop(0.1)
        assert (stopped.signal, stopped.exit_code) == ("SIGKILL", 137)
        assert group_members(process.pid, process.start_ticks) == ()

    def test_children_of_an_ended_process_are_gone_after_stop(self, spawn: Callable[..., Process]) -> None:
        process = spawn("sh", "-c", "sleep 62 & exit 5")
        assert process.wait(patient(20)) == 5
        assert group_members(process.pid, process.start_ticks) != ()
        stopped = process.stop(5)
        assert (stopped.signal, stopped.exit_code) == ("exited", 5)
        assert group_members(process.pid, process.start_ticks) == ()

    def test_files_are_put_got_and_read(self, host: Host, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"\0\xff")
        host.put(tmp_path / "a", tmp_path / "b")
        host.get(tmp_path / "b", tmp_path / "c")
        assert host.read(tmp_path / "c") == b"\0\xff"
        with pytest.raises(HostError, match="absent"):
            host.read(tmp_path / "absent")
