# SPDX-License-Identifier: Apache-2.0
"""What bounded a trial: who had no more to give is named, and only then."""

from __future__ import annotations

import pytest

from harness.analysis.tables.bound import AroundIt, Asked, Connections, Part, PartName, Seen, what_bounds
from harness.model import Bound

CLOSED = Asked(achieved_per_s=1_000.0, users=100)
KEPT = Asked(offered_per_s=500.0, achieved_per_s=499.0)


def part(
    name: PartName, cores: float | None, *cpus: int, machine: str = "here", most: float | None = None
) -> Part:
    return Part(name=name, cores=cores, cpus=frozenset((machine, cpu) for cpu in cpus), most=most)


def bound(
    service: Part, generator: Part, *others: Part, asked: Asked = CLOSED, around: AroundIt | None = None,
    connections: Connections | None = None, missing: tuple[str, ...] = (), n_arms: int = 0,
) -> Bound:  # fmt: skip
    return what_bounds(
        Seen(
            parts=(service, generator, *others),
            asked=asked,
            around=around or AroundIt(n_cpus=4),
            connections=connections,
            missing=missing,
            n_arms=n_arms,
        )
    )


def test_a_service_that_uses_its_own_cpus_up_is_the_bound() -> None:
    found = bound(part("service", 0.97, 0), part("generator", 0.5, 1))
    assert (found.by, found.service_share, found.generator_share) == ("service", 0.97, 0.5)
    assert "0.97 of 1" in found.why


def test_a_generator_that_uses_its_own_cpus_up_is_the_bound() -> None:
    assert bound(part("service", 0.5, 0), part("generator", 0.93, 1)).by == "generator"


def test_of_two_that_are_full_the_fuller_one_is_named_and_the_service_where_they_are_even() -> None:
    assert bound(part("service", 0.87, 0), part("generator", 0.99, 1)).by == "generator"
    assert bound(part("service", 0.96, 0), part("generator", 0.99, 1)).by == "service"


def test_a_share_is_of_what_quota_gomaxprocs_and_own_threads_leave() -> None:
    assert bound(part("service", 0.95, 0, 1, most=1.0), part("generator", 0.2, 2)).by == "service"
    assert bound(part("service", 0.2, 0, 1), part("generator", 0.95, 2, 3, most=1.0)).by == "generator"


def test_a_database_that_uses_its_cpus_up_is_the_bound() -> None:
    assert bound(part("service", 0.5, 0), part("generator", 0.1, 1), part("backing", 0.9, 2)).by == "backing"


def test_shared_cpus_that_are_full_are_the_machine_and_the_larger_consumer_is_named() -> None:
    around = AroundIt(n_cpus=2, idle_cores=0.02)
    found = bound(part("service", 0.4, 0, 1), part("generator", 1.5, 0, 1), around=around)
    assert found.by == "machine"
    assert "most by the generator (1.50)" in found.why
    found = bound(part("service", 1.2, 0, 1), part("generator", 0.7, 0, 1), around=around)
    assert "most by the service (1.20)" in found.why


def test_a_database_that_used_two_thirds_of_cpus_it_shares_is_the_bound_and_a_service_never_is() -> None:
    service, database = part("service", 0.3, 0), part("backing", 0.74, 1)
    found = bound(service, part("generator", 0.22, 1), database)
    assert found.by == "backing" and "most by the database or upstream (0.74)" in found.why
    assert bound(service, part("generator", 0.42, 1), part("backing", 0.54, 1)).by == "machine"
    assert bound(part("service", 0.8, 1), part("generator", 0.15, 1)).by == "machine"


def test_shared_cpus_with_room_are_no_bound() -> None:
    around = AroundIt(n_cpus=2, idle_cores=1.0)
    assert (
        bound(part("service", 0.4, 0, 1), part("generator", 0.6, 0, 1), asked=KEPT, around=around).by
        == "offered"
    )


def test_cpus_of_equal_numbers_on_two_machines_are_not_shared() -> None:
    generator = part("generator", 0.6, 0, machine="load")
    assert bound(part("service", 0.6, 0), generator, asked=KEPT).by == "offered"


@pytest.mark.parametrize("taken", [{"stolen_cores": 0.4}, {"other_cores": 0.4}])
def test_what_others_took_of_a_part_that_would_else_be_full_is_the_machine(taken: dict[str, float]) -> None:
    around = AroundIt(n_cpus=2, **taken)
    found = bound(part("service", 0.3, 0), part("generator", 0.6, 1), around=around)
    assert (found.by, found.machine_share) == ("machine", 0.2)


