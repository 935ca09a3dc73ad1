# SPDX-License-Identifier: Apache-2.0
"""Two computations at the same time: for those that spend most of it in NumPy, which lets other threads run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

#: Requests of a trial from which on a thread saves more than its start costs.
FEWEST_ROWS = 100_000


def side_by_side(one: Callable[[], A], other: Callable[[], B], *, n_rows: int) -> tuple[A, B]:
    """Return what both return; of ``n_rows`` or more than ``FEWEST_ROWS`` rows, they run at the same time.

    Raises:
        Exception: what one of them raises.
    """
    if n_rows < FEWEST_ROWS:
        return one(), other()
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(other)
        found = one()
        return found, waiting.result()
