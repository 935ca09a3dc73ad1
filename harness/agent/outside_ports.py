# SPDX-License-Identifier: Apache-2.0
"""Ports that the system does not choose by itself, to ask an address that may not lead anywhere yet.

Linux remembers each connection by its addresses and ports, with or without a translation of addresses (conntrack).
One that was refused because kube-proxy did not know the service yet is remembered untranslated, for ten seconds
(``nf_conntrack_tcp_timeout_close``). Whoever connects from the same port meanwhile is refused as well, though the
service is there by now. Loads connect from ports of the system's choice, so who asks early must not.
"""

from __future__ import annotations

import errno
import functools
import random
import socket
from pathlib import Path

CHOSEN_BY_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Below are ports of well-known services.
LEAST = 10_240
_TRIES = 20


def bind_outside(opened: socket.socket) -> None:
    """Give a socket a port outside of the system's range, or leave it without one where there is no other."""
    ports = outside(CHOSEN_BY_SYSTEM)
    for source in random.sample(ports, min(_TRIES, len(ports))):
        try:
            opened.bind(("", source))
        except OSError as problem:
            if problem.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
        else:
            return


@functools.cache
def outside(chosen: Path) -> range:
    """Return the ports below the range that the file names, or those above it where there are more."""
    try:
        low, high = map(int, chosen.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return range(0)
    below, above = range(LEAST, max(low, LEAST)), range(high + 1, 65_536)
    return below if len(below) >= len(above) else above
