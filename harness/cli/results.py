# SPDX-License-Identifier: Apache-2.0
"""``rematch results``: what a session says, in words and in tables."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import completion
from harness.project import find_root


def results_command(
    experiment: Annotated[
        str,
        typer.Argument(
            help="name of an experiment, path of its TOML file, or name of a question of the paper",
            autocompletion=completion.measured,
        ),
    ],
    session: Annotated[
        str | None,
        typer.Option(
            help="session, such as quick-local-1; default: the newest one measured here, else the bundled one"
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="throughput, mean, p99, cpu, memory, start, or a question's results; may be repeated; default: all",
            autocompletion=completion.metrics,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="another session: also print on which verdicts the two agree"),
    ] = None,
    every_speed: Annotated[
        bool,
        typer.Option(
            "--every-speed",
            help="also use trials that were left out for the speed of their CPUs, in both sessions",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Compare every variant of a session with the reference: ratio, interval and verdict by metric.

    Of a question that publishes rows, such as startup, print them. Exit status 1: no trial of the session has a result.

    \b
    Examples:
        rematch results startup --metric first
        rematch results strings-rounds
        rematch results strings-rounds --metric p99 --metric cpu
        rematch results strings-rounds --session bundled/quick-local-1 --json
        rematch results strings-warm --session quick-local-9 --against quick-local-8
        rematch results strings-warm --every-speed
    """
    from harness.cli.results_session import show

    if not show(
        find_root(), experiment, session, metric or [], against, every_speed=every_speed, as_json=as_json
    ):
        raise typer.Exit(1)
