# SPDX-License-Identifier: Apache-2.0
"""A disk that is full soon, or read-only: a small tmpfs."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.tests.support.machine.lacking import Lacking

WHY = "a full disk is made by mounting a small one"


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount one of ``size`` (as ``mount`` has it: 72m) at ``folder``, which is made, for as long as the context lasts.

    Mounting is a right, not a tool that set-up could bring: root in a plain container has it as little as others.

    Raises:
        Lacking: it cannot be mounted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "rematch-test", str(folder)],
            capture_output=True,
            check=False,
        )
    except OSError as problem:
        raise Lacking(f"{WHY}: {problem}") from problem
    if mounted.returncode != 0:
        raise Lacking(f"{WHY}: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remount(folder: Path, how: str) -> None:
    """Make a mounted disk ``ro`` or ``rw``; nothing on it may be open for writing."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True, capture_output=True)
