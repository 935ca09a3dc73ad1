# SPDX-License-Identifier: Apache-2.0
"""``rematch try``."""

from __future__ import annotations

from typing import Annotated

import typer


def try_command(
    url: Annotated[str, typer.Argument(metavar="URL", help="http address of a service that runs")],
    method: Annotated[str, typer.Option(help="method of the request")] = "GET",
    header: Annotated[
        list[str] | None, typer.Option(help="header of the request, 'Name: value'; may be repeated")
    ] = None,
    body: Annotated[str | None, typer.Option(help="body of the request")] = None,
    seconds: Annotated[int, typer.Option(help="how long all of it should take", min=20, max=3600)] = 60,
    permitted: Annotated[
        bool,
        typer.Option(
            "--i-have-permission",
            help="load another host than this machine; only with its owner's permission",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Load a running service for a minute: how much it answers, and where waiting begins.

    Asks a few times first, and offers no load to a service that refuses or changes its answers. Then users who wait
    (closed loop), then rates (open loop). The leanest load tool that is installed is used; else threads of this
    program.

    Exit status 1: the service is not fit to be loaded, or does not answer any more afterwards. Exit status 2: no
    answer, or the host may not be loaded.

    \b
    Examples:
        rematch try http://127.0.0.1:8080/hello
        rematch try http://localhost:3000/orders --method POST --header "Content-Type: application/json" --body "{}"
        rematch try http://127.0.0.1:8080/hello --seconds 120 --json
    """
    from harness.cli.try_text import run, target_named

    target = target_named(url, method=method, headers=header or (), body=body, permitted=permitted)
    if not run(target, seconds, as_json=as_json):
        raise typer.Exit(1)
