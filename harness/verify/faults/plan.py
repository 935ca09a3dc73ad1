# SPDX-License-Identifier: Apache-2.0
"""Which fault comes when: kinds, and what a seed draws of each.

Kinds come in rounds: each round has every kind once, in an order that the seed shuffles. Of a fault the seed and its
number alone decide the kind and its three draws, so one fault can be repeated without those before it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Scene = Literal["strings", "bank", "clients", "remote", "cluster", "soak", "remote soak"]
Act = Literal[
    "signal", "full disk", "read-only", "open files", "processes", "port", "clock", "far clock", "cut link",
    "slow link", "sshd", "power", "api server", "kubelet", "evict", "delete pod", "kill pod", "pod memory",
    "namespace",
]  # fmt: skip
SignalName = Literal["SIGKILL", "SIGTERM", "SIGHUP", "SIGSTOP"]

SIGNALS: tuple[SignalName, ...] = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGSTOP")
#: Who gets signals, and in which session there is one.
ROLES: tuple[tuple[str, Scene], ...] = (
    ("session", "strings"), ("service", "strings"), ("generator", "strings"), ("database", "bank"),
    ("upstream", "clients"), ("agent", "remote"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One row of the table. ``target``: the role that gets a signal, or the folder that is full."""

    name: str
    scene: Scene
    act: Act
    target: str = ""
    signal: SignalName | None = None


KINDS: tuple[Kind, ...] = (
    *(
        Kind(name=f"{role}: {signal}", scene=scene, act="signal", target=role, signal=signal)
        for role, scene in ROLES
        for signal in SIGNALS
    ),
    Kind(name="bank's session: SIGKILL", scene="bank", act="signal", target="session", signal="SIGKILL"),
    Kind(name="bank's service: SIGKILL", scene="bank", act="signal", target="service", signal="SIGKILL"),
    Kind(name="remote session: SIGKILL", scene="remote", act="signal", target="session", signal="SIGKILL"),
    Kind(name="disk full: data", scene="strings", act="full disk", target="data"),
    Kind(name="disk full: notes of processes", scene="strings", act="full disk", target=".cache/running"),
    Kind(name="disk full: temporary files", scene="strings", act="full disk", target="tmp"),
    Kind(name="read-only data", scene="strings", act="read-only"),
    Kind(name="limit of open files", scene="strings", act="open files"),
    Kind(name="limit of processes", scene="strings", act="processes"),
    Kind(name="ports taken", scene="strings", act="port"),
    Kind(name="clock stepped", scene="strings", act="clock"),
    Kind(name="remote clock wrong", scene="remote", act="far clock"),
    Kind(name="link cut", scene="remote", act="cut link"),
    Kind(name="link delayed", scene="remote", act="slow link"),
    Kind(name="sshd killed", scene="remote", act="sshd"),
    Kind(name="power loss", scene="strings", act="power"),
)
#: A campaign of their own: they need a cluster, and seeds of the others stay what they were.
CLUSTER_KINDS: tuple[Kind, ...] = (
    Kind(name="API server killed", scene="cluster", act="api server"),
    Kind(name="kubelet stopped", scene="cluster", act="kubelet"),
    Kind(name="service's pod evicted", scene="cluster", act="evict", target="service"),
    Kind(name="generator's pod evicted", scene="cluster", act="evict", target="generator"),
    Kind(name="service's pod deleted", scene="cluster", act="delete pod", target="service"),
    Kind(name="service's pod killed", scene="cluster", act="kill pod", target="service"),
    Kind(name="generator's pod killed", scene="cluster", act="kill pod", target="generator"),
    Kind(name="service's memory exhausted", scene="cluster", act="pod memory", target="service"),
    Kind(name="namespace deleted", scene="cluster", act="namespace"),
    Kind(name="node's disk full", scene="cluster", act="full disk", target="data"),
    *(
        Kind(
            name=f"session in a cluster: {name}", scene="cluster", act="signal", target="session", signal=name
        )
        for name in SIGNALS[:2]
    ),
)
BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault. The draws are from 0 (with) to 1 (without).

    Args:
        number: its place in the campaign, from 1.
        when: the moment, as a share of the time in which it may come.
        size: how much, as a share of what its kind allows.
        where: which of several places.
    """

    seed: int
    number: int
    kind: Kind
    when: float
    size: float
    where: float

    def rng(self) -> random.Random:
        """Further draws, for kinds that need more than three."""
        return random.Random(f"{self.seed} {self.number} more")


def fault(seed: int, number: int, kinds: Sequence[Kind] = KINDS) -> Fault:
    """Return one fault of a campaign.

    Raises:
        ValueError: ``number`` is below 1.
    """
    if number < 1:
        raise ValueError(f"faults are numbered from 1; found {number}")
    turn, place = divmod(number - 1, len(kinds))
    order = list(kinds)
    random.Random(f"{seed} round {turn}").shuffle(order)
    rng = random.Random(f"{seed} {number}")
    return Fault(
        seed=seed,
        number=number,
        kind=order[place],
        when=rng.random(),
        size=rng.random(),
        where=rng.random(),
    )


def plan(seed: int, kinds: Sequence[Kind] = KINDS) -> Iterator[Fault]:
    """Yield the faults of a campaign, without end."""
    number = 0
    while True:
        number += 1
        yield fault(seed, number, kinds)
