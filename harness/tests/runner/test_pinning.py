# SPDX-License-Identifier: Apache-2.0
"""Service and generator are pinned apart where there are cores enough, and the words say what was done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.agent.machine_info import cpu_list, physical_cores
from harness.errors import InputError, TrialFailure
from harness.measure.runner.pinning import Policy, check_pinned, cpus_allowed, place, place_on_two
from harness.places.hosts.local import LocalHost


@pytest.mark.parametrize(
    ("cpus", "limit", "policy", "service", "generator", "words"),
    [
        ((0, 1), 2, "auto", None, None,
         "not pinned (2 CPUs are too few for a service of 2 apart): service and generator share CPU 0-1"),
        ((0, 1), None, "auto", (0,), (1,), "pinned apart: service on CPU 0, generator on CPU 1"),
        ((0, 1), None, "shared", None, None, "not pinned (as asked): service and generator share CPU 0-1"),
        ((0, 1, 2, 3), None, "auto", (0, 1), (2, 3), "pinned apart: service on CPU 0-1, generator on CPU 2-3"),
        ((0, 2, 4, 6, 7, 8), 2, "auto", (0, 2), (4, 6, 7, 8),
         "pinned apart: service on CPU 0,2, generator on CPU 4,6-8"),
        ((0, 1), 1, "same", (0,), (0,), "pinned together: service and generator on CPU 0"),
        ((0, 1, 2, 3), None, "same", (0, 1), (0, 1), "pinned together: service and generator on CPU 0-1"),
        ((0, 1), 2, "limit", (0, 1), (1,),
         "pinned by the limit: service on CPU 0-1 of 2 cores, generator on CPU 1; they share CPU 1"),
        ((0, 1), 1, "limit", (0,), (1,), "pinned by the limit: service on CPU 0 of 1 core, generator on CPU 1"),
    ],
)  # fmt: skip
def test_service_and_generator_are_placed_by_policy_and_the_words_say_how(
    cpus: tuple[int, ...], limit: int | None, policy: Policy, service: object, generator: object, words: str
) -> None:
    placement = place(cpus, limit, policy)
    assert (placement.service, placement.generator, placement.words) == (service, generator, words)
    assert placement.shared == (
        service is None or bool(set(placement.service or ()) & set(placement.generator or ()))
    )


def test_a_limit_that_leaves_the_generator_nothing_is_shared_or_refused() -> None:
    assert place((0, 1, 2, 3), service_cpus=4).shared
    with pytest.raises(InputError, match=r"found 'cpus = 3, and 2 CPUs'; allowed: cpus from 1 to 2"):
        place((0, 1), 3, "limit")


def test_pinned_by_its_limit_the_generator_stays_where_it_is_at_every_limit() -> None:
    placements = [place(tuple(range(8)), n, "limit") for n in (1, 2, 4)]
    assert [placement.service for placement in placements] == [(0,), (0, 1), (0, 1, 2, 3)]
    assert {placement.generator for placement in placements} == {(4, 5, 6, 7)}
    assert not any(placement.shared for placement in placements)


def test_second_threads_of_cores_come_after_all_cores_and_the_generator_has_whole_cores() -> None:
    cores = [(0, 4), (1, 5), (2, 6), (3, 7)]
    two, three = (place(tuple(range(8)), n, "limit", cores) for n in (2, 3))
    assert (two.service, two.generator) == ((0, 1), (2, 3, 6, 7))
    assert (three.service, three.shared) == ((0, 1, 4), False)
    assert "service on CPU 0-1,4 of 2 cores" in three.words
    one = place((0, 1), 1, "limit", [(0, 1)])  # a single core is divided by its threads
    assert (one.service, one.generator, one.shared) == ((0,), (1,), False)


def test_from_another_machine_the_service_is_pinned_or_not_as_asked() -> None:
    cores = [(0, 2), (1, 3)]
    assert place_on_two((0, 1, 2, 3), 2, "far", "limit", cores).service == (0, 1)
    assert place_on_two((0, 1, 2, 3), 2, "far", "shared").service is None


def test_cores_are_read_from_what_the_kernel_tells(tmp_path: Path) -> None:
    for cpu, siblings in ((0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    assert physical_cores(range(5), tmp_path) == [[0, 2], [1, 3], [4]]
    assert cpu_list("0-2,5") == [0, 1, 2, 5]


def test_a_process_that_may_run_elsewhere_than_it_was_pinned_to_is_a_failed_trial() -> None:
    pinned = place((0, 1), 1, "limit").service
    check_pinned(pinned, (0,))
    check_pinned(pinned, None)  # the kernel does not tell
    with pytest.raises(TrialFailure, match="CPU affinity of the service is 0-1, expected 0; another program"):
        check_pinned(pinned, (0, 1))


def test_the_kernel_says_where_this_process_may_run() -> None:
    assert cpus_allowed(LocalHost(), os.getpid()) == tuple(sorted(os.sched_getaffinity(0)))
    assert cpus_allowed(LocalHost(), 2**22 + 1) is None
