# SPDX-License-Identifier: Apache-2.0
"""A host over SSH keeps the contract of hosts, and is refused where it is not the one that is known."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.agent.processes import alive, read_stat
from harness.agent.sampler import Subject
from harness.errors import HostError, InputError, OrphanError
from harness.model import ClockReading
from harness.places.hosts.base import Command, Host, now
from harness.places.hosts.ssh.agent import agent_file
from harness.places.hosts.ssh.host import SshHost, estimate_offset
from harness.places.hosts.ssh.settings import load_settings
from harness.tests.contracts.host import HostContract
from harness.tests.support.available import not_run, patient
from harness.tests.support.instances import eventually
from harness.tests.support.small_disk import small_disk
from harness.tests.support.sshd import Sshd


class TestSshHost(HostContract):
    @pytest.fixture
    def host(self, far: SshHost) -> Host:
        return far


def test_the_agent_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    file = tmp_path / "agent.pyz"
    file.write_bytes(agent_file())
    words = [sys.executable, "-I", "-S", str(file), "--help"]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_agent_listens_nowhere_and_its_folder_is_for_its_own_user_alone(far: SshHost) -> None:
    (folder,) = (Path(far.agent.base) / "sessions").glob("agent-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    agent = psutil.Process(json.loads((folder / "agent.json").read_text())["pid"])
    assert [one.laddr for one in agent.net_connections("all") if one.laddr] == []


def test_an_unknown_or_changed_host_key_is_refused_with_what_to_do(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    with pytest.raises(HostError, match=r"^bighost \(127.0.0.1\): .*key is unknown.*compare") as unknown:
        SshHost("bighost", sshd.settings(tmp_path, known_hosts=str(known)))
    kind, key, *_ = (sshd.folder / "other_key.pub").read_text().split()
    known.write_text(f"[{sshd.address}]:{sshd.port} {kind} {key}\n")
    with pytest.raises(HostError, match="has CHANGED: the connection may be intercepted") as changed:
        SshHost("bighost", sshd.settings(tmp_path, known_hosts=str(known)))
    assert "\n" not in f"{unknown.value}{changed.value}"


def test_who_is_not_let_in_and_an_absent_host_are_said_in_one_line(sshd: Sshd, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"hosts.toml: hosts.bighost.key: .*found '/no/key'"):
        SshHost("bighost", sshd.settings(tmp_path, key="/no/key"))
    with pytest.raises(HostError, match="Permission denied.*authorized_keys") as refused:
        SshHost("bighost", sshd.settings(tmp_path, key=str(sshd.folder / "other_key")))
    with pytest.raises(HostError, match="Connection refused; check that it runs") as absent:
        SshHost("bighost", Sshd(tmp_path / "sshd").settings(tmp_path, key=None, known_hosts=None))
    assert "\n" not in f"{refused.value}{absent.value}"


@pytest.mark.parametrize("inner", ["", "artifacts"])
def test_a_folder_that_another_user_made_there_is_not_used(sshd: Sshd, tmp_path: Path, inner: str) -> None:
    if os.geteuid() != 0:
        not_run("a folder that belongs to another user is made by root alone")
    base = tmp_path / "base"
    (base / "artifacts").mkdir(parents=True)
    os.chown(base / inner, 64124, 64124)
    with pytest.raises(HostError, match="cannot make .*base: it is there and belongs to another user"):
        SshHost("bighost", sshd.settings(base))
    assert not list(base.rglob("*.pyz"))


def test_a_second_session_is_refused(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = SshHost("bighost", sshd.settings(tmp_path, grace_s=patient(20)))
    # it does not wait for the first
    monkeypatch.setattr("harness.places.hosts.ssh.agent.LEEWAY_S", -patient(20))
    process = first.spawn(Command(argv=("sleep", "300"), folder=tmp_path))
    try:
        with pytest.raises(OrphanError, match="another session is running there"):
            SshHost("bighost", sshd.settings(tmp_path, grace_s=patient(20)))
    finally:
        first.close()
    assert eventually(lambda: not alive(process.pid, process.start_ticks))
    assert eventually(lambda: not list((tmp_path / "sessions").iterdir()))


def test_a_killed_controller_is_noticed_and_what_it_started_is_ended(sshd: Sshd, tmp_path: Path) -> None:
    settings = sshd.settings(tmp_path, grace_s=patient(3))
    code = (
        "import sys, time; from pathlib import Path; from harness.places.hosts.base import Command\n"
        "from harness.places.hosts.ssh.host import SshHost\n"
        "from harness.places.hosts.ssh.settings import HostSettings\n"
        "host = SshHost('bighost', HostSettings.model_validate_json(sys.argv[1]))\n"
        "p = host.spawn(Command(argv=('sleep', '300'), folder=Path(sys.argv[2])))\n"
        "print(p.pid, p.start_ticks, flush=True); time.sleep(300)"
    )
    words = [sys.executable, "-c", code, settings.model_dump_json(), str(tmp_path)]
    controller = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert controller.stdout is not None
    pid, ticks = (int(word) for word in controller.stdout.readline().split())
    assert alive(pid, ticks)
    controller.kill()
    controller.communicate()
    assert eventually(lambda: not alive(pid, ticks), within_s=60)
    assert eventually(lambda: not list((tmp_path / "sessions").iterdir()))


def test_an_agent_that_is_killed_leaves_what_the_next_one_ends(sshd: Sshd, tmp_path: Path) -> None:
    host = SshHost("bighost", sshd.settings(tmp_path, grace_s=patient(20)))
    (folder,) = (tmp_path / "sessions").iterdir()
    words = "trap '' TERM HUP; sleep 300 & echo $! > child; wait"
    host.spawn(Command(argv=("sh", "-c", words), folder=tmp_path))
    assert eventually(lambda: (tmp_path / "child").exists() and "\n" in (tmp_path / "child").read_text())
    child = int((tmp_path / "child").read_text())
    stat = read_stat(child)
    assert stat is not None
    os.kill(json.loads((folder / "agent.json").read_text())["pid"], 9)
    with pytest.raises(HostError, match="bighost is gone: .*the agent there has ended"):
        host.read(Path("/proc/self/comm"))
    assert folder.exists() and alive(child, stat.start_ticks)  # nobody is there yet who would tidy up
    host.close()
    with contextlib.closing(SshHost("bighost", sshd.settings(tmp_path))):
        assert not alive(child, stat.start_ticks) and not folder.exists()


def test_a_full_disk_is_said_before_a_trial_begins(sshd: Sshd, tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", "1m") as disk,
        contextlib.closing(SshHost("bighost", sshd.settings(disk))) as host,
    ):
        with pytest.raises(HostError, match=r"bighost: \d+ MiB are left in .*hosts.toml"):
            host.open_folder(tmp_path)
        (tmp_path / "large").mkdir()
        (tmp_path / "large" / "a").write_bytes(b"x" * (2 << 20))
        with pytest.raises(HostError, match=r"bighost: .* was not taken whole .*disk may be full"):
            host.install(tmp_path / "large")
        assert not list((disk / "artifacts").iterdir())


def test_the_quickest_question_tells_the_offset_within_half_its_round_trip() -> None:
    def at(s: float) -> ClockReading:
        return ClockReading(wall_epoch_s=1000 + s, monotonic_s=s)

    questions = ((0, 5.9, 1), (2, 7.01, 2.02), (3, 8.4, 3.5))
    offset = estimate_offset([(at(sent), at(far), at(got)) for sent, far, got in questions], "bighost")
    assert offset.monotonic_offset_s == pytest.approx(5.0)
    assert offset.wall_offset_s == pytest.approx(5.0)
    assert offset.uncertainty_s == pytest.approx(0.01)
    assert offset.n_questions == 3


def test_wrong_clocks_over_there_are_known_and_moments_come_on_ours(sshd: Sshd, tmp_path: Path) -> None:
    with contextlib.closing(SshHost("bighost", sshd.settings(tmp_path / "base", skew_s=5.0))) as host:
        clock = host.clock()
        assert abs(clock.wall_offset_s - 5.0) <= clock.uncertainty_s + 1e-3
        assert abs(clock.monotonic_offset_s - 5.0) <= clock.uncertainty_s + 1e-3
        before = now()
        (ours := tmp_path / "trial").mkdir()
        there = host.open_folder(ours)
        sampler = host.sampler(there / "samples.csv", there / "machine.csv", 50.0)
        process = host.spawn(Command(argv=("sleep", "300"), folder=there))
        watched = Subject(process.pid, process.start_ticks, process.cpu_at_launch_s)
        sampler.add("service", watched)
        reading = host.resources(watched)
        assert eventually(lambda: b"service" in host.read(there / "samples.csv"))
        n_rows = host.read(there / "samples.csv").count(b"\n")
        sampler.pace(200.0)
        assert eventually(lambda: host.read(there / "samples.csv").count(b"\n") > n_rows + 100)
        process.stop(5)
        assert sampler.stop().ticks_by == "interpreter"  # no library is sent over
        host.close_folder(ours)
        after = now()
        slack_s = 2 * clock.uncertainty_s + 1e-3
        rows = [line.split(",") for line in (ours / "samples.csv").read_text().splitlines()[1:]]
        moments = [process.launched.monotonic_s, reading.at.monotonic_s, *(float(row[0]) for row in rows)]
        assert before.monotonic_s - slack_s <= min(moments)
        assert max(moments) <= after.monotonic_s + slack_s


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[hosts.bighost]\nadress = 'x'", "hosts.bighost.adress: unknown key .did you mean 'address'"),
        ("[hosts.bighost]\ngrace_s = 0.1", "hosts.bighost.grace_s.*greater than or equal to 1"),
        ("[hosts.'Big Host']\n", "found 'Big Host'; allowed: small letters"),
        ("[hosts", "hosts.toml: "),
        ("", r"unknown host.*\[hosts.bighost\] is enough.*found 'bighost'; allowed: local"),
    ],
)
def test_a_wrong_hosts_file_is_one_line_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "hosts.toml").write_text(text)
    with pytest.raises(InputError, match=words) as refused:
        load_settings(tmp_path, "bighost")
    assert "\n" not in str(refused.value)


def test_the_example_of_hosts_is_right(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parents[2] / "hosts.example.toml", tmp_path / "hosts.toml")
    assert load_settings(tmp_path, "bighost").service_address == "192.0.2.10"
