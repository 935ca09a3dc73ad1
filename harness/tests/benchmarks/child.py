# SPDX-License-Identifier: Apache-2.0
"""Work done in a process of its own, with its wall time, CPU time and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.errors import RematchError
from harness.model import Frozen

STOPWATCH = Path(__file__).with_name("stopwatch.py")
PACKAGE_ROOT = Path(__file__).resolve().parent.parent.parent


class Taken(Frozen):
    """What one process took, its start included."""

    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    exit_code: int


def take(argv: Sequence[str], folder: Path) -> Taken:
    """Run a command, its output into ``folder``, and return what it took.

    Byte code is kept in ``folder``, or where the environment says: whether an installation brought its own must not
    show in the time.

    Raises:
        RematchError: it failed; says with which words.
    """
    note, out, err = (folder / f"stopwatch.{name}" for name in ("json", "out", "err"))
    environment = {
        "PYTHONPYCACHEPREFIX": str(folder / "byte-code"),
        **os.environ,
        "PYTHONPATH": str(PACKAGE_ROOT),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with out.open("wb") as stdout, err.open("wb") as stderr:
        subprocess.run(
            [sys.executable, "-I", "-S", str(STOPWATCH), str(note), *argv],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment, cwd=folder, check=True,
        )  # fmt: skip
    taken = Taken.model_validate_json(note.read_bytes())
    if taken.exit_code != 0:
        words = err.read_text(errors="replace").strip() or out.read_text(errors="replace").strip()
        raise RematchError(
            f"{Path(argv[0]).name} ended with {taken.exit_code} in a benchmark; output: {words[-300:] or 'nothing'}"
        )
    return taken
