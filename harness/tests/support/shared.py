# SPDX-License-Identifier: Apache-2.0
"""Folders that all workers of one run share: what takes seconds to make is made by the first that asks for it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

#: The folder of a run, which ``conftest.py`` makes and removes.
VARIABLE = "REMATCH_SHARED_BY_TESTS"


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder of this name; ``make`` is called with its path where no worker has made it yet."""
    shared = Path(os.environ[VARIABLE])
    folder, made = shared / name, shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that was killed
            make(folder)
            made.touch()
    return folder
