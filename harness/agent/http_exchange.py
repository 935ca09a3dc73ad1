# SPDX-License-Identifier: Apache-2.0
"""One HTTP/1.1 exchange at a time over one keep-alive connection.

A client library would normalise what conformance has to see, and its cost would stand in every time to first response.
Request bytes are prepared once and sent as they are.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from harness.agent.ports import outside_port
from harness.agent.processes import alive

MAX_HEAD = 65536
#: No service here answers with a hundredth of that; one that answers without end is not kept in memory.
MAX_ANSWER = 64 << 20


class Endpoint(Protocol):
    """An address on which a service listens."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


class ExchangeError(Exception):
    """The connection ended, or what came over it is not an HTTP/1.1 answer."""


class ConnectionEnded(ExchangeError):
    """Closed or reset before an answer was complete; ``got`` bytes of it had come."""

    def __init__(self, got: int) -> None:
        self.got = got
        super().__init__(f"connection ended after {got} bytes of the answer")


@dataclass(frozen=True)
class Answer:
    """A complete answer. Header names are in lower case; of repeated headers the last one counts."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    received_monotonic_s: float

    @property
    def content(self) -> bytes:
        """The body without ``gzip`` or ``deflate`` around it; one that cannot be unpacked stays as it came."""
        if self.headers.get("content-encoding", "") not in ("gzip", "deflate"):
            return self.body
        try:
            return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(self.body, MAX_ANSWER)
        except zlib.error:
            return self.body


def request_bytes(
    method: str, path: str, headers: Mapping[str, str], body: bytes | None, endpoint: Endpoint
) -> bytes:
    """Return the bytes of one request; ``Host`` and ``Content-Length`` are added unless they are given."""
    given = {name.lower() for name in headers}
    lines = [f"{method} {path} HTTP/1.1"]
    if "host" not in given:
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        lines.append(f"Host: {host}:{endpoint.port}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None and "content-length" not in given and "transfer-encoding" not in given:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


class Connection:
    """A keep-alive connection that is opened when needed and opened anew after it was closed. ``timeout_s`` holds for
    each wait for bytes, from the next opening on. ``from_outside``: it comes from a port that no load comes from."""

    def __init__(self, endpoint: Endpoint, timeout_s: float = 10.0, *, from_outside: bool = False) -> None:
        self._endpoint, self.timeout_s, self._from_outside = endpoint, timeout_s, from_outside
        self._socket: socket.socket | None = None
        self._stream: io.BufferedReader | None = None
        self._got = 0
        self.n_opened = 0

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Connect unless connected. Raises OSError: refused, or no answer in time."""
        if self._socket is not None:
            return
        address = (self._endpoint.host, self._endpoint.port)
        source = ("", outside_port()) if self._from_outside else None
        opened = socket.create_connection(address, self.timeout_s, source)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if getattr(self._endpoint, "scheme", "http") == "https":
                # whose certificate is its own: it was started here, and proves nothing
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                opened = context.wrap_socket(opened)
        except BaseException:
            opened.close()
            raise
        self._socket, self._stream = opened, opened.makefile("rb")
        self.n_opened += 1

    def close(self) -> None:
        if self._socket is not None and self._stream is not None:
            self._stream.close()
            self._socket.close()
            self._socket = self._stream = None

    def exchange(self, request: bytes, *, head_only: bool = False) -> Answer:
        """Send one request and return its answer. A connection that the service closed since the last answer is
        opened anew, once. Raises ExchangeError: closed in the middle, or no HTTP answer; OSError: refused, or nothing
        within the time limit."""
        used = self._socket is not None
        try:
            return self._exchange(request, head_only)
        except ConnectionEnded as ended:
            if not used or ended.got:
                raise
            return self._exchange(request, head_only)

    def _exchange(self, request: bytes, head_only: bool) -> Answer:
        self.open()
        assert self._socket is not None
        self._got = 0
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                # refused half-way (413): the answer may stand in our buffer all the same
                self._socket.sendall(request)
            answer, keep = self._receive(head_only)
        except (ConnectionResetError, BrokenPipeError) as problem:
            self.close()
            raise ConnectionEnded(self._got) from problem
        except BaseException:
            self.close()
            raise
        if not keep:
            self.close()
        return answer

    def _receive(self, head_only: bool) -> tuple[Answer, bool]:
        status = 100
        while status < 200 and status != 101:
            status, version, headers = self._head()
        keep = headers.get("connection", "").lower() != "close" and version != "HTTP/1.0"
        if head_only or status in (204, 304):
            body = b""
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            body = self._chunks()
        elif "content-length" in headers:
            body = self._bytes(_number(headers["content-length"], 10))
        else:
            body, keep = self._bytes(None), False
        return Answer(status, headers, body, received_monotonic_s=time.monotonic()), keep

    def _head(self) -> tuple[int, str, dict[str, str]]:
        first, headers, size = self._line(), dict[str, str](), 0
        version, _, rest = first.partition(" ")
        code = rest.partition(" ")[0]
        if not version.startswith("HTTP/1.") or not code.isdigit():
            raise ExchangeError(f"not an HTTP/1.1 answer: {first[:60]!r}")
        while line := self._line():
            size += len(line)
            if size > MAX_HEAD:
                raise ExchangeError(f"no end of the headers within {MAX_HEAD} bytes")
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return int(code), version, headers

    def _chunks(self) -> bytes:
        body = b""
        while size := _number(self._line().partition(";")[0], 16):
            body += self._bytes(size, len(body))
            self._line()
        while self._line():  # trailers are passed over
            pass
        return body

    def _line(self) -> str:
        assert self._stream is not None
        line = self._stream.readline(MAX_HEAD)
        self._got += len(line)
        if not line.endswith(b"\n"):
            if len(line) == MAX_HEAD:
                raise ExchangeError(f"no end of the headers within {MAX_HEAD} bytes")
            raise ConnectionEnded(self._got)
        return line.decode("latin-1").rstrip("\r\n")

    def _bytes(self, size: int | None, before: int = 0) -> bytes:
        """Return so many bytes of a body of which ``before`` have come; ``None``: all until it is closed."""
        assert self._stream is not None
        room = MAX_ANSWER - before
        data = self._stream.read(room + 1 if size is None else min(size, room))
        if max(size or 0, len(data)) > room:
            raise ExchangeError(f"the answer has more than {MAX_ANSWER} bytes")
        self._got += len(data)
        if size is not None and len(data) < size:
            raise ConnectionEnded(self._got)
        return data


