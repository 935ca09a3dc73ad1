# SPDX-License-Identifier: Apache-2.0
"""Bodies of a megabyte: sent to a service as a caller may send them, and answered to it by an upstream."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http.client import HTTPResponse

from harness.model.endpoint import Endpoint
from harness.tests.support.answering_server import Handler, Server, serving
from harness.tests.support.patience import patient

SIZE_BYTES = 2**20
CHUNK_BYTES = 16_384
WITHIN_S = patient(30.0)

RIGHT = {
    "phones": b'[{"ddd":11,"number":900000000}]',
    "address": b'{"street":"s","number":42,"state":"CA","country":"USA"}',
}


def filled(before: str, after: str) -> bytes:
    """One long text between the two, so that the whole has ``SIZE_BYTES``."""
    return (before + "x" * (SIZE_BYTES - len(before) - len(after)) + after).encode()


#: Nothing is wrong with this transfer but its size: ``id`` may be anything and is ignored.
TRANSFER = filled('{"id":"', '","from_client_id":1,"to_client_id":2,"amount":1}')
#: No text in any encoding, and the same each time.
GARBAGE = random.Random(4).randbytes(SIZE_BYTES)
#: What an upstream may answer: right but for its size, as other keys are ignored; and nothing at all.
ANSWERS = {
    "phones": filled('[{"more":"', '","ddd":11,"number":900000000}]'),
    "address": filled('{"street":"', '","number":42,"state":"CA","country":"USA"}'),
}


@dataclass(frozen=True, kw_only=True)
class Said:
    """What came back."""

    status: int
    content_type: str
    body: bytes


def ask(
    endpoint: Endpoint, method: str, path: str, body: bytes | None = None, *, chunked: bool = False
) -> Said:
    """Send one request on a connection of its own, and stop sending when the answer is there."""
    with socket.create_connection((endpoint.host, endpoint.port), WITHIN_S) as connection:
        sending = threading.Thread(target=_send, args=(connection, _request(method, path, body, chunked)))
        sending.start()
        try:
            answer = HTTPResponse(connection, method=method)
            answer.begin()
            said = answer.read()
            return Said(status=answer.status, content_type=answer.headers["Content-Type"], body=said)
        finally:
            with contextlib.suppress(OSError):  # the service closed it first
                connection.shutdown(socket.SHUT_RDWR)
            sending.join()


def _send(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more: the answer says why
        connection.sendall(data)


def _request(method: str, path: str, body: bytes | None, chunked: bool) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: there\r\n"
    if body is None:
        return f"{head}\r\n".encode()
    if chunked:
        return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + in_chunks(body)
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def in_chunks(body: bytes) -> bytes:
    parts = (body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def sockets(pid: int) -> int:
    """How many sockets a process has; other descriptors come and go with the classes it loads."""
    found = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
    return found


def peak_bytes(pid: int) -> int:
    """The most resident memory that a process ever had."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


class _Answering(Handler):
    server: AnUpstream

    def setup(self) -> None:
        super().setup()
        self.server.count(1)

    def finish(self) -> None:
        self.server.count(-1)
        with contextlib.suppress(OSError):  # the service closed it in the middle of an answer
            super().finish()

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        body = self.server.wrong.get(kind, RIGHT[kind])
        endless = self.server.endless and kind in self.server.wrong
        if not (self.server.chunked or endless):
            self.answer(200, body)
            return
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while endless:  # until nobody takes it any more
            self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))
        self.wfile.write(in_chunks(body))


class AnUpstream(Server):
    """The upstream API, which answers rightly unless ``wrong`` has a body for that kind of question.

    ``endless``: that body comes again and again in one answer.
    """

    def __init__(self) -> None:
        super().__init__(_Answering)
        self.wrong: dict[str, bytes] = {}
        self.chunked = self.endless = False
        self.n_open = 0

    def count(self, more: int) -> None:
        with self.lock:
            self.n_open += more

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


def an_upstream() -> AbstractContextManager[AnUpstream]:
    return serving(AnUpstream())
