# SPDX-License-Identifier: Apache-2.0
"""A campaign that is stopped by a signal puts away what it made, and keeps what it found."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def stopping() -> Iterator[list[int]]:
    """Have SIGTERM and SIGINT raise ``KeyboardInterrupt`` once, so that nothing stays mounted.

    Yields:
        The signals that came.
    """
    came: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        if len(came) == 1:  # a second one would interrupt the cleaning up
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
