# SPDX-License-Identifier: Apache-2.0
"""What carries an SSH connection: a TCP connection, the user's ProxyCommand, or a host in between."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import paramiko

from harness.errors import HostError
from harness.hosts.ssh.destination import Connecting
from harness.hosts.ssh.forwarding import PROHIBITED

ENDS_WITHIN_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Transport:
    """``last_words``: what a ProxyCommand said on stderr, if anything."""

    socket: socket.socket | paramiko.Channel
    close: Callable[[], None]
    last_words: Callable[[], str | None] = lambda: None


def carry(target: Connecting, via: paramiko.SSHClient | None, within_s: float) -> Transport:
    """Open what a connection to ``target`` goes through. It owns ``via``, the connection to the host in between.

    Raises:
        HostError: the host in between does not pass connections on, or does not reach the host.
        OSError: the host cannot be reached.
    """
    if via is not None:
        return _through(target, via, within_s)
    if target.proxy is not None:
        return _by_command(target.proxy)
    link = socket.create_connection((target.address, target.port), timeout=within_s)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Transport(socket=link, close=link.close)


def _through(target: Connecting, via: paramiko.SSHClient, within_s: float) -> Transport:
    assert target.via is not None
    transport = via.get_transport()
    try:
        if transport is None:
            raise EOFError("the connection to it was closed")
        where = (target.address, target.port)
        channel = transport.open_channel("direct-tcpip", where, ("127.0.0.1", 0), timeout=within_s)
    except paramiko.ChannelException as problem:
        if problem.code == PROHIBITED:
            raise HostError(
                f"{target.where}: {target.via.where} passes no connections on: its sshd needs "
                "AllowTcpForwarding yes (or local), and PermitOpen for that address if it is set"
            ) from problem
        raise HostError(
            f"{target.where}: cannot be reached from {target.via.name}: {problem.text}; is it on, is sshd there?"
        ) from problem
    except (paramiko.SSHException, EOFError) as problem:
        raise HostError(f"{target.where}: {target.via.where} does not pass us on: {problem}") from problem

    def close() -> None:
        with contextlib.suppress(OSError, EOFError):
            channel.close()
        via.close()

    return Transport(socket=channel, close=close)


def _by_command(command: str) -> Transport:
    """As ssh starts it, by the shell. One end of a pair of sockets is its stdin and stdout: it ends with ours."""
    ours, theirs = socket.socketpair()
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - read and closed with the connection
    with theirs:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=complaints,
            start_new_session=True,
        )

    def close() -> None:
        ours.close()
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

    return Transport(socket=ours, close=close, last_words=last_words)
