# SPDX-License-Identifier: Apache-2.0
"""What the agent ends when its controller is gone: containers at a daemon of its machine, samplers."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from harness.agent.containers import connected
from harness.agent.server import Handlers
from harness.errors import HostError

#: A daemon's address, and what it was asked for.
Daemon = tuple[str, list[str]]


class _Daemon(BaseHTTPRequestHandler):
    """Has every container but ``late``, which it is still making when it is asked first."""

    def do_DELETE(self) -> None:
        asked = self.server.asked  # type: ignore[attr-defined]  # the test's own list
        asked.append(self.path)
        self.send_response(404 if "late" in self.path and len(asked) == 1 else 204)
        self.end_headers()

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    asked: list[str] = []
    with socketserver.ThreadingUnixStreamServer(str(tmp_path / "d.sock"), _Daemon) as server:
        server.asked = asked  # type: ignore[attr-defined]  # for the handler
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"unix://{tmp_path}/d.sock", asked
        server.shutdown()


def test_the_agent_remembers_a_container_until_it_is_removed_and_removes_what_is_left(
    daemon: Daemon, tmp_path: Path
) -> None:
    address, asked = daemon
    (tmp_path / "agent").mkdir()
    orders = Handlers(tmp_path / "agent")
    notes = tmp_path / "agent" / "containers"
    for name in ("late", "gone"):
        orders.carry_out("container_note", {"name": name, "address": address})
    orders.carry_out("container_forget", {"name": "gone"})
    assert [(note.name, note.read_text()) for note in notes.iterdir()] == [("late", address)]
    orders.end_all()
    assert asked == ["/containers/late?force=1&v=1"] * 2, (
        "asked again while the daemon may still be making it"
    )
    assert not list(notes.iterdir())
    with pytest.raises(HostError, match="nothing is started any more"):
        orders.carry_out("container_note", {"name": "new", "address": address})


def test_an_address_is_a_socket_or_a_port_of_the_same_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connected(f"tcp://127.0.0.1:{server.getsockname()[1]}").close()
    with pytest.raises(HostError, match="unix://PATH or tcp://HOST:PORT .*, not at ssh://there"):
        connected("ssh://there")
