# SPDX-License-Identifier: Apache-2.0
"""``rematch tidy`` and ``rematch report``: thin doors to the analysis."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion
from harness.project import find_root


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

    print(tidy(find_root(), experiment))


def report_command(
    paths: Annotated[list[Path], typer.Argument(help="JMeter or Locust CSV files, from anywhere")],
    gc: Annotated[
        Path | None, typer.Option(help="the service's garbage collection log (JVM, or Go's gctrace)")
    ] = None,
    process_start: Annotated[
        float | None,
        typer.Option(help="when the service started, as a Unix time: for a log that counts from there"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
) -> None:
    """Analyse load results that need not come from here: counts, errors, rates, quantiles, stalls.

    Examples:

        rematch report results.jtl

        rematch report results.jtl --gc gc.log --json
    """
    from harness.analysis.report_output import main

    main(paths, gc=gc, process_start_epoch_s=process_start, as_json=as_json)
