# SPDX-License-Identifier: Apache-2.0
"""Answers of exercises, held against a truth that is computed when it is asked for, and never typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from typing import Literal

import numpy as np

State = Literal["open", "right", "wrong"]
#: What an answer in another unit is multiplied by: a percentage for a share, milliseconds for seconds, and back.
_UNITS = (100.0, 1e3, 1e-3, 1e-2)


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What an exercise asks for.

    ``value``: computes it: a number, a word, true or false, or a mapping of names to these. ``within``: how far off a
    number may be, as a share of the truth. ``why``: what the right answer shows, or computes that. ``wrong``: hint ->
    computes an answer that is given often and is wrong; of a mapping, the entries that are wrong.
    """

    value: Callable[[], object]
    why: str | Callable[[], str]
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

    def __call__(self, exercise: str | float, answer: object) -> Checked:
        """Return what is to be said of an answer; dots, or nothing, are an exercise that is still open."""
        name = str(exercise)
        if name not in self.truths:
            return Checked(
                exercise=name, state="wrong", text=f"no such exercise; allowed: {', '.join(self.truths)}."
            )
        state, text = _judged(self.truths[name], answer)
        self.results[name] = Checked(exercise=name, state=state, text=text)
        return self.results[name]


def _judged(truth: Truth, answer: object) -> tuple[State, str]:
    if _is_open(answer):
        return "open", "open. Replace the dots, and run the cell again."
    expected = truth.value()
    if is_same(answer, expected, truth.within):
        return "right", f"right. {truth.why if isinstance(truth.why, str) else truth.why()}"
    for hint, value in truth.wrong.items():
        if _has(answer, value(), truth.within):
            return "wrong", f"not yet. {hint}"
    return "wrong", f"not yet. {_difference(answer, expected, truth.within)}"


def _has(answer: object, usual: object, within: float) -> bool:
    """Return whether an answer is a usual wrong one; of a mapping, whether it has the wrong entries."""
    if isinstance(answer, Mapping) and isinstance(usual, Mapping):
        return all(is_same(answer.get(name), value, within) for name, value in usual.items())
    return is_same(answer, usual, within)


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


def _difference(answer: object, expected: object, within: float) -> str:
    """Say what is amiss without giving the answer away."""
    if isinstance(expected, Mapping):
        return _difference_of_entries(answer, expected, within)
    if isinstance(expected, (bool, np.bool_)):
        return "Look again." if isinstance(answer, (bool, np.bool_)) else "True or False is needed."
    if not isinstance(answer, Real) or not isinstance(expected, Real):
        return "A number is needed."
    if any(is_same(float(answer) / factor, expected, within) for factor in _UNITS):
        return "These digits are right in another unit: which one is asked for?"
    return "The number is too large." if float(answer) > float(expected) else "The number is too small."


def _difference_of_entries(answer: object, expected: Mapping[str, object], within: float) -> str:
    if not isinstance(answer, Mapping) or set(answer) != set(expected):
        return f"One entry is needed for each of {', '.join(map(str, expected))}."
    words = sorted({value for value in expected.values() if isinstance(value, str)})
    strange = [value for value in answer.values() if not any(is_same(value, word, 0) for word in words)]
    if words and strange:
        return f"{strange[0]!r} is no answer here; allowed: {', '.join(words)}."
    n_wrong = sum(not is_same(answer[name], expected[name], within) for name in expected)
    return f"{n_wrong} of {len(expected)} entries are wrong."
