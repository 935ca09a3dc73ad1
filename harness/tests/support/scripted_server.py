# SPDX-License-Identifier: Apache-2.0
"""A real TCP server that answers each connection with bytes written down beforehand."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Iterator, Sequence

from harness.model import Endpoint
from harness.tests.support.available import patient

#: In a script: close at once; close with a reset; read only the head before what follows.
CLOSE, RESET, HEAD_ONLY = b"<close>", b"<reset>", b"<head only>"


@contextlib.contextmanager
def scripted(*connections: Sequence[bytes]) -> Iterator[tuple[Endpoint, list[bytes]]]:
    """Serve the scripts, one a connection and one entry a request; yield the endpoint and what was received."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, connections, received), daemon=True)
        thread.start()
        try:
            yield Endpoint(host="127.0.0.1", port=listener.getsockname()[1]), received
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for a further connection
    thread.join(patient(10))


def _serve(listener: socket.socket, connections: Sequence[Sequence[bytes]], received: list[bytes]) -> None:
    for script in connections:
        try:
            connection, _ = listener.accept()
        except OSError:  # the test is over
            return
        with connection, contextlib.suppress(OSError):
            connection.settimeout(patient(5))
            _play(connection, script, received)


def _play(connection: socket.socket, script: Sequence[bytes], received: list[bytes]) -> None:
    head_only = HEAD_ONLY in script
    for entry in (step for step in script if step != HEAD_ONLY):
        if entry == CLOSE:
            return
        received.append(_read_request(connection, head_only))
        if entry == RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        for part in entry.split(b"<pause>"):
            connection.sendall(part)
    if not head_only:
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


def _read_request(connection: socket.socket, head_only: bool) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 if head_only else 65536)
        if not more:
            raise ConnectionError("the other side left")
        data += more
    length = re.search(rb"(?i)content-length: (\d+)", data)
    wanted = data.index(b"\r\n\r\n") + 4 + (int(length.group(1)) if length else 0)
    while not head_only and len(data) < wanted:
        data += connection.recv(65536)
    return data
