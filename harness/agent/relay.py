# SPDX-License-Identifier: Apache-2.0
"""``agent attach FOLDER`` and ``agent dial ADDRESS``: pass bytes between stdin/stdout and a socket of this machine.

Imports next to nothing: a connection that broke in the middle of a trial waits for this to start.
"""

from __future__ import annotations

import os
import selectors
import socket
from urllib.parse import urlsplit

from harness.errors import HostError

SOCKET = "agent.sock"
CHUNK = 65536
#: What it ends with when nothing listens there (any more).
NO_AGENT = 3


def attach(folder: str) -> None:
    """Pass bytes between stdin/stdout and the agent of a folder until either side ends."""
    try:
        os.chdir(folder)  # a path in a socket's address may have no more than 107 bytes
        daemon = socket.socket(socket.AF_UNIX)
        daemon.connect(SOCKET)
    except OSError:
        raise SystemExit(NO_AGENT) from None
    pass_bytes(daemon)


def dial(address: str) -> None:
    """Pass bytes between stdin/stdout and what listens at ``unix://PATH`` or ``tcp://HOST:PORT`` likewise."""
    try:
        daemon = connected(address)
    except OSError:
        raise SystemExit(NO_AGENT) from None
    pass_bytes(daemon)


def connected(address: str) -> socket.socket:
    """Return a connection to what listens at ``unix://PATH`` or ``tcp://HOST:PORT`` of this machine. Raises OSError:
    nothing listens there; HostError: it is another kind of address."""
    parts = urlsplit(local_address(address))
    if parts.scheme == "unix":
        link = socket.socket(socket.AF_UNIX)
        link.connect(f"{parts.netloc}{parts.path}")
        return link
    return socket.create_connection((str(parts.hostname), int(parts.port or 0)))


def local_address(address: str) -> str:
    """Return the address, unless it is of another kind than ``unix://PATH`` or ``tcp://HOST:PORT``.

    Raises HostError: it is.
    """
    parts = urlsplit(address)
    if parts.scheme == "unix" or (parts.scheme in ("tcp", "http") and parts.hostname and parts.port):
        return address
    raise HostError(
        f"a Docker daemon is spoken to at unix://PATH or tcp://HOST:PORT of its own machine, not at {address}"
    )


def pass_bytes(daemon: socket.socket) -> None:
    """Pass bytes between stdin/stdout and a connection until either side ends."""
    with daemon, selectors.DefaultSelector() as selector:
        selector.register(daemon, selectors.EVENT_READ, 1)
        selector.register(0, selectors.EVENT_READ, -1)
        while True:
            for key, _ in selector.select():
                if key.data == 1:
                    data = daemon.recv(CHUNK)
                    if not data:
                        return
                    while data:
                        data = data[os.write(1, data) :]
                else:
                    data = os.read(0, CHUNK)
                    if not data:
                        return
                    daemon.sendall(data)
