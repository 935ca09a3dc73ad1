# SPDX-License-Identifier: Apache-2.0
"""Exchanges with the Docker Engine of the machine this runs on, over its socket.

Standard library only, Python >= 3.8: this machine's host and the agent on a far host both talk to a
daemon with this file, so that a container over there comes up as one does here.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    found = _REMOVAL.search(request.path)
    return found.group(1) if found else None


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
