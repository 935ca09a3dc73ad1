# SPDX-License-Identifier: Apache-2.0
"""Very many connections from one thread: each asks once when it is open, and all stay open until the end."""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterator

from harness.model.endpoint import Endpoint
from harness.tests.support.patience import patient

#: How many may be without their answer at once: fewer than a listener lets wait, so that none is sent twice.
AT_ONCE = 64
WITHIN_S = patient(120.0)


@contextlib.contextmanager
def connections(endpoint: Endpoint, n: int, request: bytes) -> Iterator[Counter[bytes]]:
    """Yield how often each status was answered, while ``n`` connections are open at the same time."""
    opened: list[socket.socket] = []
    statuses: Counter[bytes] = Counter()
    deadline = time.monotonic() + WITHIN_S
    try:
        with selectors.DefaultSelector() as waiting:
            while statuses.total() < n:
                while len(opened) < n and len(waiting.get_map()) < AT_ONCE:
                    opened.append(_connecting(endpoint))
                    waiting.register(opened[-1], selectors.EVENT_WRITE)
                for key, events in waiting.select(1.0):
                    one = key.fileobj
                    assert isinstance(one, socket.socket)
                    if events & selectors.EVENT_WRITE:
                        problem = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                        assert problem == 0, f"connection {len(opened)}: {errno.errorcode[problem]}"
                        one.sendall(request)
                        waiting.modify(one, selectors.EVENT_READ)
                    else:
                        statuses[_status(one)] += 1
                        waiting.unregister(one)
                assert time.monotonic() < deadline, f"{statuses.total()} of {n} connections were answered"
        yield statuses
    finally:
        for one in opened:
            one.close()


def _status(one: socket.socket) -> bytes:
    words = one.recv(4096).split(b" ", 2)
    return words[1] if len(words) > 1 else b"closed"


def _connecting(endpoint: Endpoint) -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    one.setblocking(False)
    one.connect_ex((endpoint.host, endpoint.port))
    return one
