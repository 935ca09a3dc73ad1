# SPDX-License-Identifier: Apache-2.0
"""A load far below what any service can do: one connection, one question every so often."""

from __future__ import annotations

import http.client
import threading
import time


class SteadyRate(threading.Thread):
    """Asks every so often; a question that is late is asked at once."""

    def __init__(self, port: int, rate_per_s: float) -> None:
        super().__init__(name="steady-rate", daemon=True)
        self._port, self._every_s = port, 1 / rate_per_s
        self._over = threading.Event()
        self._n, self._lasted_s = 0, 0.0

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5.0)
        began = time.monotonic()
        while not self._over.wait(max(0.0, began + self._n * self._every_s - time.monotonic())):
            connection.request("GET", "/")
            connection.getresponse().read()
            self._n += 1
        self._lasted_s = time.monotonic() - began
        connection.close()

    def stop(self) -> None:
        self._over.set()
        self.join()

    def rate_per_s(self) -> float:
        return self._n / self._lasted_s if self._lasted_s else 0.0