def test_little_taken_by_others_is_not_the_bound() -> None:
    around = AroundIt(n_cpus=2, stolen_cores=0.01, other_cores=0.04)
    assert bound(part("service", 0.82, 0), part("generator", 0.5, 1), around=around).by == "unknown"


def test_a_closed_loop_as_quick_against_echo_is_bound_by_the_generator_whatever_cpu_it_used() -> None:
    asked = Asked(achieved_per_s=4_000.0, echo_per_s=4_500.0, headroom_ratio=1.125, users=100)
    assert bound(part("service", 0.4, 0), part("generator", 0.3, 1), asked=asked).by == "generator"


def test_a_rate_that_was_not_kept_against_echo_either_is_the_generators() -> None:
    asked = Asked(offered_per_s=1_000.0, achieved_per_s=700.0, echo_per_s=800.0)
    assert bound(part("service", 0.4, 0), part("generator", 0.3, 1), asked=asked).by == "generator"
    kept = Asked(offered_per_s=1_000.0, achieved_per_s=990.0, echo_per_s=800.0)
    assert bound(part("service", 0.4, 0), part("generator", 0.3, 1), asked=kept).by == "offered"


def test_a_rate_of_which_echo_answered_far_more_was_not_lost_by_the_generator() -> None:
    asked = Asked(offered_per_s=134.0, achieved_per_s=20.0, echo_per_s=74.0)
    parts = part("service", 0.2, 0), part("generator", 0.23, 1), part("backing", 0.75, 1)
    assert bound(*parts, asked=asked).by == "backing"
    assert bound(*parts[:2], asked=asked).by == "unknown"


def test_a_pool_in_use_with_room_everywhere_is_the_services_own_limit() -> None:
    pool = Connections(n_active=8.0, n_in_use=9.8, n_waiting_for_lock=0.0, at_most=10)
    found = bound(part("service", 0.3, 0), part("generator", 0.1, 1), connections=pool)
    assert found.by == "service"
    assert "10 connections" in found.why


def test_users_who_all_wait_for_the_database_are_bound_by_it() -> None:
    waiting = Connections(n_active=95.0, n_in_use=96.0, n_waiting_for_lock=0.0)
    assert bound(part("service", 0.3, 0), part("generator", 0.1, 1), connections=waiting).by == "backing"
    locked = Connections(n_active=10.0, n_in_use=10.0, n_waiting_for_lock=9.0, at_most=10)
    assert bound(part("service", 0.3, 0), part("generator", 0.1, 1), connections=locked).by == "backing"


def test_waiting_for_disks_is_the_machine_unless_the_rate_was_kept() -> None:
    around = AroundIt(n_cpus=4, waited_for_disks=0.6)
    parts = part("service", 0.3, 0), part("generator", 0.1, 1)
    assert bound(*parts, around=around).by == "machine"
    assert bound(*parts, asked=KEPT, around=around).by == "offered"


def test_what_is_not_known_is_said_and_never_taken_for_room() -> None:
    found = bound(part("service", None, 0), part("generator", 0.1, 1), missing=("no CPU time was sampled",))
    assert (found.by, found.why, found.service_share) == ("unknown", "no CPU time was sampled", None)
    found = bound(part("service", 0.5, 0), part("generator", 0.1, 1))
    assert found.by == "unknown"
    assert "users waited for their answers" in found.why


def test_in_a_duet_the_larger_user_of_a_full_arm_is_the_bound() -> None:
    found = bound(part("service", 0.55, 0), part("generator", 0.42, 0), n_arms=2)
    assert (
        found.by == "service"
        and found.why == "of 1 CPU of its arm the service used 0.55 and the generator 0.42"
    )
    assert bound(part("service", 0.42, 0), part("generator", 0.55, 0), n_arms=2).by == "generator"
    assert bound(part("service", 0.55, 0), part("generator", 0.42, 0)).by == "machine"


def test_on_cpus_that_one_arm_shares_what_others_took_is_all_this_arms() -> None:
    service, generator = part("service", 0.45, 0), part("generator", 0.3, 0)
    others = AroundIt(n_cpus=2, other_cores=0.2)
    found = bound(service, generator, around=others, n_arms=1)
    assert found.by == "service" and "others took 0.20 of them" in found.why


def test_in_a_duet_what_others_took_is_half_of_it_this_arms_unless_they_took_the_most() -> None:
    service, generator = part("service", 0.45, 0), part("generator", 0.3, 0)
    some, most = (AroundIt(n_cpus=2, other_cores=taken) for taken in (0.4, 1.7))
    found = bound(service, generator, around=some, n_arms=2)
    assert found.by == "service" and "others took 0.20 of them" in found.why
    assert bound(service, generator, n_arms=2).by == "unknown"
    assert bound(service, generator, around=most, n_arms=2).by == "machine"
