# SPDX-License-Identifier: Apache-2.0
"""The commands, put together. Each is in a module of its own, imported and built when the command is asked for, so that
``--help`` answers at once.
What a machine has no more of (descriptors, processes, memory, disk, ports) becomes one line, wherever it was noticed.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from harness.cli.options import BETWEEN_ARMS, complain
from harness.errors import InputError, RematchError

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


def at_a_limit(error: BaseException) -> str | None:
    """Return the line for an error that says that the machine has no more of something, ``None`` for any other."""
    if isinstance(error, MemoryError):
        what, number = "out of memory", errno.ENOMEM
    elif isinstance(error, RuntimeError) and "can't start new thread" in str(error):  # as Python words it
        what, number = "no further thread can be started", errno.EAGAIN
    elif isinstance(error, OSError) and error.errno in _HELP:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        what, number = f"{where}{error.strerror or error}", error.errno
    else:
        return None
    return f"{what}; {_HELP[number]}, then give the same command again: finished trials are kept"


#: Command -> the module of ``harness.cli`` with its function ``<name>_command``, and what the list of commands says.
_COMMANDS = {
    "check": ("check", "List available and missing tools; check the machine."),
    "list": ("list", "List experiments, variants and profiles."),
    "measure": ("measure", "Measure an experiment, or resume a session."),
    "results": ("results", "Compare variants: ratio, interval, verdict."),
    "claims": ("claims", "List published claims with their verdicts."),
    "report": ("report", "Analyse result files of any load test."),
    "adopt": ("adopt", "Set up and measure a service of your own."),
    "compare": ("compare", "Compare two arms of load-test runs."),
    "audit": ("audit", "Find numbers of a load test that contradict each other."),
    "try": ("try_url", "Load a running service for a minute."),
    "duel": ("duel", "Measure two versions of a service in turns."),
    "verify": ("verify", "Run simulations that validate the statistics."),
    "trace": ("trace", "Show a published number and its records."),
    "site": ("publishing", "Write the results page from published results."),
    "pack": ("archiving", "Write a measured session as one archive."),
    "unpack": ("archiving", "Unpack the files of an archived session."),
    "dataset": ("archiving", "Write bundled sessions as a data package."),
    "paper": ("publishing", "Build the paper from published results."),
}

_BY_TESTS = (
    "fuzz faults soak power detectable variances factors ranks rare-mode cross-check recorded tost multiplicity "
    "agreement stalls compare repeats capacity omission warmup"
)
_OF_FILES = "the experiment's file, which is copied and changed"
#: Former commands, options and names -> what to use instead, for one release.
REMOVED: Mapping[str, str] = {
    "adopt --again": "remove its service.toml, and it is guessed anew",
    "adopt --out": "run it in another folder: it writes NAME-rematch there",
    "bench": "make bench BENCH=ingest",
    "clean": "the next session in the cluster, which removes what a killed one left there",
    "passport": "rematch check --machine",
    "tidy": "rematch results NAME, which brings the tables up to date and counts what is left out",
    "check --for": "python3 -m setup --for lab, which installs what notebooks and reports need",
    "compare --as-jmeter": "JMeter's own report",
    "compare --as-locust": "Locust's own report",
    "claims --csv": "--json, or claims.csv of rematch dataset",
    "claims --source": "--json, whose claims have a source and a verdict",
    "claims --verbose": "rematch claims NAME, or --json",
    "claims --verdict": "--json, whose claims have a source and a verdict",
    "dataset --check": "sha256sum -c checksums.sha256 in the package",
    "duel --generator": _OF_FILES,
    "duel --markdown": "its text, as it is printed, or --json",
    "duel --repo": "--as: refs are those of the repository that the adopted sources lie in",
    "duel --seed": "--blocks: the order within blocks is drawn with seed 1",
    "measure --known-cell": "rematch measure known-cell before and after, and rematch results known-cell",
    "measure --minutes": "--blocks: --dry-run says how long they take",
    "measure --undecided": "--blocks: whole blocks",
    "pack --again": "rematch unpack, and rematch pack",
    "pack --to": "mv: the archive is written among the bundled sessions",
    "paper --bundle": "make arxiv",
    "paper --copy": "cp paper/main.pdf docs/",
    "paper --diff": "git diff --word-diff REV -- paper",
    "report --samples": "pandas.read_csv: a sampler's columns say it all",
    "results --every-speed": "--json, which has the reason of each trial that is left out",
    "site --folder": "cp: the page is one file, results/site/index.html",
    "unpack --to": "mv: the files are written to results/unpacked",
    "verify pooled-quantile": "rematch verify quantile",
    **{f"verify {name}": "make test" for name in _BY_TESTS.split()},
}


def refuse_removed(words: Sequence[str]) -> None:
    """Refuse a command line with a former command, option or name.

    Raises:
        InputError: says what to use instead.
    """
    given = {word.partition("=")[0] for word in words[1:]}
    for name, instead in REMOVED.items():
        command, _, part = name.partition(" ")
        if command == words[0] and (not part or part in given):
            raise InputError("was removed", place=name, allowed=instead)


class _Group(TyperGroup):
    """The commands by their names; only the one that is asked for is built."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": dict.fromkeys(_COMMANDS)})

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _build(cmd_name) if cmd_name in _COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args:
            refuse_removed(args)
        if args[:1] == ["compare"]:
            args = [BETWEEN_ARMS if word == "--" else word for word in args]
        return super().parse_args(ctx, args)


@cache
def _build(name: str) -> Any:
    module, short_help = _COMMANDS[name]
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    function = getattr(import_module(f"harness.cli.{module}"), f"{name}_command")
    alone.command(name, short_help=short_help)(function)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="rematch",
    cls=_Group,
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


@app.callback()
def _commands() -> None:
    """Let typer build a group, whose commands it does not know yet."""


def main() -> None:
    """Run the command line. What goes wrong on purpose, and what the machine has no more of, is one line on stderr and
    an exit code."""
    try:
        app()
    except RematchError as error:
        complain(f"rematch: {error}")
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "harness":
            raise
        complain(
            f"rematch: the Python package {error.name} is not installed: this environment has only what reading needs;"
            " install the rest with: make setup"
        )
        sys.exit(2)
    except (OSError, RuntimeError, MemoryError) as error:
        text = at_a_limit(error)
        if text is None:
            raise
        complain(f"rematch: {text}")
        sys.exit(2)
