# SPDX-License-Identifier: Apache-2.0
"""``rematch adopt``: the files that a measurement of one's own service needs, written and tried."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.project import find_root


def adopt_command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="folder of the service, anywhere; nothing is written into it"),
    ],
    requests: Annotated[
        Path | None,
        typer.Option(
            help="what the service is asked: lines that begin with curl, or an OpenAPI document; default: such a file "
            "in DIR (requests.curl, openapi.yaml), else the service's own document, else GET /"
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="start command in place of the guess; {port} stands for the port, {host} for the address, {artifact} "
            "for what was built"
        ),
    ] = None,
    build: Annotated[
        str | None, typer.Option(help="build command in place of the guess; '': nothing is built")
    ] = None,
    name: Annotated[str | None, typer.Option(help="name of the experiment; default: that of DIR")] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for the files; default: NAME-rematch in this folder")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="guess again, even if service.toml exists")] = False,
    ready_within: Annotated[
        float, typer.Option(help="seconds in which it has to give its first answer")
    ] = 60.0,
    profile: Annotated[
        str, typer.Option(help="quick (its capacity, in three blocks) or smoke (does everything work?)")
    ] = "quick",
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="write and try the files, and measure nothing")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Write down how a service is started and what it answers, and measure its capacity.

    How it is started follows from package.json, a Procfile, a Compose file or --start, how it is built also from the
    file of a build tool (go.mod, Cargo.toml, pom.xml, build.gradle, requirements.txt); each conclusion is shown with
    its reason, and what is not used of those files as well. These files are written: NAME.toml, the experiment, with
    each guess as a comment; services/NAME/NAME/service.toml, of at most 12 lines, with the start command; the contract,
    which has every request with the answer that the service gives now; and NAME.html, a page of what was measured. Each
    request is sent twice to one process and once to another one; values that change are masked.

    A wrong guess ends in one line with the line of service.toml to change. The same command continues with the changed
    file. A JVM is loaded until it has settled before each trial (warm_up in NAME.toml). No process is left running.

    The last five lines say what was started, what it is asked, what bounded it, how old its process was, and what to
    type next.

    \b
    Examples:
        rematch adopt ../shop --requests calls.curl
        rematch adopt ../shop --requests openapi.yaml --no-measure
        rematch adopt ../shop --build "make" --start "env -C {artifact} MODE=fast ./shop --port {port}"
    """
    from harness.adopt import Order
    from harness.cli.adopt_work import run

    order = Order(
        folder=folder, out=out, name=name, start=start, build=build, requests=requests, ready_s=ready_within,
        again=again,
    )  # fmt: skip
    if not run(find_root(), order, profile=None if no_measure else profile, as_json=as_json):
        raise typer.Exit(1)
