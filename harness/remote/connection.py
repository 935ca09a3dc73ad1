# SPDX-License-Identifier: Apache-2.0
"""A connection to a host whose key is known. One that is unknown, or another than before, is refused."""

from __future__ import annotations

import base64
import hashlib
import logging
import socket

import paramiko

from harness.errors import HostError
from harness.remote.settings import Connecting

CONNECT_WITHIN_S = 15.0
LOG = "harness.remote.ssh"


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Says which key was shown and how to make it known, after looking at it."""

    def __init__(self, target: Connecting) -> None:
        self._target = target

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        target = self._target
        file = target.known_hosts[0]
        raise HostError(
            f"{target.name}: its host key is unknown: {key.get_name()} {fingerprint(key)}; compare that with "
            f"`ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` on the host itself, and only if they are the same: "
            f"ssh-keyscan -p {target.port} -t {_kind(key)} {target.address} >> {file}"
        )


def connect(target: Connecting, within_s: float = CONNECT_WITHIN_S) -> paramiko.SSHClient:
    """Connect with a key or the SSH agent, never with a password.

    Raises:
        HostError: unreachable, not the host that is known, or it does not let us in.
    """
    client = paramiko.SSHClient()
    _keep_quiet(client)
    for file in target.known_hosts:
        try:
            client.load_host_keys(str(file))
        except OSError:
            continue  # no such file: no host is known from it
    client.set_missing_host_key_policy(_Refuse(target))
    try:
        client.connect(
            target.address,
            port=target.port,
            username=target.user,
            key_filename=list(target.keys) or None,  # type: ignore[arg-type]  # a list is tried in turn
            allow_agent=True,
            look_for_keys=not target.keys,
            timeout=within_s,
            banner_timeout=within_s,
            auth_timeout=within_s,
            sock=paramiko.ProxyCommand(target.proxy) if target.proxy else None,
        )
    except BaseException as problem:
        client.close()
        said = _why(target, problem)
        if said is None:
            raise
        raise HostError(said) from problem
    transport = client.get_transport()
    assert transport is not None
    if transport.sock is not None and hasattr(transport.sock, "setsockopt"):
        transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def _keep_quiet(client: paramiko.SSHClient) -> None:
    """What goes wrong is said by whom it concerns; paramiko would write it to stderr a second time."""
    log = logging.getLogger(LOG)
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    client.set_log_channel(LOG)


def fingerprint(key: paramiko.PKey) -> str:
    """Return it as ``ssh-keygen -l`` prints it."""
    digest = hashlib.sha256(key.asbytes()).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def _kind(key: paramiko.PKey) -> str:
    return {"ssh-ed25519": "ed25519", "ssh-rsa": "rsa"}.get(key.get_name(), "ecdsa")


def _why(target: Connecting, problem: BaseException) -> str | None:
    where = f"{target.name} ({target.address} port {target.port})"
    if isinstance(problem, paramiko.BadHostKeyException):
        return (
            f"{where}: its host key has CHANGED: known is {fingerprint(problem.expected_key)}, "
            f"shown was {fingerprint(problem.key)}; somebody may be in between. If the host was really set up "
            f"anew: ssh-keygen -f {target.known_hosts[0]} -R '[{target.address}]:{target.port}', then make the new "
            "key known after comparing it"
        )
    if isinstance(problem, paramiko.PasswordRequiredException):
        return f"{where}: the private key has a passphrase; load it into the SSH agent first: ssh-add"
    if isinstance(problem, paramiko.AuthenticationException):
        tried = ", ".join(target.keys) or "the SSH agent's keys and ~/.ssh/id_*"
        return (
            f"{where}: does not let {target.user or 'us'} in (tried: {tried}); put the public key into "
            "~/.ssh/authorized_keys there, or set user and key in hosts.toml"
        )
    if isinstance(problem, paramiko.SSHException):
        return f"{where}: no SSH connection: {problem}"
    if isinstance(problem, OSError):
        said = problem.strerror or str(problem)
        return f"{where}: cannot be reached: {said}; is it on, is sshd there, is a firewall in between?"
    return None
