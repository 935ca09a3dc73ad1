# SPDX-License-Identifier: Apache-2.0
"""What the agent ends when its controller is gone: containers at a daemon of its machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.agent.containers import connected
from harness.agent.server import Handlers
from harness.errors import HostError
from harness.tests.support.scripted_server import scripted

GONE, MADE_MEANWHILE = (
    f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()
    for status in ("404 Not Found", "204 No Content")
)


def test_the_agent_remembers_a_container_until_it_is_removed_and_removes_what_is_left(tmp_path: Path) -> None:
    orders, notes = Handlers(tmp_path), tmp_path / "containers"
    with scripted([GONE], [MADE_MEANWHILE]) as (daemon, received):
        address = f"tcp://127.0.0.1:{daemon.port}"
        for name in ("late", "gone"):
            orders.carry_out("container_note", {"name": name, "address": address})
        orders.carry_out("container_forget", {"name": "gone"})
        assert [(note.name, note.read_text()) for note in notes.iterdir()] == [("late", address)]
        orders.end_all()
    # asked again while the daemon may still be making it
    assert [request.split(b" HTTP")[0] for request in received] == [
        b"DELETE /containers/late?force=1&v=1"
    ] * 2
    assert not list(notes.iterdir())
    with pytest.raises(HostError, match="nothing is started any more"):
        orders.carry_out("container_note", {"name": "new", "address": address})


def test_an_address_is_a_socket_or_a_port_of_the_same_machine() -> None:
    with pytest.raises(HostError, match="unix://PATH or tcp://HOST:PORT .*, not at ssh://there"):
        connected("ssh://there")
