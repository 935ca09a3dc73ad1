# SPDX-License-Identifier: Apache-2.0
"""``rematch passport``: a self-test of two minutes that says which ratios this machine can tell."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import completion
from harness.project import find_root


def passport_command(
    profile: Annotated[
        str,
        typer.Option(
            help="quick: two minutes; full: a quarter of an hour; smoke: a test run",
            autocompletion=completion.profiles,
        ),
    ] = "quick",
    last: Annotated[bool, typer.Option("--last", help="print the newest passport; measure nothing")] = False,
    duet: Annotated[
        bool,
        typer.Option("--duet", help="also measure the pairs side by side, and tell which design is better"),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Run a self-test: which ratios can sessions on this machine tell from 1?

    One Go service runs twice in each block, in fresh processes. The spread
    between the two gives the smallest ratio that 5, 10 and 20 blocks find in 80 % of
    sessions, for each metric, with and without blocks.

    The session is kept (data/raw/passport) and compared with earlier ones of the
    same machine: has it become noisier?

    With --duet the same pairs run side by side as well, a minute more. From both
    follows how wide the intervals of half an hour would be by each design, and
    whether a duet gains anything here.

    \b
    Examples:
        rematch passport
        rematch passport --duet
        rematch passport --last --json
    """
    from harness.cli.passport_text import show

    show(find_root(), profile, last=last, duet=duet, as_json=as_json)
