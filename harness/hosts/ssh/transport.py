# SPDX-License-Identifier: Apache-2.0
"""What carries an SSH connection: a TCP connection, or a command such as the user's ProxyCommand."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from harness.hosts.ssh.destination import Connecting

ENDS_WITHIN_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Transport:
    """``last_words``: what a ProxyCommand said on stderr, if anything."""

    socket: socket.socket
    close: Callable[[], None]
    last_words: Callable[[], str | None] = lambda: None


def carry(target: Connecting, within_s: float) -> Transport:
    """Open what a connection to ``target`` goes through.

    Raises:
        OSError: the host cannot be reached.
    """
    if target.proxy is not None:
        return _by_command(target.proxy)
    link = socket.create_connection((target.address, target.port), timeout=within_s)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Transport(socket=link, close=link.close)


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
