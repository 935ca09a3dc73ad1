# SPDX-License-Identifier: Apache-2.0
"""Two arms of JMeter files, made up so that nothing is wrong with them unless a test wants it so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from harness.tests.support.generated_jtl import Load, closed_load, write_load

#: Places in time of A's and of B's runs.
TURNS = ((0, 3, 4, 7, 8), (1, 2, 5, 6, 9))
RUN_S = 100.0


def users_wait(seed: int, *, users: int = 10, median_s: float = 0.05, each: int = 200) -> Load:
    """Users who send again when their answer has come."""
    return closed_load(users, each, median_s, seed=seed)


def write_arms(
    folder: Path,
    a: Callable[[int], Load] = users_wait,
    b: Callable[[int], Load] = users_wait,
    *,
    order: Sequence[Sequence[int]] = TURNS,
    columns: Sequence[str] | None = None,
) -> tuple[Path, Path]:
    """Write a folder of runs an arm, each run 100 s after the one before; return both folders."""
    arms = []
    for name, load, places in zip("ab", (a, b), order, strict=True):
        arm = folder / name
        arm.mkdir(parents=True)
        for number, place in enumerate(places):
            made = load(place)
            made = replace(made, start=made.start + RUN_S * place)
            path = arm / f"run{number}.jtl"
            write_load(path, made) if columns is None else write_load(path, made, columns)
        arms.append(arm)
    return arms[0], arms[1]


def change_rows(path: Path, change: Callable[[int, dict[str, str]], None]) -> None:
    """Change the rows of a file: the number of each, and its fields by name; new fields become columns."""
    head, *lines = path.read_text("utf-8").splitlines()
    names = head.split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    for number, row in enumerate(rows):
        change(number, row)
    path.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows), ""]), "utf-8")
