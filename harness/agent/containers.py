# SPDX-License-Identifier: Apache-2.0
"""What the agent asks a Docker daemon, and the containers that came of it: none outlives the agent."""

from __future__ import annotations

import base64
import contextlib
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.agent.docker_api import (
    DockerRequest,
    exchange_in_a_row,
    made_by,
    remove_container,
    removed_by,
    usual_address,
)
from harness.errors import HostError

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
                one["method"], one["path"], one["headers"], base64.b64decode(one["body"]), one["body_file"]
            )
            for one in requests
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
        return {"replies": [{**asdict(one), "body": base64.b64encode(one.body).decode()} for one in replies]}


def remove_containers(notes: Path) -> None:
    """Remove the containers that these notes name; a note whose container would not go stays."""
    for note in notes.glob("*"):
        if remove_container(note.read_text(), note.name):
            note.unlink()
