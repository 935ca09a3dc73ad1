# SPDX-License-Identifier: Apache-2.0
"""Service and generator are pinned apart where there are cores enough, and the words say what was done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.placement import APART_FROM_CPUS, Policy, place


def test_two_cpus_are_shared_and_the_record_says_so() -> None:
    placement = place((0, 1))
    assert (placement.service, placement.generator, placement.shared) == (None, None, True)
    assert (
        placement.words == "not pinned (2 CPUs are too few to pin apart): service and generator share CPU 0-1"
    )


def test_two_cpus_can_be_pinned_apart_on_request() -> None:
    placement = place((0, 1), policy="apart")
    assert (placement.service, placement.generator, placement.shared) == ((0,), (1,), False)


def test_from_four_cpus_on_they_are_pinned_apart() -> None:
    placement = place((0, 1, 2, 3))
    assert (placement.service, placement.generator) == ((0, 1), (2, 3))
    assert placement.words == "pinned apart: service on CPU 0-1, generator on CPU 2-3"


def test_the_service_gets_its_limit_and_the_generator_all_the_rest() -> None:
    placement = place((0, 2, 4, 6, 7, 8), service_cpus=2)
    assert (placement.service, placement.generator) == ((0, 2), (4, 6, 7, 8))
    assert placement.words.endswith("generator on CPU 4,6-8")


def test_a_limit_that_leaves_the_generator_nothing_is_shared_or_refused() -> None:
    assert place((0, 1, 2, 3), service_cpus=4).shared
    with pytest.raises(InputError, match=r"too few CPUs to pin .*found '4 CPUs'; allowed: at least 5"):
        place((0, 1, 2, 3), service_cpus=4, policy="apart")


def test_shared_on_request_is_said() -> None:
    assert place(tuple(range(8)), policy="shared").words.startswith("not pinned (as asked)")


@given(
    available=st.sets(st.integers(0, 255), min_size=1, max_size=64).map(tuple),
    limit=st.none() | st.integers(1, 80),
    policy=st.sampled_from(["auto", "shared"]),
)
def test_whatever_the_machine_nobody_gets_what_is_not_there_and_apart_is_apart(
    available: tuple[int, ...], limit: int | None, policy: Policy
) -> None:
    placement = place(available, limit, policy)
    if placement.shared:
        assert placement.service is None
        assert placement.generator is None
        return
    assert placement.service
    assert placement.generator
    assert len(available) >= APART_FROM_CPUS
    assert sorted(placement.service + placement.generator) == sorted(available)
    assert len(placement.service) == (limit or len(available) // 2)
