# SPDX-License-Identifier: Apache-2.0
"""One Maven at a time: its repository in the user's home does not bear two writers."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def one_maven(project: Path) -> Iterator[None]:
    """Wait until no other process of this project is inside, and keep the others out.

    The lock lies beside what was built, so that projects that share their builds share it.
    """
    file = project / ".cache" / "builds" / "maven.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given up when the file is closed, however this process ends
        yield
