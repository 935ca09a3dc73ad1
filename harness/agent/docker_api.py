# SPDX-License-Identifier: Apache-2.0
"""Exchanges with the Docker Engine of the machine this runs on, over its socket.

Standard library only, Python >= 3.8: this machine's host and the agent on a far host both talk to a
daemon with this file, so that a container over there comes up as one does here.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.errors import HostError

USUAL_SOCKET = "/var/run/docker.sock"
#: How it is said that there is no daemon, or none any more.
SILENT = "no Docker daemon answers"
#: In the path of a request: the id of what the row's first request made.
MADE = "{Id}"
_REMOVAL = re.compile(r"/containers/([0-9a-f]{12,64})(?:\?|$)")


@dataclass(frozen=True)
class DockerRequest:
    """One request; ``path`` with its version and query. ``body_file``: a file of that machine, sent as the body."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    body_file: str | None = None


@dataclass(frozen=True)
class DockerReply:
    """One answer, whole, and when it was asked for and had, on the clocks of the daemon's machine."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    began_wall_epoch_s: float
    began_monotonic_s: float
    ended_monotonic_s: float


def usual_address() -> str:
    """Return where the daemon listens: DOCKER_HOST, the usual socket, or that of a daemon of our own user."""
    named = os.environ.get("DOCKER_HOST")
    if named:
        return named
    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    own = os.path.join(folder, "docker.sock")
    return f"unix://{own if not os.path.exists(USUAL_SOCKET) and os.path.exists(own) else USUAL_SOCKET}"


def exchange_in_a_row(
    address: str | None, requests: Sequence[DockerRequest], timeout_s: float
) -> list[DockerReply]:
    """Send requests one right after the other and return the answers; after one of 400 or more, no further.

    Args:
        address: ``unix://PATH`` or ``tcp://HOST:PORT``; ``None``: where it usually listens.
        timeout_s: for each silence of the daemon.

    Raises:
        HostError: nobody answers there.
    """
    where = address or usual_address()
    replies: list[DockerReply] = []
    connection = _connection(where, timeout_s)
    made = ""
    try:
        for request in requests:
            reply = _exchange(connection, request, request.path.replace(MADE, made))
            replies.append(reply)
            if reply.status >= 400:
                break
            made = made or made_by(request, reply) or ""
    except (OSError, http.client.HTTPException) as problem:
        said = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        raise HostError(f"{SILENT} at {where}: {said}") from problem
    finally:
        connection.close()
    return replies


def made_by(request: DockerRequest, reply: DockerReply) -> str | None:
    """Return the id of the container that this exchange made, or ``None``."""
    if request.method != "POST" or reply.status != 201 or "/containers/create" not in request.path:
        return None
    return str(json.loads(reply.body)["Id"])


def removed_by(request: DockerRequest, reply: DockerReply) -> str | None:
    """Return the id of the container that is gone after this exchange, or ``None``."""
    if request.method != "DELETE" or reply.status not in (204, 404):
        return None
    match = _REMOVAL.search(request.path)
    return match.group(1) if match else None


def remove_container(address: str | None, container: str) -> bool:
    """Remove a container, running or not; return whether it is gone. Never raises."""
    request = DockerRequest("DELETE", f"/containers/{container}?force=1&v=1")
    try:
        return exchange_in_a_row(address, [request], 30.0)[0].status in (204, 404)
    except HostError:
        return False


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection(address: str, timeout_s: float) -> http.client.HTTPConnection:
    parts = urlsplit(address)
    if parts.scheme == "unix":
        return _UnixConnection(f"{parts.netloc}{parts.path}", timeout_s)
    if parts.scheme in ("tcp", "http") and parts.hostname and parts.port:
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
    raise HostError(
        f"a Docker daemon is spoken to at unix://PATH or tcp://HOST:PORT of its own machine, not at {address}"
    )


def _exchange(connection: http.client.HTTPConnection, request: DockerRequest, path: str) -> DockerReply:
    headers = dict(request.headers)
    began_wall_epoch_s, began_monotonic_s = time.time(), time.monotonic()
    if request.body_file is None:
        connection.request(request.method, path, body=request.body or None, headers=headers)
    else:
        headers["Content-Length"] = str(os.path.getsize(request.body_file))
        with open(request.body_file, "rb") as stream:
            connection.request(request.method, path, body=stream, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    return DockerReply(
        status=answer.status,
        headers=dict(answer.getheaders()),
        body=body,
        began_wall_epoch_s=began_wall_epoch_s,
        began_monotonic_s=began_monotonic_s,
        ended_monotonic_s=time.monotonic(),
    )


#: Below the agent's folder: a file per container that lives, by its id; in it, whose daemon has it.
CONTAINERS = "containers"
#: Said to whoever would still start something.
ENDING = "the agent is ending; nothing is started any more"


class ContainerHandlers:
    """The part of the orders that is about containers. ``folder`` is the agent's; ``ended``: it is ending."""

    def __init__(self, folder: Path, ended: threading.Event) -> None:
        self._containers, self._ended = folder / CONTAINERS, ended
        self._containers.mkdir()

    def end_all(self) -> None:
        """Remove every container that was made."""
        remove_containers(self._containers)

    def do_docker(
        self, requests: list[dict[str, Any]], address: str | None, timeout_s: float
    ) -> dict[str, Any]:
        """Ask the Docker daemon here; a container that comes to be is remembered until it is removed."""
        row = [
            DockerRequest(
                item["method"],
                item["path"],
                item["headers"],
                base64.b64decode(item["body"]),
                item["body_file"],
            )
            for item in requests
        ]
        if self._ended.is_set():
            raise HostError(ENDING)
        where = address or usual_address()
        replies = exchange_in_a_row(where, row, timeout_s)
        for request, reply in zip(row, replies):  # noqa: B905 - its strictness is of Python 3.10
            made, removed = made_by(request, reply), removed_by(request, reply)
            if made is not None:
                (self._containers / made).write_text(where)
            if removed is not None:
                with contextlib.suppress(FileNotFoundError):
                    (self._containers / removed).unlink()
        if self._ended.is_set():
            remove_containers(self._containers)
        return {
            "replies": [{**asdict(item), "body": base64.b64encode(item.body).decode()} for item in replies]
        }


def remove_containers(notes: Path) -> None:
    """Remove the containers that these notes name; a note whose container would not go stays."""
    for note in notes.glob("*"):
        if remove_container(note.read_text(), note.name):
            note.unlink()
