# SPDX-License-Identifier: Apache-2.0
"""``rematch report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report_command(
    paths: Annotated[
        list[Path],
        typer.Argument(help="files of JMeter, Locust, k6, oha, vegeta, wrk or wrk2, from anywhere"),
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
    decimal: Annotated[
        str | None,
        typer.Option(
            help="the sign before fractions in a JMeter file that went through a spreadsheet: . or ,"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    html: Annotated[
        Path | None, typer.Option(help="also write a self-contained page with plots there")
    ] = None,
) -> None:
    """Analyse load results that need not come from here: requests, errors, rates, percentiles, stalls.

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
