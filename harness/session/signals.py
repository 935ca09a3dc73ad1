# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and a lost terminal end the trial under way in good order; the rest is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked us to stop. A ``KeyboardInterrupt``, so that nobody takes it for a failed trial."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)

    @property
    def exit_code(self) -> int:
        """As a shell has it: 130, 143, 129."""
        return 128 + self.number


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``Interrupted`` at the first of the signals; later ones do not disturb the tidying up.

    A signal that was ignored before (nohup) stays ignored. Outside the main thread nothing changes:
    there the caller owns the signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def stop(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise Interrupted(number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
