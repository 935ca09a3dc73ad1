# SPDX-License-Identifier: Apache-2.0
"""The project's Go services as the parties of verifications with real processes."""

from __future__ import annotations

import http.client
import sys
import threading
import time
from pathlib import Path

from harness.errors import RematchError
from harness.hosts.base import Command
from harness.hosts.local import LocalHost
from harness.project import find_root
from harness.toolchains import Surroundings, Tool, build_environment, find_go

_READY_WITHIN_S = 30.0


def build_go_service(source: str, target: Path, go: Tool, around: Surroundings) -> None:
    """Build ``services/<source>`` into a file, with the flags of its own build: Go compiles libraries for each set.

    Raises:
        RematchError: it does not build.
    """
    command = (str(go.require()), "build", "-trimpath", "-tags", "netgo,osusergo", "-o", str(target), ".")
    folder = find_root() / "services" / source
    build = Command(argv=command, folder=folder, environment=build_environment(around))
    done = LocalHost().run(build, timeout_s=300.0)
    if done.exit_code != 0:
        raise RematchError(
            f"services/{source}: go build ended with {done.exit_code}: {done.stderr.strip()[:300]}"
        )


def echo_service(folder: Path, port: int) -> tuple[str, tuple[str, ...]]:
    """Return the name of a service that answers at once, and how to start it.

    It is the echo service in Go, built into ``folder``, where Go is; otherwise Python's own HTTP server.
    """
    around = Surroundings(project=find_root())
    go = find_go(around)
    if not go.usable:
        server = ("-m", "http.server", "--bind", "127.0.0.1", "--protocol", "HTTP/1.1", str(port))
        return "Python's http.server", (sys.executable, *server)
    target = folder / "service"
    build_go_service("echo/go-raw", target, go, around)
    return "go-raw", (str(target), "--host", "127.0.0.1", "--port", str(port))


def wait_until_ready(port: int, path: str, name: str) -> None:
    """Ask a service of this machine until it answers.

    Raises:
        RematchError: it does not within half a minute.
    """
    until = time.monotonic() + _READY_WITHIN_S
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2.0)
        try:
            connection.request("GET", path)
            if connection.getresponse().status < 500:
                return
        except OSError as error:
            if time.monotonic() > until:
                raise RematchError(f"{name} does not answer on port {port}: {error}") from error
        finally:
            connection.close()
        time.sleep(0.05)


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
