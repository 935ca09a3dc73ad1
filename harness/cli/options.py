# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, the status that limits end with, and parts of JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.lines import complain
from harness.errors import RematchError
from harness.project import experiment_paths, find_root

if TYPE_CHECKING:
    from harness.report.limits import Checked


def experiment_names(beginning: str) -> list[str]:
    """Return the experiments whose name begins so, for the Tab key; none where they cannot be read."""
    try:
        return [name for name in experiment_paths(find_root()) if name.startswith(beginning)]
    except RematchError:
        return []


AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
Blocks = Annotated[int | None, typer.Option(help="number of blocks; default: the profile's")]
Experiment = Annotated[
    str,
    typer.Argument(
        help="name of an experiment, or path of its TOML file",
        autocompletion=experiment_names,
        metavar="EXPERIMENT",
    ),
]
Host = Annotated[str, typer.Option(help="host of the services: local, or a name of hosts.toml")]
Launcher = Annotated[
    str | None,
    typer.Option(
        help="how services are started: process, container (docker) or kubernetes; "
        "default: as the experiment says, else process"
    ),
]
Profile = Annotated[
    str, typer.Option(help="how much is measured: smoke (does it work? no verdict), quick or full")
]
ReadyWithin = Annotated[float, typer.Option(help="seconds in which a service has to give its first answer")]
Requests = Annotated[
    Path | None,
    typer.Option(
        help="what the service is asked: lines that begin with curl, or an OpenAPI document; default: such a file in "
        "its folder (requests.curl, openapi.yaml), else the service's own document, else GET /"
    ),
]
Seed = Annotated[int, typer.Option(help="random seed")]


def end_with(checked: Iterable[Any]) -> None:
    """End with status 1 where a limit is exceeded, and with 2 where one cannot be judged; else return.

    Args:
        checked: limits with the fields ``outcome`` and ``text``.
    """
    checked = list(checked)
    if any(item.outcome == "exceeded" for item in checked):
        raise typer.Exit(1)
    unknown = [item.text for item in checked if item.outcome == "cannot be told"]
    if unknown:
        complain(f"rematch: {unknown[0]}")
        raise typer.Exit(2)


def limits_as_plain(checked: Iterable[Checked]) -> list[dict[str, str]]:
    """Return limits on ratios as they stand in JSON."""
    return [{"limit": item.limit.text, "outcome": item.outcome, "text": item.text} for item in checked]


def fields_of(values: object, *names: str) -> dict[str, Any]:
    """Return attributes by their names, as they stand in JSON."""
    return {name: getattr(values, name) for name in names}
