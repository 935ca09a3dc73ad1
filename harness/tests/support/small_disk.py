# SPDX-License-Identifier: Apache-2.0
"""A disk that is full soon: a small tmpfs."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.tests.support.available import not_run


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount one of ``size`` (as ``mount`` has it: 72m) at ``folder``, which is made, for as long as the context lasts.

    Mounting is a right, not a tool that set-up could bring: root in a plain container has it as little as others.
    """
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "rematch-test", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        not_run(f"a full disk is tested by mounting a small one: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
