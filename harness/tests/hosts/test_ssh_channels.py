# SPDX-License-Identifier: Apache-2.0
"""A remote host that measures trial after trial has no more channels open than before the first one."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from paramiko import Channel, Transport

from harness.hosts.base import Command
from harness.hosts.ssh.host import SshHost
from harness.model.endpoint import Endpoint
from harness.tests.support.instances import eventually
from harness.tests.support.patience import patient
from harness.tests.support.sshd import Sshd

TRIALS = 5
FILES = ("order.json", "a/one.txt", "a/two.txt")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Channel]:
    """Every channel that is opened, held so that none is closed for want of a holder."""
    held: list[Channel] = []
    open_channel = Transport.open_channel

    def holding(self: Transport, *args: Any, **told: Any) -> Channel:
        held.append(open_channel(self, *args, **told))
        return held[-1]

    monkeypatch.setattr(Transport, "open_channel", holding)
    return held


@pytest.fixture
def far(tmp_path: Path, opened: list[Channel]) -> Iterator[SshHost]:
    sshd = Sshd(tmp_path / "sshd")
    sshd.start()
    host = SshHost("bighost", sshd.settings(tmp_path / "base"))
    yield host
    host.close()
    sshd.die()


@pytest.fixture
def service() -> Iterator[Endpoint]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Endpoint(host="127.0.0.1", port=server.server_port)
        server.shutdown()


def trial(far: SshHost, folder: Path, service: Endpoint) -> None:
    """All that a trial wants of a host: files there and back, commands, a process, samples, a tunnel."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    there = far.open_folder(folder)
    assert far.run(Command(argv=("sh", "-c", "echo > log"), folder=there), patient(20)).exit_code == 0
    process = far.spawn(Command(argv=("sleep", "300"), folder=there))
    sampling = far.sampler(there / "samples.csv", there / "machine.csv", 20.0)
    near = far.reach(service)
    urllib.request.urlopen(f"http://{near.host}:{near.port}/").close()
    sampling.stop()
    process.stop(0.0)
    far.close_folder(folder)
    assert {path.name for path in folder.rglob("*") if path.is_file()} >= {"log", "samples.csv", "two.txt"}


def still_open(opened: list[Channel]) -> int:
    return sum(not channel.closed for channel in opened)


def test_after_any_number_of_trials_the_agents_channel_alone_is_open(
    far: SshHost, opened: list[Channel], service: Endpoint, tmp_path: Path
) -> None:
    assert still_open(opened) == 1, "what was asked to start the agent is closed"
    own = psutil.Process()
    counts = []
    for n in range(TRIALS):
        before = len(opened)
        trial(far, tmp_path / f"trial-{n}", service)
        assert eventually(lambda: still_open(opened) == 1)
        counts.append((len(opened) - before, own.num_fds()))
    n_channels, _ = zip(*counts, strict=True)
    assert max(n_channels[1:]) <= n_channels[0] <= len(FILES) + 2, (
        "one for each way, whatever the number of files"
    )
    assert eventually(lambda: own.num_fds() <= counts[0][1])
