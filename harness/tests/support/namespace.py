# SPDX-License-Identifier: Apache-2.0
"""A second address with a link that can be cut: a network namespace and a pair of virtual Ethernet devices."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil

from harness.tests.support.available import not_run
from harness.tests.support.instances import eventually


@dataclass
class Namespace:
    """``near`` is our end of the link, ``far`` the other one. Only the network is apart: processes are seen."""

    #: Of two consecutive numbers the second is for another network of the same process.
    number: int = field(default_factory=lambda: 2 * os.getpid() % 16000)

    @property
    def name(self) -> str:
        return f"rematch-{self.number}"

    @property
    def file(self) -> str:
        """What a process opens to enter it."""
        return f"/run/netns/{self.name}"

    @property
    def prefix(self) -> tuple[str, ...]:
        # not ``ip netns exec``: that mounts a /sys of its own, without the control groups
        return ("nsenter", f"--net={self.file}")

    @property
    def near(self) -> str:
        return self._address(1)

    @property
    def far(self) -> str:
        return self._address(2)

    def make(self) -> None:
        here, there = f"rm-{self.number}", f"rmf-{self.number}"
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", self.name)
        _ip("addr", "add", f"{self.near}/30", "dev", here)
        _ip("-n", self.name, "addr", "add", f"{self.far}/30", "dev", there)
        _ip("-n", self.name, "link", "set", "lo", "up")
        _ip("-n", self.name, "link", "set", there, "up")
        self.join()

    def cut(self) -> None:
        """As if the cable were pulled: nobody is told, packets just do not arrive."""
        _ip("link", "set", f"rm-{self.number}", "down")

    def join(self) -> None:
        _ip("link", "set", f"rm-{self.number}", "up")

    def remove(self) -> None:
        """Remove both ends of the link first: a process that lingers inside would keep them."""
        subprocess.run(["ip", "link", "del", f"rm-{self.number}"], check=False, capture_output=True)
        _ip("netns", "del", self.name)

    def _address(self, last: int) -> str:
        block = self.number * 4
        return f"10.203.{block // 256}.{block % 256 + last}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def tidy_namespace(number: int | None = None) -> Iterator[Namespace]:
    """Yield a namespace, or say that the test was not run. The body of a fixture."""
    if shutil.which("ip") is None:
        not_run("cutting a link needs ip (apt-get install -y iproute2)")
    made = Namespace() if number is None else Namespace(number=number % 16000)
    try:
        _ip("netns", "add", made.name)
    except subprocess.CalledProcessError as problem:  # being root is not enough in a container
        not_run(f"cutting a link needs root, for a network namespace: {problem.stderr.decode().strip()}")
    try:
        made.make()
        yield made
        eventually(lambda: not inside(made), 60)
        said = []
        for process in inside(made):
            with contextlib.suppress(psutil.NoSuchProcess):
                said.append(" ".join(process.cmdline()))
                process.kill()
        assert said == []
    finally:
        made.remove()


def inside(namespace: Namespace) -> list[psutil.Process]:
    """The processes whose network this is."""
    network = os.stat(namespace.file).st_ino
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{process.pid}/ns/net").st_ino == network:
                found.append(process)
    return found
