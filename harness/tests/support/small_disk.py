# SPDX-License-Identifier: Apache-2.0
"""A disk that is full soon, for tests; where none can be mounted, they say so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from harness.tests.support.available import not_run
from harness.tests.support.machine.lacking import Lacking
from harness.tests.support.machine.small_disk import small_disk as mounted


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount one of ``size`` (as ``mount`` has it: 72m) at ``folder``, for as long as the context lasts."""
    with contextlib.ExitStack() as stack:
        try:
            disk = stack.enter_context(mounted(folder, size))
        except Lacking as problem:
            not_run(str(problem))
        yield disk
