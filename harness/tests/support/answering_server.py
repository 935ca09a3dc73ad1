# SPDX-License-Identifier: Apache-2.0
"""A small real HTTP server for tests of load generators: it counts what arrives."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from harness.loadgen.base import LoadSpec
from harness.model import LoadProfile, Request
from harness.model.endpoint import Endpoint
from harness.tests.support.patience import patient

RIGHT = b'{"v":"HELLO"}'
#: Nobody listens here: for orders that are never offered.
NOWHERE = Endpoint(host="127.0.0.1", port=1)
#: What means something to one tool or another, and reaches the service as it stands.
AWKWARD = '{"s":"${__time()} ${x} $5 \\\\, \\$ \\" %s <&> é ]] ]]> \\n"}\n\t1'
ANSWERS = {
    "/500": b'{"error":"internal"}', "/wrong": b'{"v":"hello"}',
    "/turned": b'{ "list":[1,2],\n"v":1.5 }', "/not-turned": b'{ "list":[2,1],\n"v":1.5 }',
}  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body in one segment
    server: _Counting

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.n_connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        with self.server.lock:
            self.server.seen[self.path] += 1
            self.server.bodies[body] += 1
            self.server.hosts[self.headers.get("Host", "")] += 1
            self.server.types[self.headers.get("Content-Type", "")] += 1
        if self.server.delay_s:
            time.sleep(self.server.delay_s)
        status = 500 if self.path == "/500" else 200
        answer = ANSWERS.get(self.path, RIGHT)
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.wfile.flush()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class _Counting(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, delay_s: float = 0.0, address: str = "127.0.0.1") -> None:
        self.delay_s = delay_s
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 0), _Handler)
        self.lock = threading.Lock()
        self.seen: Counter[str] = Counter()
        self.bodies: Counter[bytes] = Counter()
        self.types: Counter[str] = Counter()
        self.hosts: Counter[str] = Counter()
        self.n_connections = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A generator that was killed resets its connections: no trace of that in the tests' output."""

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(host=str(self.server_address[0]), port=self.server_address[1])


@contextmanager
def answering_server(*, delay_s: float = 0.0, address: str = "127.0.0.1") -> Iterator[_Counting]:
    """Answers POST after ``delay_s``: as ``ANSWERS`` has it, ``/500`` with 500, anything else rightly."""
    server = _Counting(delay_s, address)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=patient(10))


AnsweringServer = _Counting


def request_to(
    path: str, *, weight: int = 1, body: str = '{"s":"hello"}', name: str | None = None
) -> Request:
    """A request whose right answer is that of any path but /500 and /wrong."""
    line = {
        "mix": "test",
        "name": name or path.strip("/"),
        "weight": weight,
        "method": "POST",
        "path": path,
        "headers": {"Content-Type": "application/json"},
        "body": body,
        "expect": {"status": 200, "json": {"v": "HELLO"}},
    }
    return Request.model_validate_json(json.dumps(line))


def order_of(
    folder: Path, profile: LoadProfile, *requests: Request, endpoint: Endpoint = NOWHERE, seed: int = 0
) -> LoadSpec:
    """Order a load of ``requests`` (one to ``/right``) whose files go to ``folder``."""
    asked = requests or (request_to("/right"),)
    return LoadSpec(profile=profile, requests=asked, endpoint=endpoint, folder=folder, seed=seed)
