# SPDX-License-Identifier: Apache-2.0
"""``rematch report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report_command(
    paths: Annotated[
        list[Path],
        typer.Argument(help="result files of load tools (docs/report.md lists them)"),
    ],
    gc: Annotated[
        Path | None,
        typer.Option(help="GC log of the service: JVM unified log, `jfr print --json` output, or Go gctrace"),
    ] = None,
    process_start: Annotated[
        float | None,
        typer.Option(help="Unix time of the service's start, for a GC log that counts from there"),
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(help="resource samples of the same period: a CSV file like a trial's samples.csv"),
    ] = None,
    latency_unit: Annotated[
        str | None,
        typer.Option(help="unit of the column `elapsed` of a JMeter file: s, ms, us or ns; default: ms"),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="decimal sign of a JMeter file that a spreadsheet has written: . or ,"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    html: Annotated[
        Path | None, typer.Option(help="also write a self-contained page with plots to this file")
    ] = None,
) -> None:
    """Analyse result files of any load test: requests, errors, rates, percentiles, stalls.

    Examples:

        rematch report results.jtl

        rematch report results.jtl --gc gc.log --json

        rematch report results.jtl --gc gc.log --html peaks.html

        rematch report results.jtl --samples samples.csv

        rematch report converted.csv --latency-unit us

        rematch report spreadsheet.csv --decimal , --latency-unit ms
    """
    from harness.formats.jtl_units import decimal_named, latency_unit_named
    from harness.report.output import main

    main(
        paths,
        gc=gc,
        process_start_epoch_s=process_start,
        samples=samples,
        latency_unit=latency_unit_named(latency_unit),
        decimal=decimal_named(decimal),
        as_json=as_json,
        html=html,
    )
