# SPDX-License-Identifier: Apache-2.0
"""``rematch compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from harness.cli.options import refuse_former
from harness.errors import InputError

#: Former options -> what to use instead, for one release.
_FORMER = dict.fromkeys(
    ("--as-jmeter", "--as-locust"), "the tool's own report; docs/your-own-results.md says how its numbers differ"
)
#: Stands for ``--`` among the paths: click would drop it, and take every option behind it for a path.
_BETWEEN = "\0--"


class ArmsCommand(TyperCommand):
    """A command whose ``--`` divides two lists, with options before and behind it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a word of our own in the place of each ``--``."""
        refuse_former(args, _FORMER)
        return super().parse_args(ctx, [_BETWEEN if word == "--" else word for word in args])


def compare_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="A... -- B...",
            help="runs of both arms. A file is a run; FILE+FILE is one run that several load generators wrote. Of a "
            "folder, each result file is a run, and each folder in it is one run that several generators wrote",
            show_default=False,
        ),
    ],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="limit on a ratio, B over A, such as 'p99 > 1.05', 'throughput < 0.95' or 'p90 of GET /orders > 1.1'; "
            "may be repeated"
        ),
    ] = None,
    skip: Annotated[
        str,
        typer.Option(help="span to leave out at the beginning of each run, such as a ramp: 10s, 500ms, 2m"),
    ] = "0",
    accept: Annotated[
        list[str] | None,
        typer.Option(
            help="trap that does not apply here: it is still listed, but withholds no verdict; may be repeated"
        ),
    ] = None,
    latency_unit: Annotated[
        str | None,
        typer.Option(help="unit of the column `elapsed` of JMeter's files: s, ms, us or ns; default: ms"),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="decimal sign of JMeter's files that a spreadsheet has written: . or ,"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(help="also write a Markdown page to this file, for a pull request; -: print it only"),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="also write a self-contained page with plots to this file")
    ] = None,
) -> None:
    """Compare two arms of load-test runs, B over A: ratio, interval and verdict for each metric.

    The run is the unit: verdicts need 5 or more runs of each arm. With one run each, differences are shown without a
    verdict.

    Exit status 1: a limit of --fail-if is exceeded, that is, the whole 95 % interval lies beyond it. Exit status 2:
    a limit cannot be judged, or a file cannot be read.

    \b
    Examples:
        rematch compare before/*.jtl -- after/*.jtl
        rematch compare before -- after --html page.html
        rematch compare before -- after --fail-if "p99 > 1.05" --markdown comment.md
        rematch compare a/gen1.csv+a/gen2.csv -- b/gen1.csv+b/gen2.csv --json
        rematch compare monday -- tuesday --accept order_confounded
    """
    from harness.cli.compare_text import run

    a, b = _arms(paths)
    run(
        a, b, fail_if=fail_if or (), skip=skip, accept=accept or (), latency_unit=latency_unit, decimal=decimal,
        as_json=as_json, markdown=markdown, html=html,
    )  # fmt: skip


def _arms(paths: list[str]) -> tuple[list[str], list[str]]:
    if (n := paths.count(_BETWEEN)) != 1:
        raise InputError(
            "two arms are compared", found=f"{n} x --", allowed="A... -- B..., with one -- between them"
        )
    place = paths.index(_BETWEEN)
    return paths[:place], paths[place + 1 :]
