# SPDX-License-Identifier: Apache-2.0
"""``python -m harness.tests.benchmarks NAME...``: the command line of the benchmarks."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from harness.cli.lines import complain, wrapped
from harness.errors import RematchError
from harness.project import find_root
from harness.session import Interrupted, Silent, suitable_progress
from harness.tests.benchmarks import BENCHMARKS, run_bench
from harness.tests.benchmarks.page import cells, write_page
from harness.tests.benchmarks.result import BenchResult

ALL = "all"


def bench_command(
    names: Annotated[list[str], typer.Argument(help="benchmarks to run, or all")],
    seed: Annotated[
        int, typer.Option(help="random seed of simulated data and of the session of `services`")
    ] = 1,
    profile: Annotated[str, typer.Option(help="profile of the session of `services`")] = "quick",
    session: Annotated[
        str | None, typer.Option(help="EXPERIMENT/SESSION that `overhead` reads; default: the newest")
    ] = None,
    rows: Annotated[
        list[int] | None,
        typer.Option(
            help="in `ingest`, also analyse a file of so many rows, such as 100000000; may be repeated"
        ),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="write the results to docs/benchmarks.md")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Benchmark the harness; all alternatives of a benchmark are measured in one execution.

    Exit status 1: a target does not hold; "cannot say" is not a failure.

    Examples:

        python -m harness.tests.benchmarks ingest

        python -m harness.tests.benchmarks ingest --rows 10000000 --rows 100000000

        python -m harness.tests.benchmarks services --profile smoke

        python -m harness.tests.benchmarks all --write
    """
    root = find_root()
    wanted = list(BENCHMARKS) if ALL in names else names
    results: list[BenchResult] = []
    for name in wanted:
        progress = None if name != "services" else Silent() if as_json else suitable_progress()
        try:
            result = run_bench(
                name,
                root,
                seed=seed,
                long_rows=rows or (),
                profile=profile,
                session=session,
                progress=progress,
            )
        except Interrupted as stop:
            complain(f"rematch: stopped by {stop}; the same command resumes the session")
            raise typer.Exit(stop.exit_code) from None
        except RematchError as problem:
            if ALL not in names:
                raise
            complain(f"not run: {name}: {problem}")
            continue
        results.append(result)
        if not as_json:
            _show(result)
    if write:
        write_page(root, results, BENCHMARKS)
    if as_json:
        plain = [result.model_dump(mode="json") for result in results]
        print(json.dumps(plain[0] if len(wanted) == 1 else plain, indent=1))
    if len(results) < len(wanted) or any(result.holds is False for result in results):
        raise typer.Exit(1)


def _show(result: BenchResult) -> None:
    """Print a benchmark: each number with its range and target, and below it every peer with the ratio."""
    print(wrapped(f"{result.name}: {result.question}"))
    before = ""
    for row in result.rows:
        name, value, spread, peer, peer_value, ratio, target, verdict = cells(row)
        measured = f"{name}: {value}" + (f", range {spread}" if spread else "")
        if measured != before:
            print(wrapped(measured, indent="  ", hang="    "))
        before = measured
        if peer:
            beside = f"{peer}: {peer_value} {row.unit}" if peer_value else f"{peer}: unknown"
            beside += f", ratio {ratio}" if ratio else ""
            print(wrapped(beside, indent="    ", hang="      "))
        elif ratio:
            print(wrapped(f"ratio {ratio}", indent="    ", hang="      "))
        if target:
            print(wrapped(f"target {target}: {verdict}", indent="    ", hang="      "))
    said = dict.fromkeys(row.said for row in result.rows if row.said)
    for note in (*result.notes, *said, result.place):
        print(wrapped(f"- {note}", hang="  "))
    for row in result.rows:
        if row.holds is False:
            print(wrapped(f"{row.name} does not hold: {row.target}"))
    print()


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command()(bench_command)

if __name__ == "__main__":
    try:
        app(prog_name="python -m harness.tests.benchmarks")
    except RematchError as error:
        complain(f"rematch: {error}")
        sys.exit(error.exit_code)
