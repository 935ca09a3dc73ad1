# SPDX-License-Identifier: Apache-2.0
"""Exchanges with a Docker Engine: in a row, on one socket, and what they made is known by its id."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from harness.agent.docker_api import (
    DockerReply,
    DockerRequest,
    exchange_in_a_row,
    made_by,
    removed_by,
    usual_address,
)
from harness.agent.handlers import Handlers
from harness.errors import HostError

ID = "0123456789abcdef"
CREATE = DockerRequest("POST", "/v1.41/containers/create?name=x", {"Content-Type": "application/json"}, b"{}")


class _Daemon(BaseHTTPRequestHandler):
    """Makes one container; what is asked of another is not found."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = self.server.asked  # type: ignore[attr-defined]  # the test's own list
        asked.append((self.command, self.path, body))
        said = json.dumps({"Id": ID} if "create" in self.path else {"message": "here"}).encode()
        known = ID in self.path or "create" in self.path or self.path == "/build"
        status = (
            404 if not known else 201 if "create" in self.path else 204 if self.command == "DELETE" else 200
        )
        said = b"" if status == 204 else said
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[tuple[str, list[tuple[str, str, bytes]]]]:
    asked: list[tuple[str, str, bytes]] = []
    with socketserver.ThreadingUnixStreamServer(str(tmp_path / "d.sock"), _Daemon) as server:
        server.asked = asked  # type: ignore[attr-defined]  # for the handler
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"unix://{tmp_path}/d.sock", asked
        server.shutdown()


def test_a_row_names_what_its_first_request_made(daemon: tuple[str, list[tuple[str, str, bytes]]]) -> None:
    address, asked = daemon
    row = [CREATE, DockerRequest("POST", "/v1.41/containers/{Id}/start"), DockerRequest("GET", "/v1.41/containers/{Id}/json")]  # fmt: skip
    replies = exchange_in_a_row(address, row, 10)
    assert [reply.status for reply in replies] == [201, 200, 200]
    assert [path for _, path, _ in asked][1:] == [
        f"/v1.41/containers/{ID}/start",
        f"/v1.41/containers/{ID}/json",
    ]
    moments = [moment for one in replies for moment in (one.began_monotonic_s, one.ended_monotonic_s)]
    assert moments == sorted(moments)


def test_a_row_ends_where_the_daemon_refuses(daemon: tuple[str, list[tuple[str, str, bytes]]]) -> None:
    address, asked = daemon
    replies = exchange_in_a_row(address, [DockerRequest("POST", "/containers/other/start"), CREATE], 10)
    assert [reply.status for reply in replies] == [404]
    assert len(asked) == 1


def test_a_body_may_be_a_file(daemon: tuple[str, list[tuple[str, str, bytes]]], tmp_path: Path) -> None:
    address, asked = daemon
    (tmp_path / "context.tar").write_bytes(b"x" * 300_000)
    exchange_in_a_row(address, [DockerRequest("POST", "/build", body_file=str(tmp_path / "context.tar"))], 10)
    assert asked[0][2] == b"x" * 300_000


def test_the_agent_remembers_a_container_until_it_is_removed_and_removes_what_is_left(
    daemon: tuple[str, list[tuple[str, str, bytes]]], tmp_path: Path
) -> None:
    address, asked = daemon
    (tmp_path / "agent").mkdir()
    orders = Handlers(tmp_path / "agent", 0.0)
    notes = tmp_path / "agent" / "containers"
    create: dict[str, object] = {
        "method": "POST",
        "path": CREATE.path,
        "headers": {},
        "body": "e30=",
        "body_file": None,
    }
    remove: dict[str, object] = {"method": "DELETE", "path": f"/v1.41/containers/{ID}?force=1", "headers": {}, "body": "", "body_file": None}  # fmt: skip
    orders.carry_out("docker", {"requests": [create], "address": address, "timeout_s": 10})
    assert [note.read_text() for note in notes.iterdir()] == [address]
    orders.carry_out("docker", {"requests": [remove], "address": address, "timeout_s": 10})
    assert not list(notes.iterdir())
    orders.carry_out("docker", {"requests": [create], "address": address, "timeout_s": 10})
    orders.end_all()
    assert asked[-1][:2] == ("DELETE", f"/containers/{ID}?force=1&v=1")
    with pytest.raises(HostError, match="nothing is started any more"):
        orders.carry_out("docker", {"requests": [create], "address": address, "timeout_s": 10})


def test_what_was_made_and_what_is_gone_is_read_from_the_exchange() -> None:
    def reply(status: int, body: bytes = b"") -> DockerReply:
        return DockerReply(status, {}, body, 0.0, 0.0, 0.0)

    assert made_by(CREATE, reply(201, b'{"Id": "ab"}')) == "ab"
    assert made_by(CREATE, reply(409, b"{}")) is None
    removal = DockerRequest("DELETE", f"/v1.41/containers/{ID}?force=1&v=1")
    assert [removed_by(removal, reply(status)) for status in (204, 404, 500)] == [ID, ID, None]
    assert removed_by(DockerRequest("GET", f"/containers/{ID}/json"), reply(204)) is None


def test_where_nobody_answers_the_address_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        HostError, match=rf"no Docker daemon answers at unix://{tmp_path}/no.sock: No such file"
    ):
        exchange_in_a_row(f"unix://{tmp_path}/no.sock", [DockerRequest("GET", "/version")], 5)
    with pytest.raises(HostError, match="unix://PATH or tcp://HOST:PORT .*, not at ssh://there"):
        exchange_in_a_row("ssh://there", [DockerRequest("GET", "/version")], 5)


def test_the_usual_address_is_what_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    assert usual_address() == "tcp://127.0.0.1:2375"
    monkeypatch.delenv("DOCKER_HOST")
    assert usual_address().startswith("unix:///")
