# SPDX-License-Identifier: Apache-2.0
"""``rematch compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from harness.cli.options import end_with, limits_as_plain
from harness.errors import InputError

#: Stands for ``--`` among the paths: click would drop it, and take every option behind it for a path.
_BETWEEN = "\0--"


class ArmsCommand(TyperCommand):
    """A command whose ``--`` divides two lists, with options before and behind it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a word of our own in the place of each ``--``."""
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
    as_jmeter: Annotated[
        bool, typer.Option("--as-jmeter", help="also print what JMeter's Aggregate Report says of each run")
    ] = False,
    as_locust: Annotated[
        bool, typer.Option("--as-locust", help="also print what Locust's statistics say of each run")
    ] = False,
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
    from harness.compare.comparing import compare_files
    from harness.compare.limits import check_limit, limit_named
    from harness.compare.other_tools import ToolName, tool_tables
    from harness.formats.jtl_units import decimal_named, latency_unit_named
    from harness.report.output import write_page
    from harness.report.selection import seconds_named

    a, b = _arms(paths)
    limits = [limit_named(text) for text in fail_if or ()]
    asked: dict[ToolName, bool] = {"jmeter": as_jmeter, "locust": as_locust}
    tools = [name for name, wanted in asked.items() if wanted]
    result = compare_files(
        a,
        b,
        skip_s=seconds_named(skip, "--skip"),
        accept=accept or (),
        as_tools=tools,
        latency_unit=latency_unit_named(latency_unit),
        decimal=decimal_named(decimal),
    )
    checked = [check_limit(limit, result) for limit in limits]
    numbers = tool_tables(result)
    if html is not None:
        from harness.compare.html import render_html  # matplotlib: a second that no other form needs

        write_page(html, render_html(result, checked, numbers), "--html")
    printed = markdown is not None and str(markdown) == "-"
    if markdown is not None:
        from harness.compare.words import render_markdown

        page = render_markdown(result, checked)
        if printed:
            print(page, end="")
        else:
            write_page(markdown, page, "--markdown")
    if as_json:
        plain = result.as_json()
        plain["limits"] = limits_as_plain(checked)
        print(json.dumps(plain, indent=1, allow_nan=False))
    elif not printed:
        from harness.cli.compare_text import print_comparison

        print_comparison(result, checked, numbers)
    end_with(checked)


def _arms(paths: list[str]) -> tuple[list[str], list[str]]:
    if (n := paths.count(_BETWEEN)) != 1:
        raise InputError(
            "two arms are compared", found=f"{n} x --", allowed="A... -- B..., with one -- between them"
        )
    place = paths.index(_BETWEEN)
    return paths[:place], paths[place + 1 :]
