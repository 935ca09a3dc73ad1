# SPDX-License-Identifier: Apache-2.0
"""``rematch verify``: the simulations that show the statistics right."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from harness.cli.options import AsJson, Seed, complain, say
from harness.errors import RematchError
from harness.project import find_root
from harness.provenance import describe_place
from harness.verify import page
from harness.verify.page import ROWS, VerifiedRow, cells, write_page

ALL = "all"


def verify_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="simulations to run; default: all"),
    ] = None,
    sims: Annotated[
        int | None,
        typer.Option(
            help="simulated experiments per cell; default: the number for which the limit is defined"
        ),
    ] = None,
    seed: Seed = 1,
    write: Annotated[bool, typer.Option("--write", help="write the results to docs/")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the simulations that validate the statistics, each with a negative control that must fail.

    A cell whose limit lies inside its interval is marked as undecided.

    Exit status 1: a limit does not hold.

    \b
    Examples:
        rematch verify coverage
        rematch verify aa speed --sims 500 --seed 7
        rematch verify all --write
    """
    root = find_root()
    every = not names or ALL in names
    wanted = list(ROWS) if every else list(names or ())
    place = describe_place(root)
    rows: list[VerifiedRow] = []
    for name in wanted:
        try:
            rows.append(page.verify_row(name, place, sims=sims, seed=seed))
        except RematchError as problem:
            if not every:
                raise
            complain(f"not run: {name}: {problem}")
            continue
        if not as_json:
            _show(rows[-1])
        if write:  # after each row: what ran is kept when the next one is interrupted
            write_page(root, rows[-1:])
    if as_json:
        plain = [row.result.model_dump(mode="json") for row in rows]
        print(json.dumps(plain[0] if len(wanted) == 1 else plain, indent=2))
    elif len(rows) > 1:
        print(f"{len(rows)} rows in {sum(row.wall_s for row in rows):.0f} s")
    if len(rows) < len(wanted) or not all(row.result.holds for row in rows):
        raise typer.Exit(1)


def _show(row: VerifiedRow) -> None:
    """Print one row: its bar, its control, and every cell with its interval and limits."""
    result = row.result
    say(f"{result.name}: {result.bar}")
    say(f"control: {result.control}")
    for cell in result.cells:
        name, value, interval, limit, held = cells(cell)
        text = f"{name}: {value}" + (f", 95 % interval {interval}" if interval else "")
        say(text + (f"; limit {limit}: {held}" if limit else f"; {held}"), indent="  ", hang="    ")
    say(
        f"{result.name}: {'holds' if result.holds else 'does not hold'}"
        f"{f', {len(result.undecided)} undecided' if result.undecided else ''}, {result.sims} simulations, "
        f"seed {result.seed}, {row.wall_s:.1f} s"
    )
