# SPDX-License-Identifier: Apache-2.0
"""A free port, chosen where the kernel gives none out: load generators connect from thousands of ports of its range.

Two sessions that look at the same moment could be given the same port, and the load of one would go to the service of
the other: so each port is leased, and another process of this project takes a different one.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import random
import socket
from collections import deque
from pathlib import Path

from harness.errors import HostError

LOWEST = 20000
#: The latest leases of a process: the ports of those before them are in use, or not wanted.
KEPT_LEASES = 8
#: Below are ports of well-known services.
LEAST = 10_240
CHOSEN_BY_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")

_leases: deque[socket.socket] = deque()


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port that can be bound now, and that no other process of this project was given lately.

    Raises HostError: none of many was free.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    highest = (chosen_by_system(CHOSEN_BY_SYSTEM) or (32768, 60999))[0] - 1
    chooser = random.SystemRandom()
    candidates = [chooser.randint(LOWEST, highest) for _ in range(50)] if highest > LOWEST + 1000 else []
    for port in (*candidates, 0):  # 0: whatever the kernel gives
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
            result = int(probe.getsockname()[1])
            if lease(result):
                return result
    raise HostError(f"no free port on {address}; close what uses them (ss -ltn lists it)")


def lease(port: int) -> bool:
    """Lease a port; ``False``: it is leased already. The lease is a socket with a name in Linux' abstract namespace,
    which goes with the process; where there is none, nothing is leased."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        held.bind(f"\0rematch-port-{port}")
    except OSError as error:
        held.close()
        return error.errno != errno.EADDRINUSE
    _leases.append(held)
    with contextlib.suppress(IndexError):  # another thread may have ended the oldest one meanwhile
        if len(_leases) > KEPT_LEASES:
            _leases.popleft().close()
    return True


def chosen_by_system(file: Path) -> tuple[int, int] | None:
    """Return the first and the last port that the system gives out, as a file has them; ``None``: there is none."""
    try:
        low, high = map(int, file.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return None
    return low, high


def outside_port() -> int:
    """Return a port outside of the system's range; 0: there is none. Linux remembers for ten seconds (conntrack) a
    connection that was refused because kube-proxy did not know the service yet, and refuses others from the same port;
    loads connect from the system's ports, so early requests must not."""
    ports = outside(CHOSEN_BY_SYSTEM)
    return random.choice(ports) if ports else 0


@functools.lru_cache(maxsize=1)
def outside(chosen: Path) -> range:
    """Return the ports below the range that the file names, or those above it where there are more."""
    limits = chosen_by_system(chosen)
    if limits is None:
        return range(0)
    below, above = range(LEAST, max(limits[0], LEAST)), range(limits[1] + 1, 65_536)
    return below if len(below) >= len(above) else above
