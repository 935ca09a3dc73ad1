# SPDX-License-Identifier: Apache-2.0
"""One OpenSSH connection to a host, shared by commands, files and forwarded ports (``ControlMaster``).

Keys, aliases, hosts in between and the SSH agent are as OpenSSH is configured. A host whose key is unknown, or another
than before, is refused, whatever that says of it, and so is one in between; no password is asked for.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from harness.errors import HostError, InputError, MissingTool
from harness.hosts.ssh.settings import FILE, HostSettings
from harness.model.endpoint import Endpoint

CONNECT_WITHIN_S = 15
ANSWER_WITHIN_S = 30.0
ENDS_WITHIN_S = 5.0
#: A connection that is silent for so long is given up, but sooner where the host's time of grace is short.
SILENT_S = 8
#: The exit code of OpenSSH for what went wrong with the connection itself.
BROKEN = 255
#: Holds for hosts in between, too; what stands first counts.
_CONFIG = """BatchMode yes
StrictHostKeyChecking yes
Include "{home}/.ssh/config"
Include /etc/ssh/ssh_config
"""
#: Says that the connection stands, and lasts until its stdin is closed, with us.
_STAY = 'echo "$1"; while read -r line; do :; done'
_FORWARDS_TRIED = 5
PROHIBITED = "administratively prohibited"
#: What to do about OpenSSH's own words.
_HINTS = {
    "HAS CHANGED": "its host key has CHANGED: the connection may be intercepted; if the host was reinstalled, remove "
    "the old key with ssh-keygen -R and accept the new one after comparing it",
    "host key is known": "its host key is unknown: compare what ssh shows on the first connection with `ssh-keygen -lf "
    "/etc/ssh/ssh_host_*_key.pub` on the host itself, and accept it only if they are the same",
    "Permission denied": "put the public key into ~/.ssh/authorized_keys there, load the private one into the SSH "
    "agent (ssh-add), or set user and key in hosts.toml",
}
_UNREACHABLE = "check that it runs, that sshd listens, and that no firewall blocks it"


def destination_words(name: str, settings: HostSettings) -> list[str]:
    """Return the options and the destination by which ``ssh`` reaches a host. Raises InputError: its key does not
    exist."""
    silences = max(1, min(SILENT_S, round(settings.grace_s / 3)))
    options: dict[str, object] = {
        "ConnectTimeout": CONNECT_WITHIN_S, "ServerAliveInterval": 1, "ServerAliveCountMax": silences,
        "LogLevel": "INFO", "ControlPersist": "no", "RemoteCommand": "none", "ClearAllForwardings": "yes",
        "ForwardAgent": "no", "ForwardX11": "no",
    }  # fmt: skip
    if settings.known_hosts is not None:
        options["UserKnownHostsFile"] = f'"{Path(settings.known_hosts).expanduser()}"'
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    words += ["-p", str(settings.port)] if settings.port is not None else []
    words += ["-l", settings.user] if settings.user is not None else []
    if settings.key is not None:
        key = Path(settings.key).expanduser()
        if not key.is_file():
            allowed = "a private key file; or no key here, for the SSH agent's and ~/.ssh/id_*"
            place = f"hosts.{name}.key"
            raise InputError(
                "there is no such key", file=FILE, place=place, found=settings.key, allowed=allowed
            )
        words += ["-o", "IdentitiesOnly=yes", "-i", str(key)]
    return [*words, "--", settings.address or name]


class SshConnection:
    """A connection that ends with this process. Close it."""

    def __init__(self, name: str, settings: HostSettings) -> None:
        """Connect. Raises HostError: the host cannot be reached, is not the one that is known, or does not let us in;
        MissingTool: there is no ssh on PATH."""
        ssh = shutil.which("ssh")
        if ssh is None:
            raise MissingTool(
                "ssh", why="to reach other hosts", how_to_get="apt-get install -y openssh-client"
            )
        self.name = name
        self._folder = tempfile.TemporaryDirectory(prefix="rematch-ssh-")
        control = str(Path(self._folder.name) / "s")
        # where the connection is gone, this fails; it makes no new one
        self._shared = [ssh, "-F", "/dev/null", "-S", control, "-o", "ProxyCommand=false", "-T"]
        self._log = Path(self._folder.name) / "log"
        token, config = secrets.token_hex(8), Path(self._folder.name) / "config"
        config.write_text(_CONFIG.format(home=Path.home()))
        words = [ssh, "-F", str(config), "-M", "-S", control, "-T", *destination_words(name, settings)]
        with self._log.open("wb") as log:
            self._master = subprocess.Popen(
                [*words, shlex.join(["sh", "-c", _STAY, "sh", token])],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        assert self._master.stdout is not None
        if not any(line.strip() == token.encode() for line in self._master.stdout):
            reason = self.last_words()
            self.close()
            raise HostError(f"{name} ({words[-1]}): {reason}")

    def close(self) -> None:
        """End the connection. Idempotent."""
        for stream in (self._master.stdin, self._master.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._master.terminate()
        try:
            self._master.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._master.kill()
            self._master.wait(ENDS_WITHIN_S)
        self._folder.cleanup()

    def last_words(self) -> str:
        """Return what OpenSSH said last of the connection, with what to do about it."""
        text = self._log.read_text("utf-8", "replace") if self._log.is_file() else ""
        lines = [line.strip() for line in text.splitlines() if line.strip().strip("@")]
        hint = next((hint for words, hint in _HINTS.items() if words in text), _UNREACHABLE)
        return f"ssh: {(lines or ['no connection'])[-1]}; {hint}"

    def start(self, words: str) -> subprocess.Popen[bytes]:
        """Start a command by the user's shell there; its stdin and stdout are pipes, stderr is dropped."""
        return subprocess.Popen(
            [*self._shared, "--", self.name, words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def run(
        self,
        words: str,
        *,
        stdin: IO[bytes] | int = subprocess.DEVNULL,
        within_s: float | None = ANSWER_WITHIN_S,
    ) -> tuple[int, str, str]:
        """Run a command by the user's shell there; return its exit code, stdout and stderr. Raises HostError: no
        answer, or the connection broke."""
        argv = [*self._shared, "--", self.name, words]
        try:
            done = subprocess.run(
                argv, stdin=stdin, capture_output=True, check=False, timeout=within_s, start_new_session=True
            )
        except subprocess.TimeoutExpired as problem:
            raise HostError(f"{self.name}: no answer to {words[:60]!r} within {within_s:g} s") from problem
        if done.returncode == BROKEN:
            raise HostError(f"{self.name}: no answer to {words[:60]!r}: {self.last_words()}")
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def forward(self, far: str) -> Endpoint:
        """Return a port of this machine's loopback that leads to ``HOST:PORT`` or to a socket's path there, until
        ``cancel``. Raises HostError: the connection is gone, or no port was free."""
        output = ""
        for _ in range(_FORWARDS_TRIED):  # somebody else may take the port meanwhile
            with socket.create_server(("127.0.0.1", 0)) as free:
                near = Endpoint(host="127.0.0.1", port=free.getsockname()[1])
            code, output = self._control("forward", near, far)
            if code == 0:
                return near
        raise HostError(f"{self.name}: nothing is forwarded to {far}: {output or self.last_words()}")

    def cancel(self, near: Endpoint, far: str) -> None:
        """End what ``forward`` returned; with the connection it has ended anyway."""
        self._control("cancel", near, far)

    def why_no_forwarding(self, far: str) -> str | None:
        """Return why sshd carries nothing to an address that nobody listens at; ``None``: it does."""
        near, before = self.forward(far), len(self._log.read_bytes())
        try:
            with (
                contextlib.suppress(OSError),
                socket.create_connection((near.host, near.port), ANSWER_WITHIN_S) as probe,
            ):
                probe.recv(1)
        finally:
            self.cancel(near, far)
        if PROHIBITED.encode() not in self._log.read_bytes()[before:]:
            return None
        return (
            f"its sshd forwards no ports to {far.rpartition(':')[0]}, and services that listen there are asked that "
            "way: AllowTcpForwarding yes (or local) and DisableForwarding no in its sshd_config, no restrict before "
            "the key in authorized_keys; or have services listen at service_address and the load come from elsewhere"
        )

    def _control(self, order: str, near: Endpoint, far: str) -> tuple[int, str]:
        words = [*self._shared, "-O", order, "-L", f"{near.host}:{near.port}:{far}", "--", self.name]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=ANSWER_WITHIN_S)
        return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]
