# SPDX-License-Identifier: Apache-2.0
"""Each of the twelve traps is named where it is, and none where it is not."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.compare.comparing import compare_files
from harness.compare.reading import read_run, runs_named
from harness.compare.result import Comparison
from harness.compare.run import LATENCIES
from harness.compare.traps import NEVER_ACCEPTED, TRAPS, find_traps
from harness.errors import InputError
from harness.formats.run_parts import clock_jump
from harness.model import Verdict
from harness.tests.support.compared_arms import change_rows, users_wait, write_arms
from harness.tests.support.generated_jtl import Load, open_load, write_load


def compared(a: Path, b: Path, **options: object) -> Comparison:
    return compare_files([str(a)], [str(b)], **options)  # type: ignore[arg-type]


def named(found: Comparison) -> list[str]:
    return [trap.name for trap in found.traps]


def withheld(found: Comparison) -> set[str]:
    return {row.metric for row in found.rows if row.verdict is None and row.why.startswith("no verdict")}


def arrivals(rate_per_s: float, n: int = 3000) -> object:
    return lambda seed: open_load(n, rate_per_s, 0.02, seed=seed)


def test_there_are_twelve() -> None:
    assert len(TRAPS) == 12


@pytest.mark.parametrize("seed", range(3))
def test_good_arms_fall_into_none(tmp_path: Path, seed: int) -> None:
    a, b = write_arms(tmp_path, lambda s: users_wait(s + 100 * seed), lambda s: users_wait(s + 100 * seed))
    found = compared(a, b)
    assert found.traps == () and found.warnings == ()
    assert {row.metric: row.verdict for row in found.rows if row.verdict is None} == {"p99.9": None}
    assert not [row for row in found.rows if row.verdict is Verdict.DIFFERENT]


def test_open_arms_of_one_rate_fall_into_none(tmp_path: Path) -> None:
    found = compared(*write_arms(tmp_path, arrivals(50.0), arrivals(50.0)))  # type: ignore[arg-type]
    assert named(found) == []


def test_one_run_an_arm_has_no_verdict_and_no_p(tmp_path: Path) -> None:
    a, b = write_arms(tmp_path, order=((0,), (1,)))
    found = compared(a, b)
    assert named(found) == ["one_run"]
    row = found.row("mean")
    assert row is not None and row.ratio is not None and row.low is None and row.p_adjusted is None
    assert row.verdict is None and row.why == "one run each: no verdict"
    assert "p-value" not in str(found.as_json()) and {row.p_adjusted for row in found.rows} == {None}


def test_one_run_in_one_arm_says_which(tmp_path: Path) -> None:
    found = compared(*write_arms(tmp_path, order=((1,), (0, 2, 3))))
    assert found.traps[0].text.startswith("one run in arm A: no verdict")


def test_different_rates_of_an_open_loop(tmp_path: Path) -> None:
    found = compared(*write_arms(tmp_path, arrivals(50.0), arrivals(75.0)))  # type: ignore[arg-type]
    assert named(found) == ["different_rates"]
    assert withheld(found) == {"throughput", *LATENCIES} - {"p99.9"}


def test_different_loops_and_numbers_of_users(tmp_path: Path) -> None:
    found = compared(*write_arms(tmp_path / "loops", users_wait, arrivals(50.0)))  # type: ignore[arg-type]
    assert named(found) == ["different_loops"] and "open" in found.traps[0].text
    found = compared(*write_arms(tmp_path / "users", users_wait, lambda seed: users_wait(seed, users=20)))
    assert named(found) == ["different_loops"] and "A had 10 users, B 20" in found.traps[0].text


@pytest.mark.parametrize(
    ("column", "values"), [("Hostname", ("gen1", "gen2")), ("URL", ("http://a/x", "http://b/x"))]
)
def test_different_machines(tmp_path: Path, column: str, values: tuple[str, str]) -> None:
    a, b = write_arms(tmp_path)
    for arm, value in zip((a, b), values, strict=True):
        for path in arm.iterdir():
            change_rows(path, lambda _, row, value=value: row.update({column: value}))  # type: ignore[misc]
    found = compared(a, b)
    assert named(found) == ["different_machines"] and withheld(found) == set()
    for path in b.iterdir():
        change_rows(path, lambda _, row: row.update({column: values[0]}))
    assert named(compared(a, b)) == []


@pytest.mark.parametrize("order", [((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)), ((4, 6, 7, 8, 9), (0, 1, 2, 3, 5))])
def test_order_confounded_is_withheld_until_it_is_accepted(
    tmp_path: Path, order: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    a, b = write_arms(tmp_path, order=order)
    found = compared(a, b)
    assert named(found) == ["order_confounded"]
    assert all(row.verdict is None for row in found.rows)
    accepted = compared(a, b, accept=["order_confounded"])
    assert named(accepted) == ["order_confounded"] and "(accepted)" in accepted.traps[0].text
    assert any(row.verdict is not None for row in accepted.rows)


def test_mixed_units_by_what_a_file_says_and_by_what_arms_say(tmp_path: Path) -> None:
    a, b = write_arms(tmp_path / "one")
    write_load(b / "run0.jtl", users_wait(77), elapsed_per_s=1e6)
    found = compared(a, b)
    assert "mixed_units" in named(found) and withheld(found) >= {"mean", "p50", "p99"}
    bare = ("timeStamp", "elapsed", "label", "responseCode", "success")
    a, b = write_arms(tmp_path / "two", arrivals(5.0, 300), arrivals(5.0, 300), columns=bare)  # type: ignore[arg-type]
    for path in b.iterdir():
        change_rows(path, lambda _, row: row.update(elapsed=str(1000 * int(row["elapsed"]))))
    assert "mixed_units" in named(compared(a, b))


@pytest.mark.parametrize("packed", [False, True])
def test_truncated_files(tmp_path: Path, packed: bool) -> None:
    a, b = write_arms(tmp_path)
    path = b / "run2.jtl"
    data = gzip.compress(path.read_bytes()) if packed else path.read_bytes()
    path.write_bytes(data[:-9] if not packed else data[: len(data) - 40])
    found = compared(a, b)
    assert named(found) == ["truncated_file"] and "run2.jtl" in found.traps[0].text


def test_a_run_that_ends_long_before_the_others(tmp_path: Path) -> None:
    a, b = write_arms(tmp_path)
    lines = (b / "run2.jtl").read_text().splitlines()
    (b / "run2.jtl").write_text("\n".join([*lines[: len(lines) // 3], ""]))
    assert "truncated_file" in named(compared(a, b))


@pytest.mark.parametrize("packed", [False, True])
def test_the_same_file_in_both_arms_or_twice_in_one(tmp_path: Path, packed: bool) -> None:
    a, b = write_arms(tmp_path)
    if packed:
        (b / "copy.jtl").write_bytes(gzip.compress((a / "run1.jtl").read_bytes()))
    else:
        shutil.copy(b / "run0.jtl", b / "again.jtl")
    found = compared(a, b)
    assert named(found) == ["same_file"] and all(row.verdict is None for row in found.rows)


def test_different_labels_and_another_mix(tmp_path: Path) -> None:
    a, b = write_arms(tmp_path)
    for arm, every in ((a, 2), (b, 4)):
        for path in arm.iterdir():
            change_rows(path, lambda n, row, every=every: row.update(label="x" if n % every else "y"))  # type: ignore[misc]
    found = compared(a, b)
    assert named(found) == ["different_labels"]
    assert all(row.verdict is None for row in found.rows if row.label is None)
    assert any(row.verdict is not None for row in found.rows if row.label == "x")
    for path in b.iterdir():
        change_rows(path, lambda n, row: row.update(label="z" if n % 2 else "y"))
    found = compared(a, b)
    assert named(found) == ["different_labels"] and "only A: x; only B: z" in found.traps[0].text


def fail(path: Path, every: int) -> None:
    def change(n: int, row: dict[str, str]) -> None:
        if n % every == 0:
            row.update(elapsed="1", Latency="1", Connect="0", success="false", responseCode="500")

    change_rows(path, change)


def test_errors_faster_than_answers(tmp_path: Path) -> None:
    a, b = write_arms(tmp_path)
    for number, path in enumerate(sorted(b.iterdir())):
        fail(path, 8 + number)
    found = compared(a, b)
    assert named(found) == ["fast_errors"] and "in B" in found.traps[0].text
    errors = found.row("errors")
    assert errors is not None and errors.verdict is Verdict.DIFFERENT and errors.ratio is None
    assert errors.difference == pytest.approx(0.1, abs=0.01)


def users_come(seed: int) -> Load:
    """One user after the other, over two fifths of the run."""
    load = users_wait(seed, each=400)
    return Load(
        start=load.start + load.thread / load.thread.max() * 0.4 * load.start.max(), latency=load.latency,
        thread=load.thread, threads=np.minimum(load.threads, 1 + load.thread), seed=seed,
    )  # fmt: skip


def test_users_who_come_one_by_one_are_a_ramp(tmp_path: Path) -> None:
    a, b = write_arms(tmp_path, users_wait, users_come)
    assert "ramp_included" in named(compared(a, b))


def test_a_cold_beginning_is_seen(tmp_path: Path) -> None:
    def cold(seed: int) -> Load:
        load = open_load(3000, 50.0, 0.02, seed=seed)
        return Load(
            start=load.start, latency=np.where(load.start < 12, 3 * load.latency, load.latency), thread=load.thread,
            threads=load.threads, seed=seed,
        )  # fmt: skip

    a, b = write_arms(tmp_path, arrivals(50.0), cold)  # type: ignore[arg-type]
    found = compared(a, b)
    assert named(found) == ["ramp_included"] and "--skip" in found.traps[0].text
    assert named(compared(a, b, skip_s=15.0)) == []


@pytest.mark.parametrize("jump_s", [-60, 3600])
def test_a_clock_that_jumps(tmp_path: Path, jump_s: int) -> None:
    a, b = write_arms(tmp_path)
    path = b / "run1.jtl"
    n = len(path.read_text().splitlines())

    def jump(number: int, row: dict[str, str]) -> None:
        if number > n // 2:
            row["timeStamp"] = str(int(row["timeStamp"]) + 1000 * jump_s)

    change_rows(path, jump)
    found = compared(a, b)
    assert "clock_jump" in named(found)
    assert "throughput" in withheld(found) and "p50" not in withheld(found)


@pytest.mark.parametrize("name", [*NEVER_ACCEPTED, "no_such"])
def test_what_leaves_nothing_to_say_cannot_be_accepted(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="--accept"):
        compared(*write_arms(tmp_path), accept=[name])


def test_one_run_whose_rhythm_misleads_makes_no_other_loop(tmp_path: Path) -> None:
    arms = []
    for folder in write_arms(tmp_path):
        runs, _ = runs_named([str(folder)], "A")
        arms.append([read_run(one) for one in runs])
    arms[1][2] = replace(arms[1][2], loop="open", users=None)
    assert [trap.name for trap in find_traps((arms[0], arms[1]))] == []
    unknown = [replace(run, loop="cannot say", users=None) for run in arms[0]]
    unknown[0] = replace(unknown[0], loop="open")
    assert [trap.name for trap in find_traps((unknown, arms[1]))] == []


def test_threads_that_write_late_are_no_jump_of_a_clock() -> None:
    start = np.linspace(0.0, 19.99, 2000, dtype=np.float64)
    latency = np.full(2000, 0.01)
    late = np.arange(1000, 1060, 2)
    start[late] -= 3.0
    assert clock_jump(start, latency) is None
    start[1200:] -= 30.0
    assert "backwards by 30" in str(clock_jump(start, latency))
