# SPDX-License-Identifier: Apache-2.0
"""Small real HTTP servers: what all of them share, and one for tests of load generators that counts what arrives."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

from harness.loadgen.base import LoadSpec
from harness.model import Endpoint, LoadProfile, Request
from harness.tests.support.available import patient

RIGHT = b'{"v":"HELLO"}'
#: Nobody listens here: for orders that are never offered.
NOWHERE = Endpoint(host="127.0.0.1", port=1)
#: What means something to one tool or another, and reaches the service as it stands.
AWKWARD = '{"s":"${__time()} ${x} $5 \\\\, \\$ \\" %s <&> é ]] ]]> \\n"}\n\t1'
ANSWERS = {
    "/500": b'{"error":"internal"}', "/wrong": b'{"v":"hello"}',
    "/turned": b'{ "list":[1,2],\n"v":1.5 }', "/not-turned": b'{ "list":[2,1],\n"v":1.5 }',
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Answers in one segment, and says nothing on stderr. Subclasses have ``respond``."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body in one segment

    def respond(self) -> None:
        """Answer a request, of whichever method."""
        raise NotImplementedError("the subclass says what is answered")

    def do_GET(self) -> None:
        self.respond()

    def do_POST(self) -> None:
        self.respond()

    def body(self) -> bytes:
        """Read the body of a request."""
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def answer(self, status: int, body: bytes) -> None:
        """Send an answer of JSON."""
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A server at an address of this machine; port 0: a free one. ``lock``: for what its threads count."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, handler: type[Handler], address: str = "127.0.0.1", port: int = 0) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), handler)
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed resets its connections: no trace of that in the tests' output."""

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(host=str(self.server_address[0]), port=self.server_address[1])


AServer = TypeVar("AServer", bound=Server)


@contextmanager
def serving(server: AServer) -> Iterator[AServer]:
    """Run a server for the time of a test."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=patient(10))


class _Counting(Handler):
    server: AnsweringServer

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.n_connections += 1

    def respond(self) -> None:
        body = self.body()
        with self.server.lock:
            self.server.seen[self.path] += 1
            self.server.bodies[body] += 1
            self.server.hosts[self.headers.get("Host", "")] += 1
            self.server.types[self.headers.get("Content-Type", "")] += 1
        if self.server.delay_s:
            time.sleep(self.server.delay_s)
        self.answer(500 if self.path == "/500" else 200, ANSWERS.get(self.path, RIGHT))


class AnsweringServer(Server):
    """Answers after ``delay_s``, and counts what arrives."""

    def __init__(self, delay_s: float, address: str) -> None:
        super().__init__(_Counting, address)
        self.delay_s, self.n_connections = delay_s, 0
        self.seen: Counter[str] = Counter()
        self.bodies: Counter[bytes] = Counter()
        self.types: Counter[str] = Counter()
        self.hosts: Counter[str] = Counter()


def answering_server(
    *, delay_s: float = 0.0, address: str = "127.0.0.1"
) -> AbstractContextManager[AnsweringServer]:
    """Answers POST after ``delay_s``: as ``ANSWERS`` has it, ``/500`` with 500, anything else rightly."""
    return serving(AnsweringServer(delay_s, address))


def request_to(
    path: str, *, weight: int = 1, body: str = '{"s":"hello"}', name: str | None = None
) -> Request:
    """A request whose right answer is that of any path but /500 and /wrong."""
    line = {
        "mix": "test", "name": name or path.strip("/"), "weight": weight, "method": "POST", "path": path,
        "headers": {"Content-Type": "application/json"}, "body": body,
        "expect": {"status": 200, "json": {"v": "HELLO"}},
    }  # fmt: skip
    return Request.model_validate_json(json.dumps(line))


def order_of(
    folder: Path, profile: LoadProfile, *requests: Request, endpoint: Endpoint = NOWHERE, seed: int = 0
) -> LoadSpec:
    """Order a load of ``requests`` (one to ``/right``) whose files go to ``folder``."""
    asked = requests or (request_to("/right"),)
    return LoadSpec(profile=profile, requests=asked, endpoint=endpoint, folder=folder, seed=seed)
