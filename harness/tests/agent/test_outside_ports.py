# SPDX-License-Identifier: Apache-2.0
"""Whoever asks an address before it leads anywhere connects from ports that no load connects from."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.agent.http_exchange import poll_first_answer, request_bytes
from harness.agent.ports import CHOSEN_BY_SYSTEM, outside
from harness.tests.support.patience import patient


@dataclass(frozen=True)
class At:
    host: str
    port: int


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("32768\t60999\n", range(10_240, 32_768)), ("1024 60999", range(61_000, 65_536)),
        ("1024 65535", range(65_536, 65_536)), ("", range(0)),
    ],
)  # fmt: skip
def test_ports_are_those_that_the_system_does_not_choose(tmp_path: Path, text: str, ports: range) -> None:
    file = tmp_path / "range"
    file.write_text(text, encoding="ascii")
    assert outside(file) == ports
    assert outside(tmp_path / "absent") == range(0)


def test_a_service_in_a_cluster_is_waited_for_from_ports_that_no_load_uses() -> None:
    """Each refusal of the wait would be remembered; the first answer comes when somebody listens."""
    low, high = map(int, CHOSEN_BY_SYSTEM.read_text("ascii").split())
    came_from: list[int] = []
    server = socket.socket()
    server.bind(("127.0.0.1", 0))  # it refuses until it listens, and nobody who asks can take the port before
    port = server.getsockname()[1]

    def serve() -> None:
        time.sleep(0.05)
        with server:
            server.listen()
            accepted, address = server.accept()
            came_from.append(address[1])
            with accepted:
                accepted.recv(1000)
                accepted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    serving = threading.Thread(target=serve)
    serving.start()
    here = At("127.0.0.1", port)
    first = poll_first_answer(
        here, request_bytes("GET", "/", {}, None, here), launched_monotonic_s=time.monotonic(),
        deadline_s=patient(20), gone=lambda: False, from_outside=True,
    )  # fmt: skip
    serving.join()
    assert first.answer is not None and first.polls > 1
    assert not low <= came_from[0] <= high
