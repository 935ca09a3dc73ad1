# SPDX-License-Identifier: Apache-2.0
"""Answers of exercises, held against a truth that is computed when it is asked for, and never typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from typing import Literal

import numpy as np

from harness.errors import InputError

State = Literal["open", "right", "wrong"]


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What an exercise asks for.

    ``value``: computes it: a number, a word, true or false, or a mapping of names to these. ``within``: how far off a
    number may be, as a share of the truth. ``why``: what the right answer shows. ``wrong``: hint -> computes an answer
    that is given often and is wrong.
    """

    value: Callable[[], object]
    why: str
    within: float = 1e-6
    wrong: Mapping[str, Callable[[], object]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What was found of an answer; shows itself in a notebook as its text."""

    exercise: str
    state: State
    text: str

    def __repr__(self) -> str:
        return f"{self.exercise}: {self.text}"


class Checks:
    """The exercises of one unit: called with the number of an exercise and an answer, it says whether that is right.

    ``results``: what was found last of each exercise.
    """

    def __init__(self, truths: Mapping[str, Truth]) -> None:
        self.truths = truths
        self.results: dict[str, Checked] = {}

    def __call__(self, exercise: str, answer: object) -> Checked:
        """Return what is to be said of an answer; dots, or nothing, are an exercise that is still open.

        Raises:
            InputError: no such exercise.
        """
        if exercise not in self.truths:
            raise InputError(
                "no such exercise", place="check", found=exercise, allowed=", ".join(self.truths)
            )
        state, text = self._judged(self.truths[exercise], answer)
        found = Checked(exercise=exercise, state=state, text=text)
        self.results[exercise] = found
        return found

    def _judged(self, truth: Truth, answer: object) -> tuple[State, str]:
        if _is_open(answer):
            return "open", "open. Replace the dots, and run the cell again."
        expected = truth.value()
        if is_same(answer, expected, truth.within):
            return "right", f"right. {truth.why}"
        for hint, value in truth.wrong.items():
            if is_same(answer, value(), truth.within):
                return "wrong", f"not yet. {hint}"
        return "wrong", f"not yet. {_difference(answer, expected)}"


def is_same(answer: object, expected: object, within: float) -> bool:
    """Return whether an answer is the expected one: numbers within a share, words whatever their case."""
    if isinstance(expected, Mapping):
        return (
            isinstance(answer, Mapping)
            and set(answer) == set(expected)
            and all(is_same(answer[name], expected[name], within) for name in expected)
        )
    if isinstance(expected, (bool, np.bool_)):
        return isinstance(answer, (bool, np.bool_)) and bool(answer) == bool(expected)
    if isinstance(expected, str):
        return isinstance(answer, str) and answer.strip().casefold() == expected.strip().casefold()
    if not isinstance(answer, Real) or isinstance(answer, (bool, np.bool_)) or not isinstance(expected, Real):
        return False
    found, true = float(answer), float(expected)
    return isfinite(found) and abs(found - true) <= within * abs(true) + 1e-12


def _is_open(answer: object) -> bool:
    if isinstance(answer, Mapping):
        return any(_is_open(part) for part in answer.values())
    return answer is ... or answer is None


def _difference(answer: object, expected: object) -> str:
    """Say what is amiss without giving the answer away."""
    if isinstance(expected, Mapping):
        if not isinstance(answer, Mapping) or set(answer) != set(expected):
            return f"One entry is needed for each of {_listed(expected)}."
        n_wrong = sum(not is_same(answer[name], expected[name], 1e-6) for name in expected)
        return f"{n_wrong} of {len(expected)} entries are wrong."
    if isinstance(expected, Real) and not isinstance(expected, (bool, np.bool_)):
        if not isinstance(answer, Real):
            return "A number is needed."
        return "The number is too large." if float(answer) > float(expected) else "The number is too small."
    return "Look at the table again."


def _listed(names: Mapping[str, object] | Sequence[str]) -> str:
    return ", ".join(map(str, names))
