# SPDX-License-Identifier: Apache-2.0
"""A test that is left out is counted under one of three names; one of them fails the run where CI is set."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from harness.tests.support.available import NOT_ASKED_FOR, NOT_RUN, PROJECT

WAYS = {"skip", "skipif", "importorskip", "SkipTest", "skipTest", "skipUnless"}


def skips_in(file: Path) -> list[int]:
    """Return the lines of a file that skip a test in words of their own."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    named = [(node.attr, node.lineno) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    named += [(node.id, node.lineno) for node in ast.walk(tree) if isinstance(node, ast.Name)]
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named += [(name.name, node.lineno) for node in imported for name in node.names]
    return sorted(line for name, line in named if name in WAYS)


def test_every_skip_goes_through_the_counted_ways() -> None:
    tests = PROJECT / "harness" / "tests"
    files = [file for file in sorted(tests.rglob("*.py")) if file.name != "available.py"]
    assert len(files) > 100
    found = {f"{file.relative_to(PROJECT)}:{line}" for file in files for line in skips_in(file)}
    assert not found, (
        "skip with not_run, not_asked_for, cannot_tell or needs of harness/tests/support/available.py"
    )


def test_a_skip_in_words_of_its_own_would_be_found(tmp_path: Path) -> None:
    # a text that is looked at and never run: the rule has to find such a skip
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n@pytest.mark.skipif(True, reason='no')\ndef f(): ...\n"
    )
    (tmp_path / "test_b.py").write_text("from pytest import skip\n")
    assert skips_in(tmp_path / "test_a.py") == [3]
    assert skips_in(tmp_path / "test_b.py") == [1]


def outcome(folder: Path, call: str, *more: str, **environment: str) -> tuple[int, str]:
    """Run one test that makes this call; return the exit status and what the run said."""
    file = folder / "test_one.py"
    file.write_text(f"from harness.tests.support.available import *\n\ndef test_it():\n    {call}\n")
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    # Of the plugins that packages bring, the run needs none but xdist.
    kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugins = ("xdist.plugin", "harness.tests.conftest", "no:cacheprovider")
    words = [sys.executable, "-m", "pytest", "-q", *(word for one in plugins for word in ("-p", one))]
    done = subprocess.run(
        [*words, *more, f"--rootdir={folder}", str(file)],
        cwd=folder, env={**kept, "PYTHONPATH": str(PROJECT), **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_what_was_not_run_for_want_of_a_part_fails_the_run_where_ci_is_set(tmp_path: Path) -> None:
    status, output = outcome(tmp_path, 'not_run("no engine here")', "-n", "1", CI="true")
    assert status == 1
    assert f"1 test {NOT_RUN}no engine here" in output
    assert "1 test was not run for want of a real part, and CI is set" in output
    status, output = outcome(tmp_path, 'not_asked_for("an image takes minutes")', CI="true")
    assert status == 0
    assert f"1 test {NOT_ASKED_FOR}an image takes minutes" in output and "FAILED" not in output
