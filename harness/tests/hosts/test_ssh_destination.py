# SPDX-License-Identifier: Apache-2.0
"""The way to a far host: hosts in between, keys that an agent holds; nothing of it stays open."""

from __future__ import annotations

import contextlib
import getpass
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harness.errors import HostError
from harness.model import Endpoint
from harness.places.hosts.base import Command
from harness.places.hosts.ssh.host import SshHost
from harness.places.hosts.ssh.settings import HostSettings
from harness.tests.support.answering_server import answering_server
from harness.tests.support.available import patient
from harness.tests.support.instances import eventually
from harness.tests.support.sshd import Sshd

TRIALS = 3


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """The host in between."""
    with Sshd(tmp_path_factory.mktemp("gate")) as started:
        yield started


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """OpenSSH's configuration of a user."""
    (tmp_path / ".ssh").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".ssh" / "config"


def described(name: str, sshd: Sshd, more: str = "") -> str:
    return (
        f"Host {name}\n HostName {sshd.address}\n Port {sshd.port}\n User {getpass.getuser()}\n"
        f" IdentityFile {sshd.folder}/client_key\n UserKnownHostsFile {sshd.folder}/known_hosts\n{more}\n"
    )


def test_a_host_behind_another_needs_both_known(config: Path, gate: Sshd, sshd: Sshd, tmp_path: Path) -> None:
    config.write_text(described("gate", gate) + described("bighost", sshd, " ProxyJump gate"))
    settings = HostSettings(folder=str(tmp_path / "base"), grace_s=patient(15))
    with contextlib.closing(SshHost("bighost", settings)) as host:
        with answering_server() as server:
            near = host.reach(server.endpoint)
            urllib.request.urlopen(f"http://{near.host}:{near.port}/right", b"{}").close()
        elsewhere = Endpoint(host="192.0.2.7", port=1)
        assert host.reach(elsewhere) == elsewhere, "directly"
    unknown = described("gate", gate, " StrictHostKeyChecking no").replace("/known_hosts", "/known_to_nobody")
    config.write_text(unknown + described("bighost", sshd, " ProxyJump gate"))
    with pytest.raises(HostError, match="^bighost .*host key is unknown"):
        SshHost("bighost", settings)


def test_a_key_of_the_ssh_agent_opens(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sock = tmp_path / "agent.sock"
    monkeypatch.setenv("SSH_AUTH_SOCK", str(sock))
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.DEVNULL)
    try:
        assert eventually(sock.exists)
        subprocess.run(["ssh-add", "-q", str(sshd.folder / "client_key")], check=True)
        with contextlib.closing(SshHost("bighost", sshd.settings(tmp_path / "base", key=None))) as host:
            assert host.read(Path("/proc/self/comm"))
    finally:
        agent.terminate()
        agent.wait(patient(10))


def trial(far: SshHost, folder: Path, service: Endpoint) -> None:
    """All that a trial wants of a host: files there and back, commands, a process, samples, a forwarded port."""
    folder.mkdir()
    (folder / "order.json").write_text("{}")
    there = far.open_folder(folder)
    assert far.run(Command(argv=("sh", "-c", "echo > log"), folder=there), patient(20)).exit_code == 0
    process = far.spawn(Command(argv=("sleep", "300"), folder=there))
    sampling = far.sampler(there / "samples.csv", there / "machine.csv", 20.0)
    near = far.reach(service)
    urllib.request.urlopen(f"http://{near.host}:{near.port}/right", b"{}").close()
    sampling.stop()
    process.stop(0.0)
    far.close_folder(folder)
    assert {"log", "samples.csv", "order.json"} <= {path.name for path in folder.iterdir()}


def test_after_any_number_of_trials_no_more_is_open_and_nothing_later(sshd: Sshd, tmp_path: Path) -> None:
    own = psutil.Process()
    before = {child.pid for child in own.children(recursive=True)}, own.num_fds()
    far = SshHost("bighost", sshd.settings(tmp_path / "base"))
    counts = []
    with answering_server() as server:
        for n in range(TRIALS):
            trial(far, tmp_path / f"trial-{n}", server.endpoint)
            counts.append((len(own.children(recursive=True)), own.num_fds()))
    assert eventually(lambda: own.num_fds() <= counts[0][1])
    assert eventually(lambda: len(own.children(recursive=True)) <= counts[0][0])
    far.close()
    assert eventually(lambda: {child.pid for child in own.children(recursive=True)} <= before[0])
    assert eventually(lambda: own.num_fds() <= before[1])
