# SPDX-License-Identifier: Apache-2.0
"""Very many connections from one thread: all are open before the first of them asks."""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import time
from collections.abc import Iterator

from harness.loadgen.base import Endpoint

#: How many may be on their way at once: fewer than a listener lets wait, so that none is sent twice.
AT_ONCE = 64
_WITHIN_S = 60.0


@contextlib.contextmanager
def connections(endpoint: Endpoint, n: int) -> Iterator[list[socket.socket]]:
    """Yield ``n`` connections, all open at the same time; they are closed afterwards."""
    opened: list[socket.socket] = []
    try:
        with selectors.DefaultSelector() as waiting:
            deadline = time.monotonic() + _WITHIN_S
            connected = 0
            while connected < n:
                while len(opened) < n and len(waiting.get_map()) < AT_ONCE:
                    opened.append(_connecting(endpoint))
                    waiting.register(opened[-1], selectors.EVENT_WRITE)
                for key, _ in waiting.select(1.0):
                    one = key.fileobj
                    assert isinstance(one, socket.socket)
                    problem = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    assert problem == 0, f"connection {connected + 1}: {errno.errorcode[problem]}"
                    waiting.unregister(one)
                    connected += 1
                assert time.monotonic() < deadline, f"{connected} of {n} connections came to be"
        yield opened
    finally:
        for one in opened:
            one.close()


def ask_all(opened: list[socket.socket], request: bytes) -> dict[bytes, int]:
    """Send the request over every connection, then read an answer from each; return status line -> how often."""
    for one in opened:
        one.setblocking(True)
        one.settimeout(_WITHIN_S)
        one.sendall(request)
    counts: dict[bytes, int] = {}
    for one in opened:
        answer = b""
        while b"\r\n" not in answer:
            more = one.recv(4096)
            answer += more or b"closed\r\n"
        status = answer.partition(b"\r\n")[0]
        counts[status] = counts.get(status, 0) + 1
    return counts


def _connecting(endpoint: Endpoint) -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    one.setblocking(False)
    one.connect_ex((endpoint.host, endpoint.port))
    return one
