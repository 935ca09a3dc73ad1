# SPDX-License-Identifier: Apache-2.0
"""The commands, put together. Each stands in a module of its own; bodies are imported when called,
so that ``--help`` and completion answer at once."""

from __future__ import annotations

import sys

import typer

from harness.cli import archiving, bench, check, list, measure, paper, report, results, trace, verify
from harness.cli.tidy import tidy_command
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
        "\b\n1. `rematch check`: what can this machine do?\n"
        "2. `rematch list`: which experiments and variants are there?\n"
        "3. `rematch measure smoke --profile smoke`: measure a little, in minutes\n"
        "4. `rematch results smoke`: what came of it (verdicts need quick or full)\n\n"
        "Files of other load tests: `rematch report FILE`.\n\n"
        "`make paper` does all of it and builds the PDF."
    ),
)
app.command("check", short_help="What this machine is ready for, and what is missing.")(check.check)
app.command("list", short_help="Experiments, or one with its variants and profiles.")(list.list_all)
app.command("measure", short_help="Measure an experiment, or go on with a session.")(measure.measure_command)
app.command("results", short_help="Who is ahead, by how much, how sure.")(results.results_command)
app.command("tidy", short_help="From raw records to tables; exclusions counted.")(tidy_command)
app.command("report", short_help="Analyse a load test's result files from anywhere.")(report.report_command)
app.command("verify", short_help="Simulations that check the statistics.")(verify.verify_command)
app.command("bench", short_help="Benchmarks of the harness itself.")(bench.bench_command)
app.command("trace", short_help="From a number of the paper to its records.")(trace.trace)
app.command("pack", short_help="Write a measured session as one archive.")(archiving.pack_command)
app.command("unpack", short_help="Unpack an archived session to look at its files.")(archiving.unpack_command)
app.command("paper", short_help="Build the paper from what was published.")(paper.paper_command)


def main() -> None:
    """Run the command line; what goes wrong on purpose is one line on stderr and an exit code."""
    try:
        app()
    except RematchError as error:
        print(f"rematch: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
