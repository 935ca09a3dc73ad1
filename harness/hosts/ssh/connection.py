# SPDX-License-Identifier: Apache-2.0
"""A connection to a host whose key is known. One that is unknown, or another than before, is refused."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import socket
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import paramiko

from harness.errors import HostError
from harness.hosts.ssh.settings import SSH_PORT, Connecting

CONNECT_WITHIN_S = 15.0
LOG = "harness.hosts.ssh"
AGENT = "SSH_AUTH_SOCK"


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Says which key was shown and how to make it known, after looking at it."""

    def __init__(self, target: Connecting) -> None:
        self._target = target

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        target = self._target
        kind = {"ssh-ed25519": "ed25519", "ssh-rsa": "rsa"}.get(key.get_name(), "ecdsa")
        named = "" if target.known_as is None else f" | sed 's/^[^ ]*/{target.known_as}/'"
        raise HostError(
            f"{target.name}: its host key is unknown: {key.get_name()} {key.fingerprint}; compare that with "
            f"`ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` on the host itself, and only if they are the same: "
            f"ssh-keyscan -p {target.port} -t {kind} {target.address}{named} >> {target.known_hosts[0]}"
        )


class Client(paramiko.SSHClient):
    """A connection together with what carries it: closed together."""

    def __init__(self) -> None:
        super().__init__()
        self.carrier: Transport | None = None

    def close(self) -> None:
        super().close()
        if self.carrier is not None:
            self.carrier.close()


def connect(target: Connecting, within_s: float = CONNECT_WITHIN_S) -> Client:
    """Connect with a key or the SSH agent, never with a password.

    Raises HostError: unreachable, not the host that is known, or it does not let us in.
    """
    client = Client()
    log = logging.getLogger(LOG)
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    client.set_log_channel(LOG)  # else paramiko writes to stderr what is said by whom it concerns
    for file in target.known_hosts:
        with contextlib.suppress(OSError):  # no such file: no host is known from it
            client.load_host_keys(str(file))
    client.set_missing_host_key_policy(_Refuse(target))
    try:
        client.carrier = carry(target, within_s)
        client.connect(
            target.name_of_key,
            port=SSH_PORT,  # of the name above, which has the port in it where it is another one
            username=target.user,
            key_filename=list(target.keys) or None,  # type: ignore[arg-type]  # a list is tried in turn
            allow_agent=True,
            look_for_keys=not target.keys,
            timeout=within_s,
            banner_timeout=within_s,
            auth_timeout=within_s,
            sock=client.carrier.socket,
        )
    except BaseException as problem:
        transport = client.get_transport()
        # it talked to us until it had seen our keys: then it is they, whatever paramiko calls the problem
        met = transport is not None and transport.is_active() and transport.initial_kex_done
        last_words = client.carrier.last_words() if client.carrier is not None else None
        client.close()
        reason = _why(target, problem, met=met, last_words=last_words)
        if reason is None:
            raise
        raise HostError(reason) from problem
    return client


def _why(target: Connecting, problem: BaseException, *, met: bool, last_words: str | None) -> str | None:
    if isinstance(problem, paramiko.BadHostKeyException):
        return _changed(target, problem)
    if isinstance(problem, paramiko.PasswordRequiredException):
        return f"{target.where}: the private key has a passphrase; load it into the SSH agent first: ssh-add"
    if isinstance(problem, paramiko.AuthenticationException) or (
        met and isinstance(problem, paramiko.SSHException)
    ):
        agent = "the SSH agent's keys" if os.environ.get(AGENT) else f"no SSH agent: {AGENT} is not set"
        tried = ", ".join((agent, *(target.keys or ("no key file",))))
        return (
            f"{target.where}: does not let {target.user or 'us'} in (tried: {tried}); put the public key into "
            "~/.ssh/authorized_keys there, load the private one into the SSH agent (ssh-add), or set user and key "
            "in hosts.toml"
        )
    of_carrier = f" ({last_words})" if last_words else ""
    if isinstance(problem, paramiko.SSHException):
        return f"{target.where}: no SSH connection: {problem}{of_carrier}"
    if isinstance(problem, (OSError, EOFError)):
        reason = getattr(problem, "strerror", None) or str(problem) or "the connection ended"
        hint = "check that it runs, that sshd listens, and that no firewall blocks it"
        return f"{target.where}: cannot be reached: {reason}{of_carrier}; {hint}"
    return None


def _changed(target: Connecting, problem: paramiko.BadHostKeyException) -> str:
    name, file = target.name_of_key, str(target.known_hosts[0])
    return (
        f"{target.where}: its host key has CHANGED: known is {problem.expected_key.fingerprint}, "
        f"shown was {problem.key.fingerprint}; the connection may be intercepted. If the host was "
        f"reinstalled: ssh-keygen -f {shlex.quote(file)} -R {shlex.quote(name)}, then add the new "
        "key after comparing it"
    )


ENDS_WITHIN_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Transport:
    """``last_words``: what a ProxyCommand said on stderr, if anything."""

    socket: socket.socket
    close: Callable[[], None]
    last_words: Callable[[], str | None] = lambda: None


def carry(target: Connecting, within_s: float) -> Transport:
    """Open what a connection to ``target`` goes through. Raises OSError: the host cannot be reached."""
    if target.proxy is not None:
        return _by_command(target.proxy)
    link = socket.create_connection((target.address, target.port), timeout=within_s)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Transport(socket=link, close=link.close)


def _by_command(command: str) -> Transport:
    """As ssh starts it, by the shell. One end of a pair of sockets is its stdin and stdout: it ends with ours."""
    near, far = socket.socketpair()
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - read and closed with the connection
    with far:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"],
            stdin=far.fileno(),
            stdout=far.fileno(),
            stderr=complaints,
            start_new_session=True,
        )

    def close() -> None:
        near.close()
        process.terminate()
        try:
            process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(ENDS_WITHIN_S)
        complaints.close()

    def last_words() -> str | None:
        complaints.seek(0)
        lines = complaints.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else None

    return Transport(socket=near, close=close, last_words=last_words)
