# SPDX-License-Identifier: Apache-2.0
"""The commands, put together. Each stands in a module of its own; bodies are imported when called,
so that ``--help`` and completion answer at once."""

from __future__ import annotations

import sys

import typer

from harness.cli import (
    analysing,
    benchmarking,
    building,
    checking,
    listing,
    measuring,
    results,
    tracing,
    verifying,
)
from harness.errors import RematchError

app = typer.Typer(
    name="rematch",
    no_args_is_help=True,
    rich_markup_mode=None,  # boxes and colours of the help would cost more time than everything else of it
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Are Java microservices as fast as Go ones, and what do they cost?\n\n"
        "A first round:\n\n"
        "1. `rematch check`: what can this machine do?\n"
        "2. `rematch list`: which experiments and variants are there?\n"
        "3. `rematch measure smoke --profile smoke`: the whole line at its smallest, a minute or two\n"
        "4. `rematch results smoke`: the variants compared; profile quick and full give verdicts\n\n"
        "Files of other load tests: `rematch report FILE`.\n\n"
        "`make paper` does all of it and builds the PDF."
    ),
)
app.command("check")(checking.check)
app.command("list")(listing.list_all)
app.command("measure")(measuring.measure_command)
app.command("results")(results.results_command)
app.command("tidy")(analysing.tidy_command)
app.command("report")(analysing.report_command)
app.command("verify")(verifying.verify_command)
app.command("bench")(benchmarking.bench_command)
app.command("trace")(tracing.trace)
app.command("paper")(building.paper_command)


def main() -> None:
    """Run the command line; what goes wrong on purpose is one line on stderr and an exit code."""
    try:
        app()
    except RematchError as error:
        print(f"rematch: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
