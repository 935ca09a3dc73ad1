# SPDX-License-Identifier: Apache-2.0
"""The commands, put together. Each stands in a module of its own; bodies are imported when called,
so that ``--help`` and completion answer at once.
What a machine has no more of (descriptors, processes, memory, disk, ports) becomes one line, wherever it was noticed.
"""

from __future__ import annotations

import errno
import gc
import sys

import typer

from harness.cli import (
    adopt,
    archiving,
    audit,
    bench,
    check,
    claims,
    clean,
    compare,
    dataset,
    duel,
    list,
    measure,
    paper,
    passport,
    report,
    results,
    site,
    trace,
    try_url,
    verify,
)
from harness.cli.tidy import tidy_command
from harness.errors import RematchError, printable

#: What the system says -> what to do about it. Other errors of the system are faults of ours, with a traceback.
_HELP = {
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close what holds many files open on this machine",
    errno.EAGAIN: "raise the limit of processes (ulimit -u, or that of the control group)",
    errno.ENOMEM: "free some memory, or raise the limit",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space of your quota",
    errno.EROFS: "make it writable",
    errno.EADDRINUSE: "close what uses the ports (ss -ltn lists it)",
    errno.EADDRNOTAVAIL: "close what uses the ports (ss -tn lists it)",
    errno.EIO: "check the disk",
}
#: As Python words it, without a number.
_NO_THREAD = "can't start new thread"


def at_a_limit(error: BaseException) -> str | None:
    """Return the line for an error that says that the machine has no more of something; ``None``: it says else."""
    if isinstance(error, MemoryError):
        return _line("out of memory", errno.ENOMEM)
    if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        return _line("no further thread can be started", errno.EAGAIN)
    if not isinstance(error, OSError) or error.errno not in _HELP:
        return None
    where = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return _line(f"{where}{error.strerror or error}", error.errno)


def _line(what: str, number: int) -> str:
    return f"{what}; {_HELP[number]}, then give the same command again: finished trials are kept"


app = typer.Typer(
    name="rematch",
    no_args_is_help=True,
    rich_markup_mode=None,  # boxes and colours of the help would cost more time than everything else of it
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Are Java microservices as fast as Go ones, and what do they cost?\n\n"
        "A first round:\n\n"
        "\b\n1. `rematch check`: check tools and machine\n"
        "2. `rematch list`: list experiments and variants\n"
        "3. `rematch measure smoke --profile smoke`: run a short session, in minutes\n"
        "4. `rematch results smoke`: print its results (verdicts need quick or full)\n\n"
        "Result files of other load tests: `rematch report FILE`, `rematch compare A... -- B...`.\n\n"
        "A service of your own: `rematch adopt DIR`; two versions of it: `rematch duel V1 V2`.\n\n"
        "`make paper` runs all of it and builds the PDF."
    ),
)
app.command("check", short_help="List available and missing tools; check the machine.")(check.check)
app.command("passport", short_help="Run a self-test: which ratios can be told here?")(
    passport.passport_command
)
app.command("list", short_help="List experiments, variants and profiles.")(list.list_all)
app.command("measure", short_help="Measure an experiment, or resume a session.")(measure.measure_command)
app.command("results", short_help="Compare variants: ratio, interval, verdict.")(results.results_command)
app.command("claims", short_help="List published claims with their verdicts.")(claims.claims_command)
app.command("tidy", short_help="Convert raw records to tables; list exclusions.")(tidy_command)
app.command("report", short_help="Analyse result files of any load test.")(report.report_command)
app.command("adopt", short_help="Set up and measure a service of your own.")(adopt.adopt_command)
app.command("compare", cls=compare.ArmsCommand, short_help="Compare two arms of load-test runs.")(
    compare.compare_command
)
app.command("audit", short_help="Find numbers of a load test that contradict each other.")(
    audit.audit_command
)
app.command("try", short_help="Load a running service for a minute.")(try_url.try_command)
app.command("duel", short_help="Measure two versions of a service in turns.")(duel.duel_command)
app.command("verify", short_help="Run simulations that validate the statistics.")(verify.verify_command)
app.command("bench", short_help="Benchmark the harness.")(bench.bench_command)
app.command("trace", short_help="Show a published number and its records.")(trace.trace)
app.command("site", short_help="Write the results page from published results.")(site.site_command)
app.command("pack", short_help="Write a measured session as one archive.")(archiving.pack_command)
app.command("unpack", short_help="Unpack the files of an archived session.")(archiving.unpack_command)
app.command("dataset", short_help="Write bundled sessions as a data package.")(dataset.dataset_command)
app.command("clean", short_help="Remove what killed sessions left in a cluster.")(clean.clean_command)
app.command("paper", short_help="Build the paper from published results.")(paper.paper_command)


def main() -> None:
    """Run the command line. What goes wrong on purpose, and what the machine has no more of, is one line on stderr and
    an exit code."""
    gc.set_threshold(
        100_000, 30, 30
    )  # else a fifth of a start is spent on searching imported modules for garbage
    try:
        app()
    except RematchError as error:
        print(f"rematch: {printable(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "harness":
            raise
        print(
            f"rematch: the Python package {printable(error.name)} is not installed: this environment has only what"
            " reading needs; install the rest with: make setup",
            file=sys.stderr,
        )
        sys.exit(2)
    except (OSError, RuntimeError, MemoryError) as error:
        said = at_a_limit(error)
        if said is None:
            raise
        print(f"rematch: {printable(said)}", file=sys.stderr)
        sys.exit(2)
