# SPDX-License-Identifier: Apache-2.0
"""How much work a command does before it begins: counted in imports, never in seconds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from harness.tests.support.sessions import REPOSITORY

#: What neither a list nor a report of a small file needs.
LATER = ("pandas", "paramiko", "cryptography", "psycopg", "matplotlib")
HEAVY = (*LATER, "numpy", "scipy", "pyarrow", "pydantic", "rich", "docker", "jinja2")
OTHER_COMMANDS = tuple(f"harness.cli.{name}" for name in ("adopt", "check", "duel", "measure", "verify"))
SAMPLES = str(REPOSITORY / "harness" / "tests" / "golden" / "jmeter" / "samples.jtl")
LOOKING = (*LATER, "pyarrow", "scipy", "docker", "harness.hosts.ssh.host")


@pytest.mark.parametrize(
    ("words", "libraries", "code"),
    [
        (["--help"], HEAVY, 0),
        (["report", "--help"], OTHER_COMMANDS, 0),
        (["report", "none.jtl"], (*HEAVY[:5], "scipy.special", "scipy.ndimage", "scipy.stats", "pyarrow", "jinja2"), 2),
        (["report", SAMPLES, "--json"], (*LATER, "pyarrow", "rich"), 0),
        (["list"], LOOKING, 0),
        (["list", "gc-peaks"], LOOKING, 0),
        (["measure", "strings-rounds", "--dry-run"], LOOKING, 0),
    ],
    ids=["help", "help of one", "no file", "small file", "list", "list one", "dry run"],
)  # fmt: skip
def test_a_command_imports_no_library_that_it_does_not_need(
    words: list[str], libraries: tuple[str, ...], code: int
) -> None:
    program = (
        f"import sys\nsys.argv = ['rematch', *{words!r}]\nfrom harness.cli import main\n"
        "try:\n    main()\n"
        f"except SystemExit as end:\n    assert (end.code or 0) == {code}, end.code\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {*libraries} & {*done.stdout.splitlines()[-1].split()} == set()
