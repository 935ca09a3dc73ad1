# SPDX-License-Identifier: Apache-2.0
"""The least heap: found for any boundary with few probes, never taken on luck, and doubted where probes disagree."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import MemoryFitFailed
from harness.memory_sizing.fit import (
    MOST_MIB,
    SearchEnd,
    agree,
    corrected,
    enlarged,
    heap_mib,
    least_heap,
    step_mib,
)
from harness.model import HeapProbe, LimitProbe

MIB = 2**20


def probe(mib: int, worked: bool) -> HeapProbe:
    return HeapProbe(heap_mib=mib, worked=worked, reason=None if worked else "out of memory", took_s=0.1)


def search(works: Callable[[int], bool], **more: int) -> SearchEnd:
    return least_heap(lambda mib: probe(mib, works(mib)), what="a service", **more)


@given(boundary=st.integers(1, MOST_MIB))
def test_any_boundary_is_found_to_a_step_and_no_outcome_contradicts_another(boundary: int) -> None:
    found = search(lambda mib: mib >= boundary)
    assert boundary <= found.least_mib <= boundary + found.step_mib
    assert found.step_mib == step_mib(found.least_mib) == max(1, found.least_mib // 20)
    assert found.steady
    assert len(found.probes) <= 18


def test_a_heap_that_worked_by_luck_is_not_taken() -> None:
    seen: list[int] = []

    def lucky_once(mib: int) -> bool:
        seen.append(mib)
        return mib >= 12 or (mib == 11 and seen.count(11) == 1)

    found = search(lucky_once)
    assert found.least_mib == 12
    assert not found.steady


def test_who_was_only_too_slow_is_tried_again_and_that_is_noticed() -> None:
    seen: list[int] = []

    def slow_once(mib: int) -> HeapProbe:
        seen.append(mib)
        if mib >= 9 and not (mib == 12 and seen.count(12) == 1):
            return probe(mib, True)
        return probe(mib, False).model_copy(update={"fell_behind": mib == 12})

    found = least_heap(slow_once, what="a service")
    assert seen.count(12) == 2
    assert found.least_mib == 9
    assert not found.steady


@given(st.lists(st.tuples(st.integers(1, 50), st.booleans()), max_size=8))
def test_probes_agree_exactly_when_one_boundary_explains_them(outcomes: list[tuple[int, bool]]) -> None:
    probes = [probe(mib, worked) for mib, worked in outcomes]
    explained = any(all((mib >= boundary) == worked for mib, worked in outcomes) for boundary in range(1, 52))
    assert agree(probes) == explained


def test_no_heap_at_all_is_one_line_with_the_last_reason() -> None:
    with pytest.raises(
        MemoryFitFailed, match=r"a service does its work in no heap up to 64 MiB.*out of memory"
    ) as said:
        search(lambda _: False, most_mib=64)
    assert "\n" not in str(said.value)
    assert said.value.exit_code == 2


def grow(works: Callable[[int], bool], least_mib: int = 13, **more: int) -> SearchEnd:
    found = search(lambda mib: mib >= least_mib)
    return enlarged(lambda mib: probe(mib, works(mib)), found, what="a service under load", **more)


def test_a_heap_that_holds_under_load_twice_is_left_as_it_was_found() -> None:
    found = grow(lambda _: True)
    assert (found.least_mib, found.step_mib, found.steady) == (13, 1, True)
    assert [one.heap_mib for one in found.probes[-2:]] == [13, 13]


def test_a_heap_grows_under_load_by_a_tenth_until_it_holds_twice_in_a_row() -> None:
    tried: list[int] = []

    def works(mib: int) -> bool:
        tried.append(mib)
        return mib >= 18 or (mib == 15 and tried.count(15) == 1)

    found = grow(works)
    assert tried == [13, 14, 15, 15, 17, 20, 20]
    assert (found.least_mib, found.step_mib) == (20, 3)
    assert not found.steady  # 15 held once


@given(least=st.integers(1, 400), boundary=st.integers(1, MOST_MIB))
def test_under_load_too_any_boundary_is_found_and_not_far_above(least: int, boundary: int) -> None:
    within = search(lambda mib: mib >= least)
    found = grow(lambda mib: mib >= boundary, least)
    assert found.steady
    assert len(found.probes) - len(within.probes) <= 20
    if boundary <= within.least_mib:
        assert found.least_mib == within.least_mib
    else:
        assert found.least_mib - found.step_mib < boundary <= found.least_mib  # the last one failed
        if boundary < 1.25 * within.least_mib:
            assert found.step_mib <= 1 + 0.1 * boundary


def test_what_holds_in_no_heap_under_load_ends_soon_in_one_line() -> None:
    tried: list[int] = []

    def never(mib: int) -> bool:
        tried.append(mib)
        return False

    with pytest.raises(
        MemoryFitFailed, match=r"a service under load does its work in no heap up to 4096 MiB.*out of memory"
    ) as said:
        grow(never)
    assert "\n" not in str(said.value)
    assert tried[0] == 13 and tried[-1] == MOST_MIB and len(tried) <= 17


@pytest.mark.parametrize(
    ("multiple", "least", "heap"), [(1.0, 7, 7), (1.3, 10, 13), (1.3, 7, 9), (1.3, 6, 8), (6, 9, 54)]
)
def test_a_multiple_is_the_nearest_whole_mebibyte_and_never_less_than_the_least_heap(
    multiple: float, least: int, heap: int
) -> None:
    assert heap_mib(multiple, least) == heap


def limits_for(wanted_mib: float, held: Callable[[int], float]) -> list[int]:
    """The limits that are tried for a program that holds ``held(limit)`` MiB."""
    first = round(wanted_mib)
    probe = LimitProbe(limit_mib=first, rss_bytes=round(held(first) * MIB))
    second = corrected(round(wanted_mib * MIB), probe)
    return [first] if second is None else [first, second]


@given(wanted=st.floats(60, 500), offset=st.floats(-50, 50))
def test_a_program_that_holds_its_limit_and_something_is_matched_by_one_correction(
    wanted: float, offset: float
) -> None:
    tried = limits_for(wanted, lambda limit: limit + offset)
    assert min(abs(limit + offset - wanted) for limit in tried) <= max(1.0, 0.021 * wanted)
