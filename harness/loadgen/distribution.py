# SPDX-License-Identifier: Apache-2.0
"""A tool's own way to have several of its processes offer one load, as an adapter says it: pure, like ``base``.

One process, the coordinator, commands the others, the members, and asks nothing itself (Locust's master and
workers, JMeter's controller and engines). Every process has a seat, where others find it, and a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from pydantic import Field

from harness.errors import UnsupportedLoad
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.parallel import shares
from harness.model import Frozen, Load, LoadProfile
from harness.model.endpoint import Endpoint


class Seats(Frozen):
    """Where the processes of one load find each other: an address of each one's machine, and a free port there."""

    coordinator: Endpoint
    members: tuple[Endpoint, ...] = Field(min_length=2)


class Tally(NamedTuple):
    """What the coordinator counted itself; ``None``: it did not say."""

    n_requests: int | None
    n_errors: int | None


class Distribution(Protocol):
    """How a tool does it."""

    def shares(self, profile: LoadProfile, n: int) -> tuple[LoadProfile, ...]:
        """Return what each of ``n`` members is told before it starts.

        Raises:
            UnsupportedLoad: the tool cannot divide it.
        """
        ...

    def secrets(self) -> dict[str, bytes]:
        """Return files that every process of one load finds in its folder, and that nobody keeps."""
        ...

    def coordinator(self, spec: LoadSpec, seats: Seats) -> LoadCommand:
        """Return the coordinator's command; ``spec`` is the whole load."""
        ...

    def member(self, spec: LoadSpec, seats: Seats, number: int) -> LoadCommand:
        """Return a member's command, members counted from 1; ``spec`` is its share of the load."""
        ...

    def gather(self, coordinator: Path, members: Sequence[Path], seats: Seats) -> Tally:
        """Bring each member's rows to where its adapter reads them, all processes having ended.

        Raises:
            TrialFailure: rows are missing, or nobody knows whose they are.
        """
        ...


@runtime_checkable
class Distributing(Protocol):
    """A load generator that has such a way."""

    @property
    def distribution(self) -> Distribution: ...


def distribution_of(generator: LoadGenerator) -> Distribution:
    """Return the tool's own way.

    Raises:
        UnsupportedLoad: it has none.
    """
    if isinstance(generator, Distributing):
        return generator.distribution
    raise UnsupportedLoad(
        f"{generator.name} has no distribution of its own: coordination = 'tool' is for jmeter and locust; "
        "leave it out, and several generators divide the load without a coordinator"
    )


def divided(load: Load, generator: LoadGenerator, n: int) -> tuple[LoadProfile, ...]:
    """Return what each of ``n`` generators is asked for.

    Raises:
        UnsupportedLoad: the load cannot be divided so.
    """
    if load.coordination == "independent":
        return shares(load.profile, n)
    distribution = distribution_of(generator)
    if n == 1:
        raise UnsupportedLoad(
            "coordination = 'tool' is for several generators, and this load has one: "
            "say how many (processes = 2), or name several hosts (--load-host a,b)"
        )
    return distribution.shares(load.profile, n)


def planned(generator: LoadGenerator, orders: Sequence[LoadSpec], load: Load) -> LoadCommand:
    """Return the coordinator's command as a plan shows it, with places to be taken later.

    Raises:
        UnsupportedLoad, MissingTool: as when it is started.
    """
    seats = Seats(
        coordinator=Endpoint(host="127.0.0.1", port=5557),
        members=tuple(Endpoint(host="127.0.0.1", port=1099 + n) for n in range(len(orders))),
    )
    folder = orders[0].folder.with_name("coordinator")
    whole = orders[0].model_copy(update={"profile": load.profile, "folder": folder})
    return distribution_of(generator).coordinator(whole, seats)


__all__ = ["Distributing", "Distribution", "Seats", "Tally", "distribution_of", "divided", "planned"]
