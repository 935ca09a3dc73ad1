# SPDX-License-Identifier: Apache-2.0
"""Right answers, taken from the service itself: asked twice in one process and once in another. What differs is
volatile: in JSON those places are masked, of any other body only the status is held against the contract."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.adopt.curl import Call
from harness.agent.http_exchange import Answer
from harness.conformance import differences

#: A longer body is held against nothing but its status under load and in cases.
LONGEST_BODY = 100_000
#: Above so many volatile places an answer is of another kind, and only its status is compared.
MOST_VOLATILE = 20
#: Begins the reason why a request is in no load.
NOT_OF_THE_LOAD = "not part of the load: "
#: Of an answer, where two processes give the same.
COMPARED_HEADERS = ("Content-Type", "Content-Encoding")
_LINE_ENDS = re.compile(r"[\r\n]+")


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A request with its right answer.

    ``volatile``: JSON pointers to what changes; ``compared``: what of the body is held against later answers;
    ``repeatable``: it may be part of a load; ``note``: why less than everything is compared, or it is not repeatable.
    """

    asked: Call
    status: int
    headers: dict[str, str]
    text: str
    compared: str
    volatile: tuple[str, ...] = ()
    repeatable: bool = True
    note: str | None = None

    def case_line(self) -> str:
        """Return the line of ``cases.jsonl``."""
        head = {"name": self.asked.name, "face": "matched", "request": self._request()}
        return _line(head, self._expected(masked=True))

    def request_line(self, mix: str) -> str:
        """Return the line of ``requests.jsonl``; a load generator compares whole bodies, or the status alone."""
        return _line({"mix": mix, "name": self.asked.name} | self._request(), self._expected(masked=False))

    def _request(self) -> dict[str, Any]:
        asked = self.asked
        head = {"method": asked.method, "path": asked.path, "headers": asked.headers}
        return head if asked.body is None else head | {"body": asked.body}

    def _expected(self, *, masked: bool) -> str:
        parts = [f'"status": {self.status}']
        if masked and self.headers:
            parts.append('"headers": ' + json.dumps(self.headers))
        if self.compared == "body":
            parts.append('"body": ' + json.dumps(self.text, ensure_ascii=False))
        elif self.compared == "json" and (masked or not self.volatile):
            # as it was written: load generators compare text, and 3000.00 is not 3000.0 there
            parts.append('"json": ' + _LINE_ENDS.sub(" ", self.text).strip())
            if self.volatile:
                parts.append('"volatile": ' + json.dumps(list(self.volatile)))
        return "{" + ", ".join(parts) + "}"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """All that was recorded. ``left_out``: requests that cannot be held against anything, with the reason."""

    recorded: tuple[Recorded, ...]
    left_out: tuple[str, ...] = ()

    @property
    def repeatable(self) -> tuple[Recorded, ...]:
        """Those that a load may consist of."""
        return tuple(item for item in self.recorded if item.repeatable)


def record(
    asked: Sequence[Call],
    first: Sequence[Answer | str],
    again: Sequence[Answer | str],
    fresh: Sequence[Answer | str],
) -> Recording:
    """Return the right answers; ``first``, ``again``: of a process asked twice, ``fresh``: of one of its own."""
    recorded: list[Recorded] = []
    left: list[str] = []
    for item, *answers in zip(asked, first, again, fresh, strict=True):
        result = _recorded(item, *answers)
        if isinstance(result, str):
            left.append(f"{item.method} {item.path}: {result}")
        else:
            recorded.append(result)
    return Recording(recorded=tuple(recorded), left_out=tuple(left))


def _recorded(asked: Call, first: Answer | str, again: Answer | str, fresh: Answer | str) -> Recorded | str:
    if isinstance(first, str) or isinstance(fresh, str):
        return first if isinstance(first, str) else str(fresh)
    if first.status >= 500:
        return f"answered with {first.status}"
    if first.status != fresh.status:
        return f"a fresh process answers with {fresh.status}, the one before with {first.status}"
    bodies = [first.content, fresh.content]
    note = None
    if isinstance(again, str) or again.status != first.status:
        repeated = again if isinstance(again, str) else f"status {again.status}"
        note = f"{NOT_OF_THE_LOAD}asked again it is {repeated}"
    else:
        bodies.append(again.content)
        if not 200 <= first.status < 400:
            note = f"{NOT_OF_THE_LOAD}its status is {first.status}"
    headers = {name: first.headers.get(name.lower(), "") for name in COMPARED_HEADERS}
    text = _text(first.content)
    compared, volatile, why = _compared(asked, text, bodies)
    return Recorded(
        asked=asked,
        status=first.status,
        headers={name: text for name, text in headers.items() if text == fresh.headers.get(name.lower())},
        text=text or "",
        compared=compared,
        volatile=volatile,
        repeatable=note is None,
        note="; ".join(words for words in (why, note) if words) or None,
    )


def _compared(
    asked: Call, text: str | None, bodies: Sequence[bytes]
) -> tuple[str, tuple[str, ...], str | None]:
    """What of the bodies is compared, its volatile places, and why it is not all of it."""
    if asked.method == "HEAD":
        return "status", (), None
    if text is None or len(text) > LONGEST_BODY:
        size = "no text" if text is None else f"{len(text)} characters long"
        return "status", (), f"its body is {size}"
    values = [_json(body) for body in bodies]
    if all(isinstance(value, dict | list) for value in values):
        places = sorted({place for value in values[1:] for place, _ in differences(values[0], value)})
        if "" in places or len(places) > MOST_VOLATILE:
            return "status", (), "its body changes throughout"
        return "json", tuple(places), None
    if any(body != bodies[0] for body in bodies):
        return "status", (), "its body changes, and is no JSON"
    return "body", (), None


def _line(head: dict[str, Any], expect: str) -> str:
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "expect": {expect}}}'


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
