# SPDX-License-Identifier: Apache-2.0
"""A port is given to one process at a time; whoever asks early connects from ports that no load connects from."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.agent import ports
from harness.agent.http_exchange import Connection
from harness.agent.ports import CHOSEN_BY_SYSTEM, outside
from harness.model import Endpoint
from harness.tests.support.sessions import REPOSITORY

ANOTHER = (
    "import sys\nfrom harness.agent import ports\nprint(ports.lease(int(sys.argv[1])), flush=True)\ninput()"
)


@pytest.fixture
def leased_elsewhere() -> Iterator[int]:
    """A port that another process was given and on which nothing listens yet."""
    port = ports.free_port()
    ports._leases.pop().close()
    with subprocess.Popen(
        [sys.executable, "-c", ANOTHER, str(port)], cwd=REPOSITORY, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "True\n"
        yield port
        process.communicate("\n")


class Chooser:
    """Chooses the ports that it was told."""

    def __init__(self, *chosen: int) -> None:
        self._left = list(chosen)

    def randint(self, _low: int, _high: int) -> int:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


def test_a_port_leased_elsewhere_is_not_given(leased_elsewhere: int, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ports.free_port()
    monkeypatch.setattr("random.SystemRandom", lambda: Chooser(leased_elsewhere, other, other + 1))
    assert ports.free_port() not in (leased_elsewhere, other)


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


def test_early_requests_to_a_cluster_come_from_ports_that_no_load_uses() -> None:
    low, high = map(int, CHOSEN_BY_SYSTEM.read_text("ascii").split())
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = Endpoint(host="127.0.0.1", port=server.getsockname()[1])
        with Connection(here, from_outside=True) as connection:
            connection.open()
            accepted, address = server.accept()
            accepted.close()
    assert not low <= address[1] <= high
