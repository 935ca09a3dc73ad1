# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and a lost terminal end the trial under way in good order; the rest is kept."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from harness.errors import RematchError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

AGAIN_AFTER_S = 0.01
"""How long after a loss was reported the signal is sent again: the main thread has left the place by then."""


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
def interruptible() -> Iterator[Callable[[], None]]:
    """Raise ``Interrupted`` at the first of the signals; later ones do not disturb the tidying up.

    An exception from a signal's handler is lost where Python cannot raise: in a destructor, a weak reference's
    callback, or a lookup in C. It is raised again a moment later where Python reports the loss, and by the function
    that is yielded, which a caller calls between two steps of its work, in any case. Code in other languages makes an
    exception of its own of it (pydantic, when a serializer is interrupted): once a signal has come, what ends the work
    is that signal, unless it is an error of ours.

    A signal that was ignored before (nohup) stays ignored. Outside the main thread nothing changes:
    there the caller owns the signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield _nothing_asked
        return
    asked: Interrupted | None = None

    def stop(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked is None:
            asked = Interrupted(number)
            raise asked

    def check() -> None:
        if asked is not None:
            raise asked

    again: threading.Timer | None = None

    def lost(what: sys.UnraisableHookArgs) -> None:
        nonlocal asked, again
        if not isinstance(what.exc_value, Interrupted):
            hook_before(what)
            return
        number, asked = what.exc_value.number, None
        again = threading.Timer(AGAIN_AFTER_S, signal.pthread_kill, (threading.main_thread().ident, number))
        again.start()

    before = {number: signal.getsignal(number) for number in SIGNALS}
    hook_before = sys.unraisablehook
    sys.unraisablehook = lost
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield check
    except Exception as problem:
        ended = ended_by(problem, check)
        if ended is problem:
            raise
        raise ended from problem
    finally:
        if again is not None:
            again.cancel()  # the work is done: sent now, the signal would meet the handlers of before
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook_before


def ended_by(problem: BaseException, check: Callable[[], None]) -> BaseException:
    """Return the signal that ended the work where one had come, else the exception itself.

    ``check``: what ``interruptible`` yields. An error of ours stands before a signal.
    """
    if not isinstance(problem, RematchError):
        try:
            check()
        except Interrupted as asked:
            return asked
    return problem


def _nothing_asked() -> None:
    """What a thread that owns no signals is asked: nothing."""
