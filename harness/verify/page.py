# SPDX-License-Identifier: Apache-2.0
"""``docs/verify.md``: every row of ``verify`` with its cells, from ``docs/verify.json``, which holds what ran."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pydantic import Field, TypeAdapter

from harness.errors import InputError
from harness.model import Frozen
from harness.model.digits import plain
from harness.verify.real.bound import bound
from harness.verify.real.sigstop import sigstop
from harness.verify.simulated import VERIFICATIONS, Verification, run_verify
from harness.verify.simulated.result import Cell, VerifyResult

#: Rows of real processes -> what makes them, and how many stops or trials of each kind there are by default.
REAL: Mapping[str, Verification] = MappingProxyType(
    {"sigstop": Verification(sigstop, 20), "bound": Verification(bound, 40)}
)
#: In the order of the page.
ROWS = (*VERIFICATIONS, *REAL)
PAGE = Path("docs") / "verify.md"
RECORD = Path("docs") / "verify.json"


class VerifiedRow(Frozen):
    """One row as it ran, and for how long. ``place``: cores, memory and commit; no date, no name of a machine."""

    result: VerifyResult
    wall_s: float = Field(ge=0)
    place: str


_RECORD = TypeAdapter(list[VerifiedRow])


def verify_row(name: str, place: str, *, sims: int | None = None, seed: int = 1) -> VerifiedRow:
    """Run one of ``ROWS`` with ``sims`` experiments a cell (``None``: as many as the bar is meant for).

    Raises:
        InputError: no such row, or too few simulations.
        RematchError: a real service could not be built, or does not answer.
    """
    if name not in ROWS:
        raise InputError("no such verification", place="NAME", found=name, allowed=", ".join((*ROWS, "all")))
    began, real = time.monotonic(), REAL.get(name)
    result = run_verify(name, sims, seed) if real is None else real.run(sims or real.sims, seed)
    return VerifiedRow(result=result, wall_s=time.monotonic() - began, place=place)


HEAD = """\
# Validation of the statistics

Written by `python -m harness verify all --write`; do not edit.
Each row simulates experiments with a known truth, applies the method of the analysis, and compares the result with a \
limit that was set before.
A *control* is a method, or an order of trials, that must fail in the same simulation: where it passes, the simulation \
could not have failed either, and the row does not hold.
The interval is the 95 % interval of the simulation, due to its number of experiments.
It is Wilson's for shares, Poisson's for events per minute or per series, Student's for means; a largest error and a \
median have none.
A cell whose limit lies inside its interval is *undecided*.
A row holds while none of its cells misses a limit by more than its interval leaves open; an undecided cell neither \
holds nor fails.
"""


def write_page(root: Path, rows: Iterable[VerifiedRow]) -> Path:
    """Put the rows into record and page; rows that did not run now stay as they are."""
    by_name = {row.result.name: row for row in (*read_record(root), *rows)}
    ordered = [by_name[name] for name in ROWS if name in by_name]
    (root / RECORD).parent.mkdir(exist_ok=True)
    # computed fields stay out: reading computes them again
    record = _RECORD.dump_python(ordered, mode="json", round_trip=True)
    (root / RECORD).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    (root / PAGE).write_text(render(ordered), "utf-8")
    return root / PAGE


def read_record(root: Path) -> list[VerifiedRow]:
    """Return the rows that the page was made from; none where there is no record yet."""
    path = root / RECORD
    return _RECORD.validate_json(path.read_text("utf-8")) if path.is_file() else []


def render(rows: Sequence[VerifiedRow]) -> str:
    """Return the page: the table of all rows, then one section a row."""
    lines = [
        HEAD,
        "| row | bar | | cells that hold | simulations a cell | seed | time |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        result = row.result
        barred = [cell for cell in result.cells if cell.limits]
        n_open, n_held = len(result.undecided), sum(cell.holds and not cell.close for cell in barred)
        lines.append(
            f"| [{result.name}](#{result.name}) | {result.bar} | {'holds' if result.holds else 'DOES NOT HOLD'} "
            f"| {n_held} of {len(barred)}{f', {n_open} undecided' if n_open else ''} | {result.sims:,} "
            f"| {result.seed} | {row.wall_s:.1f} s |"
        )
    missing = [name for name in ROWS if name not in {row.result.name for row in rows}]
    absent = f"; not run yet: {', '.join(missing)}" if missing else ""
    minutes = sum(row.wall_s for row in rows) / 60
    total = f"The rows above took {minutes:.1f} min, one after the other{absent}."
    return "\n".join([*lines, "", total + "\n", *map(section, rows)])


def section(row: VerifiedRow) -> str:
    """Return one row: its bar, its control and every cell."""
    result = row.result
    lines = "\n".join("| " + " | ".join(cells(cell)) + " |" for cell in result.cells)
    return f"""\
## {result.name}

Bar: {result.bar}.
Control: {result.control}.

| cell | value | 95 % interval | limits | |
|---|--:|---|---|---|
{lines}

- {result.sims:,} simulations a cell, seed {result.seed}, {row.wall_s:.1f} s
- {row.place}
"""


def cells(cell: Cell) -> tuple[str, str, str, str, str]:
    """Return a cell as text: name, value, interval, limits, verdict."""
    interval = "" if cell.low is None or cell.high is None else f"{plain(cell.low)} to {plain(cell.high)}"
    signs = ((">=", cell.at_least), ("<=", cell.at_most))
    limits = ", ".join(f"{sign} {limit:g}" for sign, limit in signs if limit is not None)
    name = f"{cell.name}{' (control)' if cell.control else ''}".replace("|", "\\|")
    held = "undecided" if cell.close else "holds" if cell.holds else "DOES NOT HOLD"
    return name, plain(cell.value), interval, limits, held if limits else "no bar"
