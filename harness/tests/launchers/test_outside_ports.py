# SPDX-License-Identifier: Apache-2.0
"""Whoever asks an address before it leads anywhere connects from ports that no load connects from."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from harness.launchers import outside_ports
from harness.launchers.outside_ports import CHOSEN_BY_SYSTEM, connect_from_outside, outside
from harness.tests.support.patience import patient


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


def test_a_connection_comes_from_outside_of_the_systems_range_and_not_twice_from_one_port() -> None:
    low, high = map(int, CHOSEN_BY_SYSTEM.read_text("ascii").split())
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        made = [connect_from_outside("127.0.0.1", port, patient(5)) for _ in range(8)]
        sources = {one.getsockname()[1] for one in made}
        for one in made:
            one.close()
    assert len(sources) == 8 and not any(low <= source <= high for source in sources)


def test_a_refusal_is_said_at_once_and_a_port_that_is_taken_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(
            outside_ports, "outside", lambda _: range(port, port + 1)
        )  # the server has it itself
        connect_from_outside("127.0.0.1", port, patient(5)).close()
    monkeypatch.undo()
    with pytest.raises(OSError) as refused:  # nobody listens there any more
        connect_from_outside("127.0.0.1", port, patient(5))
    assert refused.value.errno == errno.ECONNREFUSED
