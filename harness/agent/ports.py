# SPDX-License-Identifier: Apache-2.0
"""A port nobody uses, chosen where the kernel itself gives none out.

Load generators open thousands of connections, each from a port of the kernel's own range;
a service on a port of that range could find it taken between our look and its start.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

from harness.errors import HostError

LOWEST = 20000
RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port that can be bound right now.

    Raises:
        HostError: none of many was free.
    """
    highest = _first_of_kernel() - 1
    chooser = random.SystemRandom()
    candidates = [chooser.randint(LOWEST, highest) for _ in range(50)] if highest > LOWEST + 1000 else []
    for port in (*candidates, 0):  # 0: whatever the kernel gives
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise HostError(f"no free port on {address}; close what uses them (ss -ltn lists it)")


def _first_of_kernel() -> int:
    try:
        return int(RANGE_FILE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 32768
