# SPDX-License-Identifier: Apache-2.0
"""Only the command that is asked for is imported and built; all of them are listed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from harness.cli import app
from harness.tests.support.sessions import REPOSITORY

PROGRAM = """
import sys
sys.argv = ["rematch", *{words!r}]
from harness.cli import main
try:
    main()
except SystemExit:
    pass
print(*sorted(name for name in sys.modules if name in {verbs!r}))
"""
VERBS = tuple(f"harness.cli.{name}" for name in ("adopt", "check", "duel", "measure", "report", "verify"))


@pytest.mark.parametrize("verb", ["report", "duel"])
def test_only_the_module_of_the_command_is_imported(verb: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(words=[verb, "--help"], verbs=VERBS)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1].split() == [f"harness.cli.{verb}"]


def test_every_command_of_the_list_can_be_built_and_says_what_it_does() -> None:
    group = typer.main.get_command(app)
    commands = getattr(group, "commands")  # noqa: B009 - click types it as a Command
    assert len(commands) > 20 and "no-such-command" not in commands
    for name in commands:
        assert commands[name].name == name
        assert commands[name].get_short_help_str(100)


def test_a_word_that_is_no_command_is_answered_with_one_like_it() -> None:
    shown = CliRunner().invoke(app, ["reprot"])
    assert shown.exit_code == 2 and "report" in shown.output
