# SPDX-License-Identifier: Apache-2.0
"""To which process a line or a file of a log belongs: pauses of a process that is not meant explain nothing."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.formats.gc_events import GcLog
from harness.formats.runtime_log import read_runtime_log
from harness.tests.support.log_forms import (
    CARRIERS,
    START_S,
    Line,
    go_lines,
    jvm_lines,
    stamp,
    text_of,
    uptime,
)
from harness.tests.support.runtime_logs import read_log

#: Pauses of an earlier process, of another length, at uptimes that the later one has, too.
EARLIER = tuple((1.09 + 5 * k, 0.033) for k in range(10))
LATER = tuple((3.004 + 4 * k, 0.004) for k in range(10))


def of_jvm(
    pauses: Sequence[tuple[float, float]], *, first_id: int = 0, started_s: float | None = None
) -> list[Line]:
    """A log without safepoints; with wall-clock stamps of a process that started then, or with uptimes alone."""

    def both(at_s: float) -> str:
        return f"[{stamp((started_s or 0.0) + at_s)}+0000]{uptime(at_s)}"

    return jvm_lines(pauses, uptime if started_s is None else both, first_id=first_id, safepoints=False)


def ms(log: GcLog) -> list[float]:
    return [round(1e3 * one.duration_s, 3) for one in log.events if one.duration_s > 1e-3]


def left_out(log: GcLog) -> list[str]:
    return [said for said in log.warnings if "left out" in said]


def test_an_archived_log_of_an_earlier_process_is_no_part() -> None:
    log = read_log(text_of(of_jvm(LATER)), text_of(of_jvm(EARLIER)))
    assert ms(log) == [4.0] * 10
    assert left_out(log) == ["10 collections of another process in gc.log.0 left out"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_rotated_parts_of_one_process_are_joined_among_archives_of_others(order: Sequence[int]) -> None:
    newest = of_jvm(LATER[7:], first_id=7)
    older = [of_jvm(LATER[:4]), of_jvm(LATER[4:7], first_id=4), of_jvm(EARLIER)]
    log = read_log(text_of(newest), *(text_of(older[k]) for k in order))
    assert ms(log) == [4.0] * 10 and log.n_collections == 10
    assert len(left_out(log)) == 1 and "10 collections of another process" in left_out(log)[0]
    assert not any("starts late" in said for said in log.warnings)


@pytest.mark.parametrize(
    ("older", "why"),
    [
        (of_jvm(EARLIER[:5]), "its numbers end before"),
        (of_jvm(EARLIER[:9]), "its uptimes end later"),
        (of_jvm(tuple((0.1 * k + 0.5, 0.033) for k in range(7))), "it ended long before"),
        (of_jvm(EARLIER[8:], first_id=20), "its numbers are others"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_part_whose_numbers_or_uptimes_do_not_go_on_is_of_another_process(
    older: list[Line], why: str
) -> None:
    log = read_log(text_of(of_jvm(LATER[7:], first_id=7)), text_of(older))
    assert ms(log) == [4.0] * 3 and len(left_out(log)) == 1
    assert any("starts late" in said for said in log.warnings)


def test_parts_with_both_clocks_are_joined_by_the_start_that_they_tell() -> None:
    newest, first = of_jvm(LATER[7:], first_id=7, started_s=START_S), of_jvm(LATER[:3], started_s=START_S)
    earlier = of_jvm(EARLIER, started_s=START_S - 600)
    log = read_log(text_of(newest), text_of(first), text_of(earlier))
    assert len(log.processes) == 2 and log.processes[1].end_s == pytest.approx(START_S + LATER[-1][0])
    assert ms(log) == [33.0] * 10 + [4.0] * 6
    assert all(one.end_s < START_S - 500 for one in log.events[:10])


def test_compressed_parts_are_parts_and_so_are_those_of_a_compressed_log(tmp_path: Path) -> None:
    parts = {
        "gc.log": of_jvm(LATER[7:], first_id=7),
        "gc.log.0.gz": of_jvm(LATER[:7]),
        "gc.log.1.gz": of_jvm(EARLIER),
    }
    for name, lines in parts.items():
        data = text_of(lines).encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert ms(read_runtime_log(tmp_path / "gc.log")) == [4.0] * 10
    (tmp_path / "gc.log").rename(tmp_path / "gc.log.gz")
    assert ms(read_runtime_log(tmp_path / "gc.log.gz")) == [4.0] * 10


def test_logs_named_one_by_one_are_joined_as_parts_are(tmp_path: Path) -> None:
    for name, lines in {
        "b.log": of_jvm(LATER[7:], first_id=7),
        "a.log": of_jvm(LATER[:7]),
        "c.log": of_jvm(EARLIER),
    }.items():
        (tmp_path / name).write_text(text_of(lines))
    a, b, c = (tmp_path / name for name in ("a.log", "b.log", "c.log"))
    assert ms(read_runtime_log(a, b)) == ms(read_runtime_log(b, a)) == [4.0] * 10
    log = read_runtime_log(c, b, a)
    assert ms(log) == [4.0] * 10 and left_out(log) == ["10 collections of another process in c.log left out"]


def test_of_restarts_in_one_file_the_last_process_counts_where_only_it_can_be_placed() -> None:
    both = text_of([*of_jvm(EARLIER), *of_jvm(EARLIER[:2]), *of_jvm(LATER)])
    log = read_log(both, process_start_epoch_s=START_S)
    assert ms(log) == [4.0] * 10 and log.events[0].end_s == pytest.approx(START_S + LATER[0][0])
    assert left_out(log) == ["12 collections of 2 other processes in gc.log left out"]


def test_a_process_that_restarts_at_once_again_and_again_is_several() -> None:
    crashes = [line for _ in range(5) for line in of_jvm([(0.4, 0.1), (0.6, 0.1)])]
    log = read_log(text_of([*crashes, *of_jvm(LATER)]), process_start_epoch_s=START_S)
    assert ms(log) == [4.0] * 10 and "10 collections of 5 other processes" in left_out(log)[0]


@pytest.mark.parametrize("decorators", ["both clocks", "the wall clock alone"])
def test_restarts_with_wall_clock_stamps_all_count_each_at_its_own_time(decorators: str) -> None:
    earlier, later = of_jvm(EARLIER, started_s=START_S - 300), of_jvm(LATER, started_s=START_S)
    if decorators != "both clocks":
        earlier, later = (
            [(at, f"{line[:30]}{line[30:].partition(']')[2]}") for at, line in one]
            for one in (earlier, later)
        )
    log = read_log(text_of([*earlier, *later]))
    assert ms(log) == [33.0] * 10 + [4.0] * 10 and not left_out(log)
    assert any("of 2 processes" in said for said in log.warnings)
    assert [round(one.start_s - START_S) for one in log.processes] == [-300, 0]
    if decorators == "both clocks":
        chosen = read_log(text_of([*earlier, *later]), process_start_epoch_s=START_S - 301)
        assert ms(chosen) == [33.0] * 10 and "10 collections of another process" in left_out(chosen)[0]


def mixed(*logs: list[Line]) -> list[Line]:
    return sorted(itertools.chain(*logs), key=lambda one: one[0])


def renamed(lines: list[Line], carrier: str, old: str = "", new: str = "") -> list[Line]:
    return [(at_s, CARRIERS[carrier](at_s, line).replace(old, new)) for at_s, line in lines]


@pytest.mark.parametrize(
    ("carrier", "old", "new"),
    [("docker compose", "shop-1", "shop-2"), ("journald", "4711", "4712"), ("kubectl with names and times", "x2x9z", "abcde")],
)  # fmt: skip
def test_two_processes_side_by_side_are_told_apart_and_never_mixed(carrier: str, old: str, new: str) -> None:
    a, b = renamed(of_jvm(LATER), carrier), renamed(of_jvm(EARLIER), carrier, old, new)
    with pytest.raises(InputError, match="several processes side by side"):
        read_log(text_of(mixed(a, b)), process_start_epoch_s=START_S)
    # one after the other they are a restart
    assert ms(read_log(text_of([*b, *a]))) == [4.0] * 10
    a, b = (
        renamed(of_jvm(LATER, started_s=START_S), carrier),
        renamed(of_jvm(EARLIER, started_s=START_S), carrier, old, new),
    )
    log = read_log(text_of(mixed(a, b)))
    assert len(log.processes) == 2 and log.processes[0].name != log.processes[1].name
    assert sorted(ms(log)) == [4.0] * 10 + [33.0] * 10


def test_two_processes_that_share_lines_without_a_name_are_refused_too() -> None:
    late = of_jvm([(at_s + 100, length_s) for at_s, length_s in LATER], first_id=30)
    with pytest.raises(InputError, match="several processes side by side"):
        read_log(text_of(mixed(of_jvm(EARLIER), [(at - 100.5, line) for at, line in late])))
    with pytest.raises(InputError, match="several processes side by side"):
        read_log(text_of(mixed(go_lines(EARLIER), go_lines(LATER, first_id=30))))


def test_a_jvm_and_a_go_process_of_one_compose_file_are_two_processes() -> None:
    jvm, go = (
        renamed(of_jvm(LATER), "docker compose"),
        renamed(go_lines(EARLIER), "docker compose", "shop", "cart"),
    )
    with pytest.raises(InputError, match="'(shop|cart)-1  | ' and '(shop|cart)-1  | '"):
        read_log(text_of(mixed(jvm, go)))
    wall = read_log(text_of(mixed(renamed(of_jvm(LATER, started_s=START_S), "docker compose"), go)))
    assert (wall.runtime, ms(wall)) == (
        "jvm",
        [4.0] * 10,
    ) and "10 collections of another process" in left_out(wall)[0]


def test_a_programs_own_stamped_lines_are_no_second_process() -> None:
    own = [(at_s, f"[{at_s * 300:.0f}ms][info] GET /item") for at_s in (1.0, 20.0, 30.0)]
    log = read_log(text_of(mixed(of_jvm(LATER), own)))
    assert ms(log) == [4.0] * 10 and not left_out(log)
    assert ms(read_log(text_of(mixed(go_lines(LATER), own)))) == [4.0] * 10


def test_midnight_in_what_precedes_the_lines_is_no_restart() -> None:
    lines = [(at_s, CARRIERS["journald"](at_s + 48_570, line)) for at_s, line in of_jvm(LATER)]
    assert "Nov 28" in lines[0][1] and "Nov 29" in lines[-1][1]
    log = read_log(text_of(lines))
    assert ms(log) == [4.0] * 10 and not left_out(log)


def test_a_go_process_that_was_started_again_counts_alone() -> None:
    log = read_log(text_of([*go_lines(EARLIER), *go_lines(LATER)]), process_start_epoch_s=START_S)
    assert ms(log) == [4.0, 3.1][:1] * 10 and left_out(log) == [
        "10 collections of another process in gc.log left out"
    ]
    pids = [*renamed(go_lines(EARLIER), "journald", "4711", "4690"), *renamed(go_lines(LATER), "journald")]
    assert ms(read_log(text_of(pids))) == [4.0] * 10
    rotated = read_log(
        text_of(go_lines(LATER[6:], first_id=7)), text_of(go_lines(LATER[:6])), text_of(go_lines(EARLIER))
    )
    assert ms(rotated) == [4.0] * 10 and not any(
        "late" in said or "gaps" in said for said in rotated.warnings
    )


lives = st.lists(
    st.lists(st.tuples(st.floats(0.5, 9), st.floats(0.002, 0.2)), min_size=1, max_size=12),
    min_size=2,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(lives=lives, data=st.data())
def test_no_pause_of_another_process_ever_gets_into_a_log_without_wall_clock(
    lives: list[list[tuple[float, float]]], data: st.DataObject
) -> None:
    parts: list[str] = []
    for waits in lives:
        ends = itertools.accumulate(wait_s + length_s for wait_s, length_s in waits)
        pauses = [(end_s, length_s) for end_s, (_, length_s) in zip(ends, waits, strict=True)]
        cuts = sorted(data.draw(st.sets(st.integers(1, len(pauses)), max_size=2)))
        edges = [0, *(cut for cut in cuts if cut < len(pauses)), len(pauses)]
        of_newest = waits is lives[-1]
        kept = [text_of(of_jvm(pauses[low:high], first_id=low)) for low, high in itertools.pairwise(edges)][
            0 if of_newest else data.draw(st.integers(0, len(edges) - 2)) :
        ]  # the first parts may have been overwritten
        parts += kept
    newest = parts.pop()
    log = read_log(newest, *data.draw(st.permutations(parts)))
    mine = {round(end_s, 3) for end_s, _ in pauses}
    assert {round(one.end_s, 3) for one in log.events} <= mine
    assert len(log.events) >= newest.count("60M->12M")
