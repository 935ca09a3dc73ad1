# SPDX-License-Identifier: Apache-2.0
"""How much work a command does before it begins: counted in imports, never in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from harness.tests.support.sessions import REPOSITORY

HEAVY = (
    "pandas",
    "numpy",
    "scipy",
    "matplotlib",
    "pyarrow",
    "pydantic",
    "rich",
    "paramiko",
    "docker",
    "jinja2",
)
#: What neither a list nor a report of a small file needs.
LATER = ("pandas", "paramiko", "cryptography", "psycopg", "matplotlib")


def test_the_help_imports_none_of_the_heavy_libraries() -> None:
    assert imported(["--help"], HEAVY) == []


def test_only_the_module_of_the_command_is_imported() -> None:
    modules = tuple(
        f"harness.cli.{name}" for name in ("adopt", "check", "duel", "measure", "report", "verify")
    )
    assert imported(["report", "--help"], modules) == ["harness.cli.report"]


def test_a_report_imports_what_it_computes_with_no_sooner_than_there_is_a_file(tmp_path: Path) -> None:
    later = ("scipy.special", "scipy.ndimage", "scipy.stats", *LATER, "pyarrow", "rich", "jinja2")
    assert imported(["report", str(tmp_path / "none.jtl")], later, code=2) == []


def test_a_report_for_programs_on_a_small_file_needs_no_arrow_and_no_rich() -> None:
    path = REPOSITORY / "harness" / "tests" / "golden" / "jmeter" / "samples.jtl"
    assert imported(["report", str(path), "--json"], (*LATER, "pyarrow", "rich")) == []


@pytest.mark.parametrize(
    "words",
    [["list"], ["list", "gc-peaks"], ["measure", "strings-rounds", "--dry-run"]],
    ids=["list", "list one", "dry run"],
)
def test_a_look_at_experiments_imports_no_driver_no_reader_and_no_remote_host(words: list[str]) -> None:
    assert imported(words, (*LATER, "pyarrow", "scipy", "docker", "harness.hosts.ssh.host")) == []


def imported(words: list[str], libraries: tuple[str, ...], *, code: int = 0) -> list[str]:
    """Return which of the libraries a command imports; ``code``: its exit code."""
    loaded = modules_of(tuple(words), code)
    return [name for name in libraries if name in loaded]


@cache
def modules_of(words: tuple[str, ...], code: int) -> frozenset[str]:
    """Run a command in a process of its own, once for all that is asked of it, and return what it imported."""
    program = (
        "import sys\n"
        f"sys.argv = ['rematch', *{words!r}]\n"
        "from harness.cli import main\n"
        "try:\n    main()\n"
        f"except SystemExit as end:\n    assert (end.code or 0) == {code}, end.code\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(done.stdout.splitlines()[-1].split())