def _number(text: str, base: int) -> int:
    try:
        if (number := int(text, base)) >= 0:
            return number
    except ValueError:
        pass
    raise ExchangeError(f"not a length: {text[:40]!r}")


#: Pause between two refused connections: a hundredth of the time since launch, within these bounds. A service that is
#: up in 5 ms is then timed to a few percent, one that takes a second to a thousandth, for 6 % of one core.
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.0001, 0.001

#: A service may say "not yet" with this while it starts; every other wrong answer is final.
NOT_YET = 503


@dataclass(frozen=True)
class FirstAnswer:
    """The first final answer; where the time was over, the last "not yet"; ``None``: neither came."""

    answer: Answer | None
    waited_s: float
    polls: int
    gone: bool

    @property
    def ready(self) -> bool:
        """Whether the answer is final."""
        return self.answer is not None and self.answer.status != NOT_YET


def poll_first_answer(
    endpoint: Endpoint,
    request: bytes,
    *,
    launched_monotonic_s: float,
    deadline_s: float,
    gone: Callable[[], bool],
    from_outside: bool = False,
) -> FirstAnswer:
    """Poll until the first answer that is no "not yet", where the service starts: the time has one clock and no
    network in it. ``waited_s`` and ``deadline_s`` count from launch. ``from_outside``: a refusal is remembered on the
    way, and must not meet who connects later."""
    connection = Connection(endpoint, from_outside=from_outside)
    polls, answer = 0, None
    while True:
        waited_s = time.monotonic() - launched_monotonic_s
        if waited_s >= deadline_s:
            return FirstAnswer(answer, waited_s, polls, gone=False)
        polls += 1
        connection.timeout_s = deadline_s - waited_s
        # not listening yet, or listening but not yet answering
        with contextlib.suppress(ExchangeError, OSError), connection:
            answer = connection.exchange(request)
        if answer is not None and answer.status != NOT_YET:
            return FirstAnswer(answer, answer.received_monotonic_s - launched_monotonic_s, polls, gone=False)
        waited_s = time.monotonic() - launched_monotonic_s
        if gone():
            return FirstAnswer(None, waited_s, polls, gone=True)
        time.sleep(min(LONGEST_PAUSE_S, max(SHORTEST_PAUSE_S, waited_s / 100)))


def gone_check(pid: int, start_ticks: int) -> Callable[[], bool]:
    """Return a question, cheap enough to be asked between two polls: has this process ended?"""

    def gone() -> bool:
        try:  # a child of ours: one call of the kernel, and it stays for its parent to be waited for
            return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except (ChildProcessError, AttributeError):  # macOS has no such call
            return not alive(pid, start_ticks)

    return gone
