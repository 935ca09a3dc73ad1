# SPDX-License-Identifier: Apache-2.0
"""One paramiko connection to a host, shared by commands, files and forwarded ports.

Aliases, users, keys and hosts in between are as ``~/.ssh/config`` has them (``paramiko.SSHConfig``: Host and Match, no
Include). A host whose key is unknown, or another than before, is refused; no password is asked for.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import paramiko

from harness.errors import HostError, InputError
from harness.model import Endpoint
from harness.places.hosts.ssh.settings import FILE, HostSettings

CONNECT_WITHIN_S = 15.0
ANSWER_WITHIN_S = 30.0
ENDS_WITHIN_S = 5.0
#: How often both sides are heard of each other.
KEEPALIVE_S = 1
CHUNK = 65536
CONFIG = Path("~/.ssh/config")
KNOWN = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts")
#: The code of a refusal (RFC 4254, section 5.1: administratively prohibited).
PROHIBITED = 1
_LOG = "harness.places.hosts.ssh"
_LOOK = "compare it with `ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` on the host itself"
_UNREACHABLE = "check that it runs, that sshd listens, and that no firewall blocks it"


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Refuses an unknown host with the key that it showed."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        raise HostError(
            f"its host key is unknown: {key.get_name()} {key.fingerprint}; {_LOOK}, and only if they are the same "
            f"connect once with ssh and accept it ({hostname})"
        )


class Running:
    """A command there; ``stdin`` and ``stdout`` are its streams."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self.stdin: IO[bytes] = channel.makefile_stdin("wb", 0)  # type: ignore[assignment]  # a file of bytes
        self.stdout: IO[bytes] = channel.makefile("rb")  # type: ignore[assignment]  # a file of bytes

    def first_line(self) -> bytes:
        """Return its first line; empty: it has ended, or wrote none in time."""
        self._channel.settimeout(ANSWER_WITHIN_S)
        with contextlib.suppress(TimeoutError):
            line: bytes = self.stdout.readline()
            self._channel.settimeout(None)
            return line
        return b""

    def complaint(self) -> str:
        """End it, and return what it wrote to stderr."""
        self.kill()
        return self._channel.makefile_stderr("rb").read().decode(errors="replace")

    def kill(self) -> None:
        """End it with its channel."""
        self._channel.close()

    def wait(self) -> int:
        """Return its exit code; -1: the channel ended before it."""
        return self._channel.recv_exit_status()


