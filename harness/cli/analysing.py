# SPDX-License-Identifier: Apache-2.0
"""``rematch tidy``, ``rematch report`` and ``rematch verify``: thin doors to the analysis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.cli import completion
from harness.project import find_root

if TYPE_CHECKING:
    from harness.analysis.verify import VerifyResult

SIGSTOP = "sigstop"
#: Pauses that ``verify sigstop`` makes unless told otherwise.
SIGSTOP_PAUSES = 20


def tidy_command(
    experiment: Annotated[
        str | None,
        typer.Argument(help="only this one; default: all", autocompletion=completion.experiments),
    ] = None,
) -> None:
    """From raw records to tables below data/processed; exclusions are counted and shown.

    Examples:

        rematch tidy

        rematch tidy strings-rounds
    """
    from harness.analysis.tidy import tidy

    done = tidy(find_root(), None if experiment is None else [experiment])
    print(f"{done.n_fresh} trials read, {done.n_unchanged} unchanged")
    for one in done.experiments:
        counts = f"{one.n_planned} planned, {one.n_made} made, {one.n_kept} kept, {one.n_excluded} excluded"
        print(f"{one.experiment}: {counts}")
        for excluded in one.excluded:
            print(f"  {excluded.trial}: {excluded.kind}: {excluded.reason}")
        for problem in one.problems:
            print(f"  {problem}")


def report_command(
    paths: Annotated[
        list[Path],
        typer.Argument(help="JMeter, Locust, oha or vegeta CSV files, or wrk texts, from anywhere"),
    ],
    gc: Annotated[
        Path | None,
        typer.Option(
            help="the service's pauses: a JVM's log, a flight recording by jfr print --json, or Go's gctrace"
        ),
    ] = None,
    process_start: Annotated[
        float | None,
        typer.Option(help="when the service started, as a Unix time: for a log that counts from there"),
    ] = None,
    samples: Annotated[
        Path | None, typer.Option(help="resource samples taken beside it: a csv like a trial's samples.csv")
    ] = None,
    latency_unit: Annotated[
        str | None,
        typer.Option(
            help="s, ms, us or ns: of the column elapsed, where a JMeter file is not in milliseconds"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    html: Annotated[
        Path | None, typer.Option(help="also write a self-contained page with plots there")
    ] = None,
) -> None:
    """Analyse load results that need not come from here: counts, errors, rates, quantiles, stalls.

    Examples:

        rematch report results.jtl

        rematch report results.jtl --gc gc.log --json

        rematch report results.jtl --gc gc.log --html peaks.html

        rematch report results.jtl --samples samples.csv

        rematch report converted.csv --latency-unit us
    """
    from harness.analysis.report_output import main
    from harness.formats.jtl_units import latency_unit_named

    main(
        paths,
        gc=gc,
        process_start_epoch_s=process_start,
        samples=samples,
        latency_unit=latency_unit_named(latency_unit),
        as_json=as_json,
        html=html,
    )


def verify_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="which; default: all", autocompletion=completion.verifications),
    ] = None,
    sims: Annotated[
        int | None, typer.Option(help="simulated experiments a cell; default: what the bar is meant for")
    ] = None,
    seed: Annotated[int, typer.Option(help="the same seed gives the same numbers")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
) -> None:
    """Simulations that show the statistics right, each with a control that shows the simulator bites.

    Ends with 1 when a bar does not hold.

    Examples:

        rematch verify coverage

        rematch verify aa power --sims 500 --seed 7
    """
    from harness.analysis.verify import VERIFICATIONS, run_verify
    from harness.verify_sigstop import sigstop

    results = []
    for name in names or [*VERIFICATIONS, SIGSTOP]:
        # A real process is stopped and continued: the measuring side does that, not the analysis.
        results.append(
            sigstop(sims or SIGSTOP_PAUSES, seed) if name == SIGSTOP else run_verify(name, sims, seed)
        )
        if not as_json:
            show_verification(results[-1])
    if as_json:
        plain = [result.model_dump(mode="json") for result in results]
        print(json.dumps(plain[0] if len(plain) == 1 else plain, indent=2))
    if not all(result.holds for result in results):
        raise typer.Exit(1)


def show_verification(result: VerifyResult) -> None:
    """Print one verification: its bar, its control, and every cell with its limits."""
    table = Table(
        title=f"{result.name}: {result.bar}", title_justify="left", caption=f"control: {result.control}"
    )
    for column in ("cell", "value", "limits", ""):
        table.add_column(column)
    for cell in result.cells:
        low = "" if cell.at_least is None else f">= {cell.at_least:g} "
        high = "" if cell.at_most is None else f"<= {cell.at_most:g}"
        table.add_row(
            f"{cell.name}{' (control)' if cell.control else ''}",
            f"{cell.value:.4g}",
            low + high,
            "holds" if cell.holds else "DOES NOT HOLD",
        )
    console = Console()
    console.print(table)
    console.print(
        f"{result.name}: {'holds' if result.holds else 'does not hold'}, {result.sims} simulations, seed {result.seed}"
    )
