# SPDX-License-Identifier: Apache-2.0
"""``rematch report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import end_with


def report_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="result files of load tools (docs/report.md lists them); FILE+FILE is one run of several generators"
        ),
    ],
    gc: Annotated[
        list[Path] | None,
        typer.Option(
            help="GC log of the service: JVM unified log, `jfr print --json` output, or Go gctrace; may be repeated"
        ),
    ] = None,
    process_start: Annotated[
        float | None,
        typer.Option(help="Unix time of the service's start, for a GC log that counts from there"),
    ] = None,
    latency_unit: Annotated[
        str | None,
        typer.Option(help="unit of the column `elapsed` of a JMeter file: s, ms, us or ns; default: ms"),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="decimal sign of a JMeter file that a spreadsheet has written: . or ,"),
    ] = None,
    label: Annotated[str | None, typer.Option(help="analyse the requests of this name only")] = None,
    skip: Annotated[
        str, typer.Option(help="span to leave out at the beginning, such as a ramp: 10s, 500ms, 2m")
    ] = "0",
    begin: Annotated[
        str | None, typer.Option("--from", help="only requests that begin after this span, such as 30s")
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", help="only requests that begin before the end of this span, such as 5m"),
    ] = None,
    percentiles: Annotated[
        str | None, typer.Option(help="percentiles to show instead of the usual ones, such as 50,99,99.99")
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="limit on a number of the file, such as 'p99 > 250ms', 'throughput < 500', 'errors > 1%' or "
            "'p90 of GET /orders > 80ms'; may be repeated"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    html: Annotated[
        Path | None, typer.Option(help="also write a self-contained page with plots to this file")
    ] = None,
) -> None:
    """Analyse result files of any load test: requests, errors, rates, percentiles, stalls.

    Exit status 1: a limit of --fail-if is exceeded. Exit status 2: a limit cannot be judged, or a file cannot be
    read.

    \b
    Examples:
        rematch report results.jtl
        rematch report results.jtl --gc gc.log --json
        rematch report results.jtl --gc gc.log --html peaks.html
        rematch report converted.csv --latency-unit us
        rematch report spreadsheet.csv --decimal , --latency-unit ms
        rematch report results.jtl --label "GET /orders" --skip 10s
        rematch report results.jtl --from 30s --to 5m --percentiles 50,99,99.99
        rematch report generator-1.jtl+generator-2.jtl
        rematch report results.jtl --fail-if "p99 > 250ms" --fail-if "errors > 1%"
    """
    from harness.formats.jtl_units import how_named
    from harness.report import limits, output, selection

    watched = [limits.file_limit(text) for text in fail_if or ()]
    checked = output.main(
        paths,
        gc=gc or (),
        process_start_epoch_s=process_start,
        how=how_named(latency_unit, decimal),
        as_json=as_json,
        html=html,
        selection=selection.selection_named(label=label, skip=skip, begin=begin, end=end),
        limits=watched,
        quantiles=limits.quantiles_named(percentiles, watched),
    )
    end_with(checked)
