# SPDX-License-Identifier: Apache-2.0
"""``rematch list``: all experiments in a table, or one with its variants, and why something cannot run here."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.options import Launcher


def list_all(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="experiment to show in detail; default: all, one row each",
            autocompletion=completion.experiments,
        ),
    ] = None,
    launcher: Launcher = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List experiments, variants and profiles, with the reason why any of them cannot run here.

    \b
    Examples:
        rematch list
        rematch list strings-rounds
        rematch list strings-rounds --json
    """
    from harness.cli.list_text import show

    show(experiment, launcher, as_json=as_json)
