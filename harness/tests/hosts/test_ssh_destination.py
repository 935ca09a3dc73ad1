# SPDX-License-Identifier: Apache-2.0
"""The way to a far host as ssh's own configuration describes it: files, aliases, hosts in between, the SSH agent."""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.agent.processes import alive, read_stat
from harness.errors import HostError, InputError, MissingTool
from harness.hosts.base import Command
from harness.hosts.ssh.connection import connect
from harness.hosts.ssh.host import SshHost
from harness.hosts.ssh.settings import HostSettings, connecting, load_settings
from harness.model.endpoint import Endpoint
from harness.tests.support.instances import eventually
from harness.tests.support.patience import patient
from harness.tests.support.sshd import Sshd


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """The host in between."""
    started = Sshd(tmp_path_factory.mktemp("gate"))
    started.start()
    yield started
    started.die()


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    started = Sshd(tmp_path_factory.mktemp("sshd"))
    started.start()
    yield started
    started.die()


@dataclass(frozen=True)
class Home:
    """A home folder of its own, with what ssh finds in it."""

    folder: Path

    def configure(self, text: str, name: str = "config") -> Path:
        file = self.folder / ".ssh" / name
        file.write_text(text)
        return file

    def known(self, text: str) -> str:
        """A part of the configuration, for ssh too, which takes the home folder from the accounts."""
        return f"{text} UserKnownHostsFile {self.folder}/.ssh/known_hosts\n"

    def know(self, *hosts: Sshd) -> None:
        """Only these."""
        (self.folder / ".ssh" / "known_hosts").write_text(
            "".join((host.folder / "known_hosts").read_text() for host in hosts)
        )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    folder = tmp_path / "home"
    (folder / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return Home(folder)


def described(name: str, sshd: Sshd, more: str = "") -> str:
    return (
        f"Host {name}\n HostName {sshd.address}\n Port {sshd.port}\n User {getpass.getuser()}\n"
        f" IdentityFile {sshd.folder}/client_key\n{more}\n"
    )


def says(name: str, tmp_path: Path) -> str:
    """What a short command says on the host that only ssh's configuration knows."""
    client = connect(connecting(name, load_settings(tmp_path, name)))
    try:
        _, out, _ = client.exec_command("echo $((6 * 7))")
        return out.read().decode().strip()
    finally:
        client.close()


def test_a_key_of_hosts_toml_that_does_not_exist_is_named(sshd: Sshd, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"hosts.toml: hosts.bighost.key: .*found '/no/key'"):
        SshHost("bighost", sshd.settings(tmp_path, key="/no/key"))


def test_what_is_included_counts_and_a_key_that_does_not_exist_is_passed_over(
    home: Home, sshd: Sshd, tmp_path: Path
) -> None:
    home.know(sshd)
    included = home.configure(described("bighost", sshd), "of_work")
    home.configure(f"IdentityFile ~/.ssh/of_another_machine\nInclude {included}\nHost *\n Compression no\n")
    assert says("bighost", tmp_path) == "42"
    with pytest.raises(InputError, match="unknown host.*found 'otherhost'"):
        load_settings(tmp_path, "otherhost")


def test_a_wrong_configuration_of_ssh_is_one_line_in_its_own_words(home: Home, tmp_path: Path) -> None:
    home.configure("Host bighost\n Porrt 22\n")
    with pytest.raises(
        InputError, match=r"config: .*Bad configuration option: porrt|config: .*Porrt"
    ) as refused:
        load_settings(tmp_path, "bighost")
    assert "\n" not in str(refused.value)


def test_keys_known_to_the_whole_machine_count(home: Home, sshd: Sshd, tmp_path: Path) -> None:
    home.configure(described("bighost", sshd, f" GlobalKnownHostsFile /no/file {sshd.folder}/known_hosts"))
    assert says("bighost", tmp_path) == "42"
    home.configure(described("bighost", sshd))
    plain = connecting("bighost", HostSettings())
    assert Path("/etc/ssh/ssh_known_hosts") in plain.known_hosts
    assert plain.known_hosts[0] == home.folder / ".ssh" / "known_hosts"


def test_tokens_variables_and_another_name_of_the_key_are_resolved(
    home: Home, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEYS", str(sshd.folder))
    kind, key, *_ = (sshd.folder / "host_key.pub").read_text().split()
    (home.folder / ".ssh" / f"known-{getpass.getuser()}").write_text(f"the-big-one {kind} {key}\n")
    home.configure(
        f"Host bighost\n HostName {sshd.address}\n Port {sshd.port}\n IdentityFile ${{KEYS}}/client_key\n"
        f" UserKnownHostsFile {home.folder}/.ssh/known-%u\n HostKeyAlias the-big-one\n"
    )
    assert says("bighost", tmp_path) == "42"


def test_a_host_behind_another_is_reached_over_it_and_carries_all_that_a_session_needs(
    home: Home, gate: Sshd, sshd: Sshd, tmp_path: Path
) -> None:
    home.know(gate, sshd)
    home.configure(home.known(described("gate", gate)) + described("bighost", sshd, " ProxyJump gate"))
    settings = HostSettings(address="bighost", folder=str(tmp_path / "base"), grace_s=patient(15))
    host = SshHost("bighost", settings)
    try:
        (tmp_path / "art").mkdir()
        (tmp_path / "art" / "a").write_bytes(os.urandom(300_000))
        there = host.install(tmp_path / "art")
        assert (there / "a").read_bytes() == (tmp_path / "art" / "a").read_bytes()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            near = host.reach(Endpoint(host="127.0.0.1", port=listener.getsockname()[1]))
            with socket.create_connection((near.host, near.port), timeout=patient(20)) as asking:
                asking.sendall(b"over two hosts")
                served, _ = listener.accept()
                with served:
                    assert served.recv(100) == b"over two hosts"
        process = host.spawn(Command(argv=("sh", "-c", "sleep 2; exit 7"), folder=tmp_path))
        gate.end_connections()
        assert process.wait(patient(60)) == 7
        assert host.agent.channel.n_reattached > 0
    finally:
        host.close()


def test_several_hosts_in_between_are_followed_and_one_may_say_its_own(
    home: Home, gate: Sshd, sshd: Sshd, tmp_path: Path
) -> None:
    home.know(gate, sshd)
    inner = f"{getpass.getuser()}@[{gate.address}]:{gate.port}"
    keys = home.known(f"Host *\n IdentityFile {gate.folder}/client_key\n")
    home.configure(described("gate", gate) + described("bighost", sshd, f" ProxyJump gate,{inner}") + keys)
    assert says("bighost", tmp_path) == "42"
    # every host but the first is behind one that all hosts are behind
    first = described("gate", gate, " ProxyJump none")
    home.configure(first + described("bighost", sshd) + f"{keys} ProxyJump gate\n")
    assert says("bighost", tmp_path) == "42"


def test_the_host_in_between_must_be_known_too_and_what_ssh_says_of_it_is_passed_on(
    home: Home, gate: Sshd, sshd: Sshd, tmp_path: Path
) -> None:
    home.configure(home.known(described("gate", gate)) + described("bighost", sshd, " ProxyJump gate"))
    home.know(sshd)
    with pytest.raises(
        HostError, match=r"^bighost \(.* by ssh .* ssh://gate\).*Host key verification failed"
    ):
        says("bighost", tmp_path)
    home.know(gate)
    with pytest.raises(HostError, match="^bighost: its host key is unknown"):
        says("bighost", tmp_path)


#: What ``nc`` does, so that the test needs none.
RELAY = """
import os, socket, sys, threading
link = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def back():
    while data := link.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=back, daemon=True).start()
while data := os.read(0, 65536):
    link.sendall(data)
"""


def relayed(home: Home, sshd: Sshd, *, port: int) -> None:
    """A host of a name and a port that nothing has, behind a ProxyCommand that knows where it is."""
    relay = home.folder / "relay.py"
    relay.write_text(RELAY)
    command = shlex.join([sys.executable, str(relay), sshd.address, str(sshd.port)])
    home.configure(
        f"Host bighost\n HostName bighost.example\n Port {port}\n IdentityFile {sshd.folder}/client_key\n"
        f" ProxyCommand {command}\n"
    )


@pytest.mark.parametrize(("port", "name"), [(22, "bighost.example"), (2222, "[bighost.example]:2222")])
def test_the_command_printed_for_a_changed_key_takes_the_old_one_away(
    home: Home, sshd: Sshd, tmp_path: Path, port: int, name: str
) -> None:
    relayed(home, sshd, port=port)
    known = home.folder / ".ssh" / "known_hosts"
    kind, key, *_ = (sshd.folder / "other_key.pub").read_text().split()
    known.write_text(f"elsewhere.example {kind} {key}\n{name} {kind} {key}\n")
    with pytest.raises(HostError, match="has CHANGED") as refused:
        says("bighost", tmp_path)
    printed = str(refused.value).split("reinstalled: ")[1].split(", then")[0]
    assert printed.startswith(f"ssh-keygen -f {known} -R ")
    subprocess.run(shlex.split(printed), check=True, capture_output=True)
    assert known.read_text() == f"elsewhere.example {kind} {key}\n"
    with pytest.raises(HostError, match="its host key is unknown"):
        says("bighost", tmp_path)


def test_a_proxy_command_carries_the_connection_and_is_gone_after_it(
    home: Home, sshd: Sshd, tmp_path: Path
) -> None:
    relayed(home, sshd, port=22)
    kind, key, *_ = (sshd.folder / "host_key.pub").read_text().split()
    (home.folder / ".ssh" / "known_hosts").write_text(f"bighost.example {kind} {key}\n")
    before = children()
    assert says("bighost", tmp_path) == "42"
    assert children() == before
    home.configure("Host bighost\n ProxyCommand echo the door is locked >&2; exit 1\n")
    with pytest.raises(HostError, match=r"bighost .*by echo.*the door is locked"):
        says("bighost", tmp_path)
    assert children() == before


def children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            found.update(int(word) for word in (task / "children").read_text().split())
    return found


def test_without_ssh_it_is_named_with_what_brings_it(
    home: Home, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.configure(described("bighost", sshd))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        MissingTool, match="ssh is missing: .* install it with: apt-get install -y openssh-client"
    ):
        says("bighost", tmp_path)


@contextmanager
def ssh_agent(sock: Path) -> Iterator[None]:
    """A real agent; ended by its own id."""
    started = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.DEVNULL)
    try:
        assert eventually(sock.exists)
        yield
    finally:
        started.terminate()
        started.wait(patient(10))


def test_a_key_that_only_the_ssh_agent_holds_opens_the_door(
    home: Home, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sock = tmp_path / "agent.sock"
    settings = sshd.settings(tmp_path / "base", key=None)
    with ssh_agent(sock):
        environment = {**os.environ, "SSH_AUTH_SOCK": str(sock)}
        key = str(sshd.folder / "client_key")
        subprocess.run(["ssh-add", "-q", key], env=environment, check=True)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(sock))
        host = SshHost("bighost", settings)
        assert host.read(Path("/proc/self/comm"))
        host.close()
        subprocess.run(["ssh-add", "-q", "-d", key], env=environment, check=True)
        with pytest.raises(HostError, match="does not let .* in .tried: the SSH agent's keys, no key file"):
            SshHost("bighost", settings)
    monkeypatch.delenv("SSH_AUTH_SOCK")
    with pytest.raises(HostError, match=r"does not let .* in .*SSH_AUTH_SOCK is not set.*ssh-add") as refused:
        SshHost("bighost", settings)
    assert "\n" not in str(refused.value)


def test_an_agent_that_is_killed_leaves_what_the_next_one_ends(sshd: Sshd, tmp_path: Path) -> None:
    host = SshHost("bighost", sshd.settings(tmp_path, grace_s=patient(20)))
    (folder,) = (tmp_path / "sessions").iterdir()
    words = "trap '' TERM HUP; sleep 300 & echo $! > child; wait"
    process = host.spawn(Command(argv=("sh", "-c", words), folder=tmp_path))
    assert eventually(lambda: (tmp_path / "child").exists() and "\n" in (tmp_path / "child").read_text())
    child = int((tmp_path / "child").read_text())
    stat = read_stat(child)
    assert stat is not None
    os.kill(int((folder / "agent.json").read_text().split('"pid": ')[1].split(",")[0]), 9)
    with pytest.raises(HostError, match="bighost is gone: .*the agent there has ended"):
        host.read(Path("/proc/self/comm"))
    assert folder.exists() and alive(child, stat.start_ticks)  # nobody is there yet who would tidy up
    host.close()
    following = SshHost("bighost", sshd.settings(tmp_path))
    try:
        assert not alive(process.pid, process.start_ticks)
        assert not alive(child, stat.start_ticks)
        assert not folder.exists()
    finally:
        following.close()