class Tunnel:
    """Leads from ``endpoint`` of this machine's loopback to a port there, until ``close``."""

    def __init__(self, transport: paramiko.Transport, far: Endpoint) -> None:
        self._transport, self._far = transport, (far.host, far.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint(host="127.0.0.1", port=self._listener.getsockname()[1])
        threading.Thread(target=self._serve, name=f"tunnel at {self.endpoint.port}", daemon=True).start()

    def close(self) -> None:
        """Listen no more. Idempotent."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                near, address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(near, address), daemon=True).start()

    def _join(self, near: socket.socket, address: tuple[str, int]) -> None:
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with (
            near,
            contextlib.suppress(OSError, EOFError, paramiko.SSHException),
            contextlib.closing(
                self._transport.open_channel("direct-tcpip", self._far, address, timeout=ANSWER_WITHIN_S)
            ) as far,
        ):
            back = threading.Thread(target=_pass, args=(far.recv, near.sendall, near), daemon=True)
            back.start()
            _pass(near.recv, far.sendall, None)
            far.shutdown_write()
            back.join()


def _pass(take: Callable[[int], bytes], give: Callable[[bytes], object], end: socket.socket | None) -> None:
    """Pass bytes on until there are no more; then tell the other side."""
    with contextlib.suppress(OSError, EOFError):
        while data := take(CHUNK):
            give(data)
    if end is not None:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class SshConnection:
    """A connection that ends with this process. Close it."""

    def __init__(self, name: str, settings: HostSettings) -> None:
        """Connect. Raises HostError: the host cannot be reached, is not the one that is known, or does not let us in;
        InputError: there is no such key."""
        self.name = name
        if settings.key is not None and not Path(settings.key).expanduser().is_file():
            raise InputError(
                "there is no such key", file=FILE, place=f"hosts.{name}.key", found=settings.key,
                allowed="a private key file; or no key here, for the SSH agent's and ~/.ssh/id_*",
            )  # fmt: skip
        log = logging.getLogger(_LOG)
        if not log.handlers:
            log.addHandler(logging.NullHandler())
        file = CONFIG.expanduser()
        try:
            config = paramiko.SSHConfig.from_path(str(file)) if file.is_file() else paramiko.SSHConfig()
        except (OSError, ValueError, paramiko.SSHException) as problem:
            raise HostError(f"{name}: {file} cannot be read: {problem}") from problem
        self._clients: list[paramiko.SSHClient] = []
        self._carriers: list[Any] = []
        try:
            self._transport = self._connect(config, settings.address or name, settings)
        except BaseException:
            self.close()
            raise
        self._transport.set_keepalive(KEEPALIVE_S)

    def close(self) -> None:
        """End the connection, and those that carry it. Idempotent."""
        for client in reversed(self._clients):
            client.close()
        for carrier in self._carriers:
            carrier.close()

    def _connect(
        self, config: paramiko.SSHConfig, alias: str, settings: HostSettings | None = None
    ) -> paramiko.Transport:
        """Return the transport to a host of the configuration; ``settings``: what goes before it."""
        plan = config.lookup(alias)
        settings = settings or HostSettings()
        address, port = plan.get("hostname", alias), settings.port or int(plan.get("port", 22))
        user = settings.user or plan.get("user")
        keys = [settings.key] if settings.key is not None else [*plan.get("identityfile", ())]
        keys = [str(path) for key in keys if (path := Path(key).expanduser()).is_file()]
        usual = plan.get("userknownhostsfile", "").split()
        known = usual if settings.known_hosts is None else [settings.known_hosts]
        client = paramiko.SSHClient()
        self._clients.append(client)
        client.set_log_channel(_LOG)  # else paramiko writes to stderr
        for file in [name for name in known if name != os.devnull] or KNOWN:
            with contextlib.suppress(OSError):  # no such file: no host is known from it
                client.load_host_keys(str(Path(file).expanduser()))
        client.set_missing_host_key_policy(_Refuse())
        where = f"{self.name} ({alias})"
        try:
            carrier = self._carrier(config, plan, (address, port))
            client.connect(
                plan.get("hostkeyalias") or (address if port == 22 else f"[{address}]:{port}"),
                username=user, look_for_keys=not keys,
                key_filename=keys or None,  # type: ignore[arg-type]  # a list is tried in turn
                timeout=CONNECT_WITHIN_S, banner_timeout=CONNECT_WITHIN_S, auth_timeout=CONNECT_WITHIN_S, sock=carrier,
            )  # fmt: skip
        except HostError as problem:
            text = str(problem)
            raise HostError(text if text.startswith(self.name) else f"{where}: {text}") from None
        except paramiko.BadHostKeyException as problem:
            raise HostError(
                f"{where}: its host key has CHANGED: the connection may be intercepted; known is "
                f"{problem.expected_key.fingerprint}, shown was {problem.key.fingerprint}; if the host was "
                f"reinstalled, remove the old key with ssh-keygen -R; {_LOOK}"
            ) from problem
        except (OSError, EOFError, paramiko.SSHException) as problem:
            raise HostError(f"{where}: {self._why(client, problem, keys, user)}") from problem
        transport = client.get_transport()
        assert transport is not None
        return transport

    def _carrier(self, config: paramiko.SSHConfig, plan: paramiko.SSHConfigDict, far: tuple[str, int]) -> Any:
        """Return what the bytes go through: a ProxyCommand, a host in between, or a socket of this machine."""
        command, jump = plan.get("proxycommand", "none"), plan.get("proxyjump", "none")
        if command.lower() != "none":
            carrier: Any = paramiko.ProxyCommand(command)
        elif jump.lower() != "none":
            transport = None
            for hop in jump.split(","):  # each is reached over the one before it
                transport = self._connect(config, hop.strip().removeprefix("ssh://"))
            assert transport is not None
            carrier = transport.open_channel("direct-tcpip", far, ("127.0.0.1", 0), timeout=CONNECT_WITHIN_S)
        else:
            carrier = socket.create_connection(far, timeout=CONNECT_WITHIN_S)
            carrier.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._carriers.append(carrier)
        return carrier

    def _why(self, client: paramiko.SSHClient, problem: Exception, keys: list[str], user: str | None) -> str:
        transport = client.get_transport()
        # it talked to us until it had seen our keys: then it is they, whatever paramiko calls the problem
        met = transport is not None and transport.is_active() and transport.initial_kex_done
        if isinstance(problem, paramiko.PasswordRequiredException):
            return "the private key has a passphrase; load it into the SSH agent first: ssh-add"
        if met or isinstance(problem, paramiko.AuthenticationException):
            agent = "the SSH agent's keys" if "SSH_AUTH_SOCK" in os.environ else "no SSH agent"
            return (
                f"Permission denied for {user or 'this user'} (tried: {', '.join((agent, *keys))}); put the public key "
                "into ~/.ssh/authorized_keys there, load the private one into the SSH agent (ssh-add), or set user and "
                "key in hosts.toml"
            )
        why = getattr(problem, "strerror", None) or str(problem) or "the connection ended"
        return f"{why}; {_UNREACHABLE}"

    @property
    def stands(self) -> bool:
        return self._transport.is_active()

    def last_words(self) -> str:
        """Return how the connection stands, in words."""
        problem = self._transport.get_exception()
        state = "the connection stands" if self.stands else "the connection broke"
        return f"ssh: {problem or state}; {_UNREACHABLE}"

    def _session(self, words: str) -> paramiko.Channel:
        try:
            channel = self._transport.open_session(timeout=ANSWER_WITHIN_S)
            channel.exec_command(words)
        except (OSError, EOFError, paramiko.SSHException) as problem:
            why = str(problem) or self.last_words()
            raise HostError(f"{self.name}: no answer to {words[:60]!r}: {why}") from problem
        return channel

    def start(self, words: str) -> Running:
        """Start a command by the user's shell there. Raises HostError: the connection broke."""
        return Running(self._session(words))

    def run(
        self, words: str, *, stdin: IO[bytes] | None = None, within_s: float | None = ANSWER_WITHIN_S
    ) -> tuple[int, str, str]:
        """Run a command by the user's shell there; return its exit code, stdout and stderr. Raises HostError: no
        answer, or the connection broke."""
        asked = f"{self.name}: no answer to {words[:60]!r}"
        with contextlib.closing(self._session(words)) as channel:
            channel.settimeout(within_s)
            err: list[bytes] = []
            reader = threading.Thread(target=_pass, args=(channel.recv_stderr, err.append, None), daemon=True)
            reader.start()
            try:
                with contextlib.suppress(BrokenPipeError):  # it wants no more: its exit code says why
                    while stdin is not None and (data := stdin.read(CHUNK)):
                        channel.sendall(data)
                channel.shutdown_write()
                output = b"".join(iter(lambda: channel.recv(CHUNK), b""))
                reader.join(within_s)
                code = channel.recv_exit_status()
            except TimeoutError as problem:
                raise HostError(f"{asked} within {within_s:g} s") from problem
            except (OSError, EOFError, paramiko.SSHException) as problem:
                raise HostError(f"{asked}: {self.last_words()}") from problem
        if code < 0:
            raise HostError(f"{asked}: {self.last_words()}")
        return code, output.decode(errors="replace"), b"".join(err).decode(errors="replace")

    def forward(self, far: Endpoint) -> Tunnel:
        """Return a way from this machine's loopback to a port there."""
        return Tunnel(self._transport, far)

    def why_no_forwarding(self, far: Endpoint) -> str | None:
        """Return why sshd carries nothing to an address that nobody listens at; ``None``: it does."""
        try:
            self._transport.open_channel(
                "direct-tcpip", (far.host, far.port), ("127.0.0.1", 0), timeout=ANSWER_WITHIN_S
            ).close()
            return None
        except paramiko.ChannelException as problem:
            if problem.code != PROHIBITED:
                return None
        except (OSError, EOFError, paramiko.SSHException) as problem:
            raise HostError(f"{self.name}: {problem}") from problem
        return (
            f"its sshd forwards no ports to {far.host}, and services that listen there are asked that way: "
            "AllowTcpForwarding yes (or local) and DisableForwarding no in its sshd_config, no restrict before the "
            "key in authorized_keys; or have services listen at service_address and the load come from elsewhere"
        )
