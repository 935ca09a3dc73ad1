# SPDX-License-Identifier: Apache-2.0
"""What bounded a trial: who had no more to give is named, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from harness.analysis.tables.bound import AroundIt, Asked, Connections, Part, PartName, Seen, what_bounds
from harness.model import Bound

CLOSED = Asked(achieved_per_s=1_000.0, users=100)
KEPT = Asked(offered_per_s=500.0, achieved_per_s=499.0)
ECHO = Asked(achieved_per_s=4_000.0, echo_per_s=4_500.0, headroom_ratio=1.125, users=100)
#: An echo service that kept the rate no better, that kept it, and one that answered far more.
ALIKE = Asked(offered_per_s=1_000.0, achieved_per_s=700.0, echo_per_s=800.0)
REACHED = Asked(offered_per_s=1_000.0, achieved_per_s=990.0, echo_per_s=800.0)
BETTER = Asked(offered_per_s=134.0, achieved_per_s=20.0, echo_per_s=74.0)
BUSY, HALF_IDLE = AroundIt(n_cpus=2, idle_cores=0.02), AroundIt(n_cpus=2, idle_cores=1.0)
DISKS = AroundIt(n_cpus=4, waited_for_disks=0.6)
WAITING = Connections(n_active=95.0, n_in_use=96.0, n_waiting_for_lock=0.0)
LOCKED = Connections(n_active=10.0, n_in_use=10.0, n_waiting_for_lock=9.0, at_most=10)
POOL = Connections(n_active=8.0, n_in_use=9.8, n_waiting_for_lock=0.0, at_most=10)


def part(
    name: PartName, cores: float | None, *cpus: int, machine: str = "here", most: float | None = None
) -> Part:
    return Part(name=name, cores=cores, cpus=frozenset((machine, cpu) for cpu in cpus), most=most)


def service(cores: float | None, *cpus: int, **more: Any) -> Part:
    return part("service", cores, *(cpus or (0,)), **more)


def load(cores: float | None, *cpus: int, **more: Any) -> Part:
    return part("generator", cores, *(cpus or (1,)), **more)


def database(cores: float, cpu: int) -> Part:
    return part("backing", cores, cpu)


def bound(*parts: Part, asked: Asked = CLOSED, around: AroundIt | None = None, **more: Any) -> Bound:
    return what_bounds(Seen(parts=parts, asked=asked, around=around or AroundIt(n_cpus=4), **more))


@pytest.mark.parametrize(
    ("parts", "more", "by", "why"),
    [
        # CPUs of its own
        ((service(0.97), load(0.5)), {}, "service", "0.97 of 1"),
        ((service(0.5), load(0.93)), {}, "generator", ""),
        ((service(0.5), load(0.1), database(0.9, 2)), {}, "backing", ""),
        ((service(0.87), load(0.99)), {}, "generator", ""),  # the fuller one
        ((service(0.96), load(0.99)), {}, "service", ""),  # as good as even
        ((service(0.95, 0, 1, most=1.0), load(0.2, 2)), {}, "service", ""),  # a quota, own threads
        ((service(0.2, 0, 1), load(0.95, 2, 3, most=1.0)), {}, "generator", ""),
        # CPUs that parts share
        ((service(0.4, 0, 1), load(1.5, 0, 1)), {"around": BUSY}, "machine", "most by the generator (1.50)"),
        ((service(1.2, 0, 1), load(0.7, 0, 1)), {"around": BUSY}, "machine", "most by the service (1.20)"),
        ((service(0.3), load(0.22), database(0.74, 1)), {}, "backing", "most by the database or upstream (0.74)"),
        ((service(0.3), load(0.42), database(0.54, 1)), {}, "machine", ""),
        ((service(0.8, 1), load(0.15, 1)), {}, "machine", ""),  # a service never is
        ((service(0.4, 0, 1), load(0.6, 0, 1)), {"asked": KEPT, "around": HALF_IDLE}, "offered", ""),
        ((service(0.6), load(0.6, 0, machine="load")), {"asked": KEPT}, "offered", ""),  # equal numbers elsewhere
        # what others took
        ((service(0.3), load(0.6)), {"around": AroundIt(n_cpus=2, stolen_cores=0.4)}, "machine", ""),
        ((service(0.3), load(0.6)), {"around": AroundIt(n_cpus=2, other_cores=0.4)}, "machine", ""),
        ((service(0.82), load(0.5)), {"around": AroundIt(n_cpus=2, stolen_cores=0.01, other_cores=0.04)}, "unknown", ""),
        # of what the hypervisor left, on each CPU in proportion to its use
        ((service(0.75), load(0.4)), {"around": AroundIt(n_cpus=2, stolen_cores=0.3)}, "service", "0.75 of 1.00 CPUs, of which the hypervisor left 0.80"),
        ((service(0.4), load(0.75)), {"around": AroundIt(n_cpus=2, stolen_cores=0.3)}, "generator", ""),
        ((service(0.3), load(0.1)), {"around": AroundIt(n_cpus=2, stolen_cores=1.2)}, "machine", ""),
        ((service(0.45), load(0.3, 0)), {"around": AroundIt(n_cpus=2, stolen_cores=0.3)}, "machine", ""),
        # the generator against the echo service
        ((service(0.4), load(0.3)), {"asked": ECHO}, "generator", ""),
        ((service(0.4), load(0.3)), {"asked": ALIKE}, "generator", ""),
        ((service(0.4), load(0.3)), {"asked": REACHED}, "offered", ""),
        ((service(0.2), load(0.23), database(0.75, 1)), {"asked": BETTER}, "backing", ""),
        ((service(0.2), load(0.23)), {"asked": BETTER}, "unknown", ""),
        # connections
        ((service(0.3), load(0.1)), {"connections": POOL}, "service", "10 connections"),
        ((service(0.3), load(0.1)), {"connections": WAITING}, "backing", ""),
        ((service(0.3), load(0.1)), {"connections": LOCKED}, "backing", ""),
        # pressure
        ((service(0.3), load(0.1)), {"around": DISKS}, "machine", ""),
        ((service(0.3), load(0.1)), {"around": DISKS, "asked": KEPT}, "offered", ""),
        # what is not known is never taken for room
        ((service(None), load(0.1)), {"missing": ("no CPU time",)}, "unknown", "no CPU time"),
        ((service(0.5), load(0.1)), {}, "unknown", "users waited for their answers"),
        # the CPUs of an arm
        ((service(0.55), load(0.42, 0)), {"n_arms": 2}, "service", "of 1 CPU of its arm the service used 0.55 and the"),
        ((service(0.42), load(0.55, 0)), {"n_arms": 2}, "generator", ""),
        ((service(0.55), load(0.42, 0)), {}, "machine", ""),
        ((service(0.45), load(0.3, 0)), {"n_arms": 1, "around": AroundIt(n_cpus=2, other_cores=0.2)}, "service",
         "others took 0.20 of them"),
        ((service(0.45), load(0.3, 0)), {"n_arms": 2, "around": AroundIt(n_cpus=2, other_cores=0.4)}, "service",
         "others took 0.20 of them"),
        ((service(0.45), load(0.3, 0)), {"n_arms": 2}, "unknown", ""),
        ((service(0.45), load(0.3, 0)), {"n_arms": 2, "around": AroundIt(n_cpus=2, other_cores=1.7)}, "machine", ""),
    ],
)  # fmt: skip
def test_what_had_no_more_to_give_is_named(
    parts: tuple[Part, ...], more: dict[str, Any], by: str, why: str
) -> None:
    verdict = bound(*parts, **more)
    assert verdict.by == by and why in verdict.why


def test_shares_are_those_of_what_each_may_use() -> None:
    verdict = bound(service(0.97), load(0.5), around=AroundIt(n_cpus=2, stolen_cores=0.4))
    assert (verdict.service_share, verdict.generator_share, verdict.machine_share) == (0.97, 0.5, 0.2)
    assert bound(service(None), load(0.1)).service_share is None
