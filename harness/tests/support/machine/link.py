# SPDX-License-Identifier: Apache-2.0
"""A second address with a link that can be cut: a network namespace and a pair of virtual Ethernet devices."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field


def why_not() -> str | None:
    """Why there can be no namespace here, or ``None``: being root is not enough in a container."""
    if shutil.which("ip") is None:
        return "cutting a link needs ip (apt-get install -y iproute2)"
    name = f"try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if made.returncode != 0:
        return f"cutting a link needs root, for a network namespace: {made.stderr.decode().strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


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
        _ip("netns", "add", self.name)
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
    subprocess.run(["ip", *words], check=True)
