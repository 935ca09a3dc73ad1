# SPDX-License-Identifier: Apache-2.0
"""The command line within this process: to start a Python that imports all of it takes seconds."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from harness.cli import main


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
