# SPDX-License-Identifier: Apache-2.0
"""Where the processes of a tool's own distribution meet, before any of them is started.

On one load host they meet on its loopback, and nobody else can reach them. On several each has the address at
which the others reach it (``service_address`` of ``hosts.toml``), and a port that is free there now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import UnsupportedLoad
from harness.hosts.measuring import MeasuringHost
from harness.loadgen.base import LoadGenerator
from harness.loadgen.distribution import Distribution, Seats, distribution_of
from harness.model import Load
from harness.model.endpoint import Endpoint

#: What a machine calls itself and no other can use.
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """One load's distribution, its seats, and what every process of it is given and nobody keeps."""

    distribution: Distribution
    seats: Seats
    secrets: dict[str, bytes]


def convene(load: Load, generator: LoadGenerator, hosts: Sequence[MeasuringHost]) -> Meeting | None:
    """Return where the load's generators meet; the coordinator is on the first host. ``None``: they do not.

    ``hosts``: of the load, each once; members take turns in going there, as generators do.

    Raises:
        UnsupportedLoad: the tool has no distribution, or hosts cannot reach each other.
        HostError: no port is free.
    """
    if load.coordination == "independent":
        return None
    distribution = distribution_of(generator)
    places = list(zip(hosts, meeting_addresses(hosts), strict=True))
    seats: list[Endpoint] = []
    for host, address in [places[0], *places * load.processes]:
        seat = Endpoint(host=address, port=host.free_port(address))
        while seat in seats:  # free for the one before, too
            seat = Endpoint(host=address, port=host.free_port(address))
        seats.append(seat)
    return Meeting(
        distribution=distribution,
        seats=Seats(coordinator=seats[0], members=tuple(seats[1:])),
        secrets=distribution.secrets(),
    )


def meeting_addresses(hosts: Sequence[MeasuringHost]) -> tuple[str, ...]:
    """Return where the processes on each host listen: on loopback when there is no other host.

    Raises:
        UnsupportedLoad: one of several hosts has no address for the others.
    """
    if len(hosts) == 1:
        return (LOOPBACK[0],)
    for host in hosts:
        address = host.listen_address
        if address in LOOPBACK or ":" in address:
            names = ", ".join(one.name for one in hosts)
            raise UnsupportedLoad(
                f"generators on {names} are to command each other, and {host.name} has no address for the "
                f"others, found {address}: give it service_address (IPv4 or a name) in hosts.toml, or leave "
                "coordination out"
            )
    return tuple(host.listen_address for host in hosts)


__all__ = ["Meeting", "convene", "meeting_addresses"]
