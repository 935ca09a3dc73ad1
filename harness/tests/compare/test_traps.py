# SPDX-License-Identifier: Apache-2.0
"""Each of the twelve traps is named where it is, and none where it is not."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from harness.errors import InputError
from harness.formats.run_parts import clock_jump
from harness.model import Verdict
from harness.report.compare.comparing import compare_files
from harness.report.compare.reading import read_run, runs_named
from harness.report.compare.result import LATENCIES, Comparison
from harness.report.compare.traps import NEVER_ACCEPTED, TRAPS, find_traps
from harness.tests.support import generated_jtl as jtl

BARE = ("timeStamp", "elapsed", "label", "responseCode", "success")
Made = Callable[[int], jtl.Load]


def compared(a: Path, b: Path, **options: Any) -> Comparison:
    return compare_files([str(a)], [str(b)], **options)


def named(found: Comparison) -> list[str]:
    return [trap.name for trap in found.traps]


def withheld(found: Comparison) -> set[str]:
    return {row.metric for row in found.rows if row.verdict is None and row.why.startswith("no verdict")}


def arrivals(rate_per_s: float, n: int = 3000) -> Made:
    return lambda seed: jtl.open_load(n, rate_per_s, 0.02, seed=seed)


def cold(seed: int) -> jtl.Load:
    load = jtl.open_load(3000, 50.0, 0.02, seed=seed)
    return replace(load, latency=np.where(load.start < 12, 3 * load.latency, load.latency))


def users_come(seed: int) -> jtl.Load:
    """One user after the other, over two fifths of the run."""
    load = jtl.users_wait(seed, each=400)
    late = load.thread / load.thread.max() * 0.4 * load.start.max()
    return replace(load, start=load.start + late, threads=np.minimum(load.threads, 1 + load.thread))


def change_all(arm: Path, change: Callable[[int, dict[str, str]], None]) -> None:
    for path in sorted(arm.iterdir()):
        jtl.change_rows(path, change)


def set_in(column: str, *values: str) -> Callable[[Path, Path], None]:
    """Give a column one value in A, another in B."""

    def change(a: Path, b: Path) -> None:
        for arm, value in zip((a, b), values, strict=True):
            change_all(arm, lambda _, row, value=value: row.update({column: value}))  # type: ignore[misc]

    return change


def a_thousand_times(a: Path, b: Path) -> None:
    change_all(b, lambda _, row: row.update(elapsed=str(1000 * int(row["elapsed"]))))


def labels(a: Path, b: Path) -> None:
    change_all(a, lambda n, row: row.update(label="x" if n % 2 else "y"))
    change_all(b, lambda n, row: row.update(label="z" if n % 2 else "y"))


def mix(a: Path, b: Path) -> None:
    change_all(a, lambda n, row: row.update(label="x" if n % 2 else "y"))
    change_all(b, lambda n, row: row.update(label="x" if n % 4 else "y"))


def failing(a: Path, b: Path) -> None:
    failed = {"elapsed": "1", "Latency": "1", "Connect": "0", "success": "false", "responseCode": "500"}
    for number, path in enumerate(sorted(b.iterdir())):
        jtl.change_rows(path, lambda n, row, every=8 + number: row.update({} if n % every else failed))  # type: ignore[misc]


def jumping(seconds: int) -> Callable[[Path, Path], None]:
    def change(a: Path, b: Path) -> None:
        n = len((b / "run1.jtl").read_text().splitlines())

        def jump(number: int, row: dict[str, str]) -> None:
            if number > n // 2:
                row["timeStamp"] = str(int(row["timeStamp"]) + 1000 * seconds)

        jtl.change_rows(b / "run1.jtl", jump)

    return change


def cut(bytes_: int, *, packed: bool = False) -> Callable[[Path, Path], None]:
    def change(a: Path, b: Path) -> None:
        data = (b / "run2.jtl").read_bytes()
        (b / "run2.jtl").write_bytes((gzip.compress(data) if packed else data)[:-bytes_])

    return change


def short(a: Path, b: Path) -> None:
    lines = (b / "run2.jtl").read_text().splitlines()
    (b / "run2.jtl").write_text("\n".join([*lines[: len(lines) // 3], ""]))


class Case(NamedTuple):
    """Loads of both arms, what becomes of their files, the trap, a part of its text, and what it withholds."""

    trap: str
    text: str = ""
    a: Made = jtl.users_wait
    b: Made = jtl.users_wait
    change: Callable[[Path, Path], None] | None = None
    withheld: set[str] | None = None
    options: dict[str, Any] = {}  # noqa: RUF012  # nobody changes it


ORDERS = {
    "all before": ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)),
    "nearly all before": ((4, 6, 7, 8, 9), (0, 1, 2, 3, 5)),
}
CASES = {
    "rates": Case("different_rates", a=arrivals(50.0), b=arrivals(75.0), withheld={"throughput", *LATENCIES} - {"p99.9"}),
    "loops": Case("different_loops", "open", b=arrivals(50.0)),
    "users": Case("different_loops", "A had 10 users, B 20", b=lambda seed: jtl.users_wait(seed, users=20)),
    "generators": Case("different_machines", change=set_in("Hostname", "gen1", "gen2"), withheld=set()),
    "services": Case("different_machines", change=set_in("URL", "http://a/x", "http://b/x"), withheld=set()),
    **{name: Case("order_confounded", options={"order": order}) for name, order in ORDERS.items()},
    "units of an arm": Case("mixed_units", a=arrivals(5.0, 300), b=arrivals(5.0, 300), change=a_thousand_times,
                            options={"columns": BARE}),
    "a cut row": Case("truncated_file", "run2.jtl", change=cut(9)),
    "a cut stream": Case("truncated_file", "run2.jtl", change=cut(40, packed=True)),
    "a short run": Case("truncated_file", change=short),
    "other labels": Case("different_labels", "only A: x; only B: z", change=labels),
    "another mix": Case("different_labels", change=mix),
    "fast errors": Case("fast_errors", "in B", change=failing),
    "users come": Case("ramp_included", b=users_come),
    "a cold beginning": Case("ramp_included", "--skip", a=arrivals(50.0), b=cold),
    "a clock set back": Case("clock_jump", change=jumping(-60)),
    "a clock set on": Case("clock_jump", change=jumping(3600)),
}  # fmt: skip
#: Cases that show another trap, too.
AMONG_OTHERS = {"units of an arm", "a short run", "users come", "a clock set back", "a clock set on"}


@pytest.mark.parametrize("name", CASES)
def test_a_trap_is_named_and_withholds_its_verdicts(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    a, b = jtl.write_arms(tmp_path, case.a, case.b, **case.options)
    if case.change is not None:
        case.change(a, b)
    found = compared(a, b)
    assert named(found) == [case.trap] or (name in AMONG_OTHERS and case.trap in named(found))
    assert case.text in next(trap.text for trap in found.traps if trap.name == case.trap)
    if case.withheld is not None:
        assert withheld(found) == case.withheld
    if case.trap == "order_confounded":
        assert all(row.verdict is None for row in found.rows)
        accepted = compared(a, b, accept=[case.trap])
        assert "(accepted)" in accepted.traps[0].text and any(row.verdict for row in accepted.rows)
    if case.trap == "clock_jump":
        assert "throughput" in withheld(found) and "p50" not in withheld(found)
    if name == "another mix":
        assert all(row.verdict is None for row in found.rows if row.label is None)
        assert any(row.verdict is not None for row in found.rows if row.label == "x")
    if name == "fast errors":
        errors = found.row("errors")
        assert errors is not None and errors.verdict is Verdict.DIFFERENT and errors.ratio is None
        assert errors.difference == pytest.approx(0.1, abs=0.01)
    if name == "a cold beginning":
        assert named(compared(a, b, skip_s=15.0)) == []


@pytest.mark.parametrize("seed", range(3))
def test_good_arms_fall_into_none(tmp_path: Path, seed: int) -> None:
    assert len(TRAPS) == 12
    found = compared(*jtl.write_arms(tmp_path / "users", *[lambda s: jtl.users_wait(s + 100 * seed)] * 2))
    assert found.traps == () and found.warnings == ()
    assert {row.metric: row.verdict for row in found.rows if row.verdict is None} == {"p99.9": None}
    assert not [row for row in found.rows if row.verdict is Verdict.DIFFERENT]
    assert named(compared(*jtl.write_arms(tmp_path / "open", arrivals(50.0), arrivals(50.0)))) == []


def test_one_run_an_arm_has_no_verdict_and_no_p(tmp_path: Path) -> None:
    found = compared(*jtl.write_arms(tmp_path / "each", order=((0,), (1,))))
    row = found.row("mean")
    assert named(found) == ["one_run"] and row is not None
    assert row.ratio is not None and row.low is None and row.verdict is None
    assert row.why == "one run each: no verdict" and {row.p_adjusted for row in found.rows} == {None}
    found = compared(*jtl.write_arms(tmp_path / "one", order=((1,), (0, 2, 3))))
    assert found.traps[0].text.startswith("one run in arm A: no verdict")


def test_units_that_a_file_contradicts_by_itself(tmp_path: Path) -> None:
    a, b = jtl.write_arms(tmp_path)
    jtl.write_load(b / "run0.jtl", jtl.users_wait(77), elapsed_per_s=1e6)
    found = compared(a, b)
    assert "mixed_units" in named(found) and withheld(found) >= {"mean", "p50", "p99"}


@pytest.mark.parametrize("packed", [False, True])
def test_the_same_file_in_both_arms_or_twice_in_one(tmp_path: Path, packed: bool) -> None:
    a, b = jtl.write_arms(tmp_path)
    if packed:
        (b / "copy.jtl").write_bytes(gzip.compress((a / "run1.jtl").read_bytes()))
    else:
        shutil.copy(b / "run0.jtl", b / "again.jtl")
    found = compared(a, b)
    assert named(found) == ["same_file"] and all(row.verdict is None for row in found.rows)


@pytest.mark.parametrize("name", [*NEVER_ACCEPTED, "no_such"])
def test_what_leaves_nothing_to_say_cannot_be_accepted(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="--accept"):
        compared(*jtl.write_arms(tmp_path), accept=[name])


def test_one_run_whose_rhythm_misleads_makes_no_other_loop(tmp_path: Path) -> None:
    folders = jtl.write_arms(tmp_path)
    arms = [[read_run(one) for one in runs_named([str(folder)], "A")[0]] for folder in folders]
    arms[1][2] = replace(arms[1][2], loop="open", users=None)
    assert find_traps((arms[0], arms[1])) == ()
    unknown = [replace(run, loop="cannot say", users=None) for run in arms[0]]
    unknown[0] = replace(unknown[0], loop="open")
    assert find_traps((unknown, arms[1])) == ()


def test_threads_that_write_late_are_no_jump_of_a_clock() -> None:
    start, latency = np.linspace(0.0, 19.99, 2000, dtype=np.float64), np.full(2000, 0.01)
    start[np.arange(1000, 1060, 2)] -= 3.0
    assert clock_jump(start, latency) is None
    start[1200:] -= 30.0
    assert "backwards by 30" in str(clock_jump(start, latency))
