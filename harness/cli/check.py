# SPDX-License-Identifier: Apache-2.0
"""``rematch check``: what a machine can do, what it is fit for, and which ratios it can tell."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.check_here import check_here
from harness.cli.options import AsJson, Host
from harness.errors import InputError


def check_command(
    host: Host = "local",
    machine: Annotated[
        bool,
        typer.Option("--machine", help="measure for two minutes which ratios sessions here can tell from 1"),
    ] = False,
    last: Annotated[
        bool, typer.Option("--last", help="with --machine: print the newest result; measure nothing")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List available and missing tools with install commands, and report how idle the machine is.

    With --machine one Go service runs twice in each block, in fresh processes. The spread between the two gives the
    smallest ratio that 5, 10 and 20 blocks find in 80 % of sessions, for each metric. The session is kept
    (data/raw/passport) and compared with earlier ones of the same machine: has it become noisier?

    Exit status 1: something that measuring requires is missing.

    \b
    Examples:
        rematch check
        rematch check --json
        rematch check --host bighost
        rematch check --machine
    """
    if host != "local" and machine:
        raise InputError("is about this machine", place="--machine", allowed="no --host")
    if host != "local":
        from harness.cli.check_remote import check_remote  # paramiko, which reading does not need

        check_remote(host, as_json=as_json)
    elif machine or last:
        from harness.cli.check_machine import check_machine  # pandas and scipy, which a look needs not

        check_machine(last=last, as_json=as_json)
    elif not check_here(as_json=as_json):
        raise typer.Exit(1)
