# SPDX-License-Identifier: Apache-2.0
"""A disk that is full soon, or read-only: a small tmpfs. Where none can be mounted, the test says that it was not run."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.tests.support.available import not_run

WHY = "a full disk is made by mounting a small one"


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount one of ``size`` (as ``mount`` has it: 72m) at ``folder``, which is made, for as long as the context lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "rematch-test", str(folder)]
    try:
        mounted = subprocess.run(words, capture_output=True, check=False)
    except OSError as problem:
        not_run(f"{WHY}: {problem}")
    if mounted.returncode != 0:
        not_run(f"{WHY}: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remount(folder: Path, how: str) -> None:
    """Make a mounted disk ``ro`` or ``rw``; nothing on it may be open for writing."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True, capture_output=True)
