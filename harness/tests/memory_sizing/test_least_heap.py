# SPDX-License-Identifier: Apache-2.0
"""The least heap: found for any boundary with few probes, never taken on luck, and doubted where probes disagree."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import MemoryFitFailed
from harness.memory_sizing.fit import MOST_MIB, SearchEnd, agree, corrected, least_heap, step_mib
from harness.memory_sizing.probe import heap_mib
from harness.model import HeapProbe, LimitProbe

MIB = 2**20


def probe(mib: int, worked: bool) -> HeapProbe:
    return HeapProbe(heap_mib=mib, worked=worked, reason=None if worked else "out of memory", took_s=0.1)


def search(works: Callable[[int], bool], **more: int) -> tuple[SearchEnd, list[int]]:
    """Return where the search ended, and the heaps that were tried."""
    end = least_heap(lambda mib: probe(mib, works(mib)), what="a service", **more)
    return end, [each.heap_mib for each in end.probes]


@given(boundary=st.integers(1, MOST_MIB))
def test_any_boundary_is_found_to_a_step_and_no_outcome_contradicts_another(boundary: int) -> None:
    end, tried = search(lambda mib: mib >= boundary)
    assert boundary <= end.least_mib <= boundary + end.step_mib
    assert end.step_mib == step_mib(end.least_mib) == max(1, end.least_mib // 20)
    assert end.steady and tried[-2:] == [end.least_mib] * 2
    assert len(tried) <= 19


def test_a_heap_that_worked_by_luck_grows_until_it_works_twice_in_a_row() -> None:
    seen: list[int] = []

    def lucky(mib: int) -> bool:
        seen.append(mib)
        return mib >= 18 or (seen.count(mib) == 1 and mib in (13, 14, 16))

    end, tried = search(lucky)
    assert tried == [16, 8, 12, 14, 13, 13, 14, 15, 17, 20, 20]
    assert (end.least_mib, end.step_mib, end.steady) == (20, 3, False)


def test_a_program_that_was_only_too_slow_is_tried_again_and_that_is_noticed() -> None:
    seen: list[int] = []

    def slow_once(mib: int) -> HeapProbe:
        seen.append(mib)
        if mib >= 9 and not (mib == 12 and seen.count(12) == 1):
            return probe(mib, True)
        return probe(mib, False).model_copy(update={"fell_behind": mib == 12})

    end = least_heap(slow_once, what="a service")
    assert seen.count(12) == 2
    assert end.least_mib == 9
    assert not end.steady


@given(st.lists(st.tuples(st.integers(1, 50), st.booleans()), max_size=8))
def test_probes_agree_exactly_when_one_boundary_explains_them(outcomes: list[tuple[int, bool]]) -> None:
    probes = [probe(mib, worked) for mib, worked in outcomes]
    explained = any(all((mib >= boundary) == worked for mib, worked in outcomes) for boundary in range(1, 52))
    assert agree(probes) == explained


@pytest.mark.parametrize("most_mib", [64, MOST_MIB])
def test_no_heap_at_all_is_one_line_with_the_last_reason(most_mib: int) -> None:
    says = rf"a service does its work in no heap up to {most_mib} MiB.*out of memory"
    with pytest.raises(MemoryFitFailed, match=says) as refused:
        search(lambda _: False, most_mib=most_mib)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("multiple", "least", "heap"), [(1.0, 7, 7), (1.3, 10, 13), (1.3, 7, 9), (1.3, 6, 8), (6, 9, 54)]
)
def test_a_multiple_is_the_nearest_whole_mebibyte_and_never_less_than_the_least_heap(
    multiple: float, least: int, heap: int
) -> None:
    assert heap_mib(multiple, least) == heap


@given(wanted=st.floats(60, 500), offset=st.floats(-50, 50))
def test_a_program_that_holds_its_limit_and_something_is_matched_by_one_correction(
    wanted: float, offset: float
) -> None:
    first = round(wanted)
    second = corrected(
        round(wanted * MIB), LimitProbe(limit_mib=first, rss_bytes=round((first + offset) * MIB))
    )
    limits = [first] if second is None else [first, second]
    assert min(abs(limit + offset - wanted) for limit in limits) <= max(1.0, 0.021 * wanted)
