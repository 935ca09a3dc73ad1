# SPDX-License-Identifier: Apache-2.0
"""A TCP relay on loopback that passes bytes on after a delay."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Relay:
    """Listens on 127.0.0.1 and connects to ``target``; ``delay_s`` holds from the moment it is set."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self.delay_s = 0.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for a connection
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        with contextlib.suppress(OSError), near, socket.create_connection(self._target, timeout=30) as far:
            far.settimeout(None)
            back = threading.Thread(target=self._pass_on, args=(far, near), daemon=True)
            back.start()
            self._pass_on(near, far)
            back.join()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        """Each piece waits for itself, so a delay also limits how much passes: as a slow link does."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                time.sleep(self.delay_s)
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
