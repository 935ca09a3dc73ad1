# SPDX-License-Identifier: Apache-2.0
"""Containers that a controller starts on this machine: where their daemon listens, and their removal at the end.

The controller speaks to the daemon itself, through ``agent dial``.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import threading
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from harness.errors import HostError

USUAL_SOCKET = "/var/run/docker.sock"
#: Below the agent's folder: a file per container that may live, by its name; in it, whose daemon has it.
CONTAINERS = "containers"
ENDING = "the agent is ending; nothing is started any more"
#: A daemon may still be making what it was asked for: it is asked again for so long.
SETTLED_WITHIN_S = 1.0
ANSWER_WITHIN_S = 30.0


def usual_address() -> str:
    """Return where the daemon listens: DOCKER_HOST, the usual socket, or that of a daemon of our own user."""
    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    own = os.path.join(folder, "docker.sock")
    path = own if not os.path.exists(USUAL_SOCKET) and os.path.exists(own) else USUAL_SOCKET
    return os.environ.get("DOCKER_HOST") or f"unix://{path}"


def local_address(address: str) -> str:
    """Return an address ``unix://PATH`` or ``tcp://HOST:PORT``. Raises HostError: it is of another kind."""
    parts = urlsplit(address)
    if parts.scheme == "unix" or (parts.scheme in ("tcp", "http") and parts.hostname and parts.port):
        return address
    raise HostError(
        f"a Docker daemon is spoken to at unix://PATH or tcp://HOST:PORT of its own machine, not at {address}"
    )


def connected(address: str) -> socket.socket:
    """Return a connection to an address of this machine. Raises OSError: nothing listens there; HostError: as
    ``local_address``."""
    parts = urlsplit(local_address(address))
    if parts.scheme == "unix":
        link = socket.socket(socket.AF_UNIX)
        link.connect(f"{parts.netloc}{parts.path}")
        return link
    return socket.create_connection((str(parts.hostname), int(parts.port or 0)))


def remove_container(address: str, name: str) -> bool:
    """Remove a container, running or not; return whether it is gone. Never raises."""
    until = time.monotonic() + SETTLED_WITHIN_S
    status = 0
    while status != 204:
        try:
            connection = http.client.HTTPConnection("localhost")
            connection.sock = connected(address)
            connection.sock.settimeout(ANSWER_WITHIN_S)
            connection.request("DELETE", f"/containers/{quote(name)}?force=1&v=1")
            status = connection.getresponse().status
            connection.close()
        except (OSError, HostError, http.client.HTTPException):
            return False
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return status in (204, 404)


def remove_containers(notes: Path) -> None:
    """Remove the containers that these notes name; a note whose container would not go stays."""
    for note in notes.glob("*"):
        if remove_container(note.read_text(), note.name):
            note.unlink()


class ContainerHandlers:
    """The part of the orders that is about containers. ``folder`` is the agent's."""

    def __init__(self, folder: Path) -> None:
        self._containers, self._ended = folder / CONTAINERS, threading.Event()
        self._containers.mkdir()

    def do_container_note(self, name: str, address: str) -> None:
        """Note a container that is about to be made."""
        (self._containers / name).write_text(address)
        if self._ended.is_set():
            raise HostError(ENDING)

    def do_container_forget(self, name: str) -> None:
        """Forget a container that is gone."""
        with contextlib.suppress(FileNotFoundError):
            (self._containers / name).unlink()
