# SPDX-License-Identifier: Apache-2.0
"""The command line within this process, for to start a Python that imports all of it takes seconds; or in its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from harness.cli import main
from harness.tests.support.available import PROJECT


def run_here(root: Path, *arguments: str, columns: int = 80) -> tuple[int, str, str]:
    """Run ``rematch`` on a project; return exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("REMATCH_ROOT", str(root))
        patch.setenv("COLUMNS", str(columns))
        patch.chdir(root)
        patch.setattr("sys.argv", ["rematch", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
    return int(end.value.code or 0), out.getvalue(), err.getvalue()


def run_apart(
    root: Path, *arguments: str, folder: Path | None = None, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Run ``rematch`` on a project in a process of its own, in a folder that may be another; its output as text."""
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=folder or root, capture_output=True, text=True, check=False,
        env={**environment, "REMATCH_ROOT": str(root), "PYTHONPATH": str(PROJECT)},
    )  # fmt: skip
