# SPDX-License-Identifier: Apache-2.0
"""Answers of exercises, held against a truth that is computed from the data, and never typed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose, isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

State = Literal["open", "right", "wrong"]
REPLIES = tomllib.loads(Path(__file__).with_name("replies.toml").read_text("utf-8"))
Replies = Mapping[str, Mapping[str, Any]]
#: What an answer in another unit is multiplied by: a percentage for a share, milliseconds for seconds, and back.
_UNITS = (100.0, 1e3, 1e-3, 1e-2)
_TRUTH = (bool, np.bool_)


class Truth:
    """What an exercise asks for.

    Args:
        value: a number, a word, true or false, or a mapping of names to these.
        numbers: as text, of the replies. usual: name of a hint in ``replies.toml`` -> an answer that is given often and
            is wrong; of a mapping, the entries that are wrong.
    """

    def __init__(self, value: object, numbers: Mapping[str, str] | None = None, /, **usual: object) -> None:
        self.value, self.numbers, self.usual = value, numbers or {}, usual


@dataclass(frozen=True)
class Checked:
    """The reply to an answer; shows itself in a notebook as its text."""

    exercise: str
    state: State
    text: str

    def __repr__(self) -> str:
        return f"{self.exercise}: {self.text}"


class Checks:
    """The exercises of one unit: called with the number of an exercise and an answer, it says whether that is right.

    Args:
        replies: as ``replies.toml`` has them.

    ``results``: the last reply of each exercise.
    """

    def __init__(self, truths: Mapping[str, Truth], replies: Replies = REPLIES) -> None:
        self.truths, self.replies = truths, replies
        self.results: dict[str, Checked] = {}

    def __call__(self, exercise: str | float, answer: object) -> Checked:
        """Return the reply to an answer; dots, or nothing, are an exercise that is still open."""
        name = str(exercise)
        if name not in self.truths:
            return Checked(name, "wrong", f"no such exercise; allowed: {', '.join(self.truths)}.")
        self.results[name] = Checked(name, *_judged(self.truths[name], self.replies[name], answer))
        return self.results[name]


def _judged(truth: Truth, replies: Mapping[str, Any], answer: object) -> tuple[State, str]:
    within = replies.get("within", 1e-6)
    parts = answer.values() if isinstance(answer, Mapping) else [answer]
    if any(part is ... or part is None for part in parts):
        return "open", "open. Replace the dots, and run the cell again."
    if is_same(answer, truth.value, within):
        return "right", f"right. {replies['right'].format_map(truth.numbers)}"
    for hint, usual in truth.usual.items():
        if _has(answer, usual, within):
            return "wrong", f"not yet. {replies[hint]}"
    return "wrong", f"not yet. {_difference(answer, truth.value, within)}"


def _has(answer: object, usual: object, within: float) -> bool:
    """Return whether an answer is a usual wrong one; of a mapping, whether it has the wrong entries."""
    if isinstance(answer, Mapping) and isinstance(usual, Mapping):
        return all(is_same(answer.get(name), value, within) for name, value in usual.items())
    return is_same(answer, usual, within)


def is_same(answer: object, expected: object, within: float) -> bool:
    """Return whether an answer is the expected one: numbers within a share, words whatever their case."""
    if isinstance(expected, Mapping):
        return isinstance(answer, Mapping) and set(answer) == set(expected) and _has(answer, expected, within)
    if isinstance(expected, _TRUTH) or isinstance(answer, _TRUTH):
        return isinstance(expected, _TRUTH) and isinstance(answer, _TRUTH) and bool(answer) == bool(expected)
    if isinstance(expected, str):
        return isinstance(answer, str) and answer.strip().casefold() == expected.casefold()
    if not isinstance(answer, Real) or not isinstance(expected, Real):
        return False
    return isfinite(answer) and isclose(answer, expected, rel_tol=within, abs_tol=1e-12)


def _difference(answer: object, expected: object, within: float) -> str:
    """Say what is amiss without giving the answer away."""
    if isinstance(expected, Mapping):
        return _difference_of_entries(answer, expected, within)
    if isinstance(expected, _TRUTH):
        return "Look again." if isinstance(answer, _TRUTH) else "True or False is needed."
    if not isinstance(answer, Real) or not isinstance(expected, Real):
        return "A number is needed."
    if any(is_same(float(answer) / factor, expected, within) for factor in _UNITS):
        return "These digits are right in another unit: which one is asked for?"
    return f"The number is too {'large' if float(answer) > float(expected) else 'small'}."


def _difference_of_entries(answer: object, expected: Mapping[str, object], within: float) -> str:
    if not isinstance(answer, Mapping) or set(answer) != set(expected):
        return f"One entry is needed for each of {', '.join(map(str, expected))}."
    words = sorted({value for value in expected.values() if isinstance(value, str)})
    strange = [value for value in answer.values() if not any(is_same(value, word, 0) for word in words)]
    if words and strange:
        return f"{strange[0]!r} is no answer here; allowed: {', '.join(words)}."
    n_wrong = sum(not is_same(answer[name], expected[name], within) for name in expected)
    return f"{n_wrong} of {len(expected)} entries are wrong."
