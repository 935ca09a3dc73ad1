# SPDX-License-Identifier: Apache-2.0
"""A signal that asks to stop is never lost, wherever in Python its handler happens to run."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from pydantic import field_serializer
from pydantic_core import PydanticSerializationError

from harness.errors import StoreError
from harness.measure.session.signals import SIGNALS, Interrupted, ended_by, interruptible
from harness.model.base import Frozen


@pytest.fixture(autouse=True)
def _none_is_ignored() -> Iterator[None]:
    """A program that was begun in the background ignores some signals, and ``interruptible`` leaves it so."""
    before = [(number, signal.signal(number, signal.default_int_handler)) for number in SIGNALS]
    yield
    for number, handler in before:
        signal.signal(number, handler)


class SignalledWhereAllIsCaught:
    def __init__(self, number: int) -> None:
        try:
            os.kill(os.getpid(), number)
        except BaseException:
            self.lost = True


def test_an_interruption_that_was_caught_by_others_ends_the_work_at_the_next_step() -> None:
    with pytest.raises(Interrupted), interruptible() as check:
        check()
        assert SignalledWhereAllIsCaught(signal.SIGTERM).lost
        check()


class SignalledWhileItIsWritten(Frozen):
    """pydantic makes an error of its own of whatever a serializer raises."""

    number: int

    @field_serializer("number")
    def _signalled(self, number: int) -> int:
        os.kill(os.getpid(), number)
        return number


def test_an_interruption_that_a_library_made_an_error_of_ends_the_work_as_the_signal_does() -> None:
    with pytest.raises(Interrupted), interruptible():
        SignalledWhileItIsWritten(number=signal.SIGHUP).model_dump_json()
    with pytest.raises(PydanticSerializationError), interruptible():
        SignalledWhileItIsWritten(number=-1).model_dump_json()  # no such signal: a fault, and nobody's wish


def test_what_notes_how_the_work_ended_is_told_the_signal_too() -> None:
    """Before the error leaves ``interruptible``, where it is made the signal again."""
    with pytest.raises(Interrupted), interruptible() as check:
        try:
            SignalledWhileItIsWritten(number=signal.SIGTERM).model_dump_json()
        except PydanticSerializationError as problem:
            assert isinstance(ended_by(problem, check), Interrupted)
            ours = StoreError("no space left")
            assert ended_by(ours, check) is ours
            raise
    nobody_asked = ValueError()
    with interruptible() as check:
        assert ended_by(nobody_asked, check) is nobody_asked


def test_a_second_signal_does_not_disturb_the_tidying_up() -> None:
    tidied = False
    with pytest.raises(Interrupted) as stop, interruptible():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)
            tidied = True
    assert tidied and stop.value.number == signal.SIGTERM


def test_handlers_are_as_before() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with interruptible():
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before
