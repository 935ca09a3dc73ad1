# SPDX-License-Identifier: Apache-2.0
"""What stands in a JMeter plan for each request: texts as JMeter reads them, and the extractors of a flow.

Captures are taken by JMESPath: JMeter brings it, it parses the answer as JSON (a regular
expression would find the right key in the wrong object), and it knows a value's type, so a number
stays a number where a whole JSON value is expected. It costs 0.4 us an answer (measured with
JMeter's own jars; a regular expression: 0.1 us), next to some 100 us that JMeter spends on a
request. Each capture has one or two variables: ``name.text``, and ``name.json`` where it stands for
a JSON value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.loadgen.correlation import CARRIED, steps_of
from harness.loadgen.flow import in_order, is_flow, right_answers
from harness.loadgen.mix import one_round, right_bodies
from harness.loadgen.renderings import Carried, Pieces, pieces
from harness.model import Request

#: What a variable holds when the answer has no such value; nothing that can be carried on looks like it.
ABSENT = "(absent)"


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """One variable: its name, the JMESPath to its value, and for the bare text the rule it is checked by."""

    variable: str
    path: str
    absent: str = ABSENT
    rule: str | None = None
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as the plan has it; every text is ready for JMeter. ``bodies``: None when any is right."""

    name: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: str | None
    status: int
    bodies: tuple[str, ...] | None
    extractors: tuple[Extractor, ...] = ()


def asked(requests: Sequence[Request]) -> tuple[Asked, ...]:
    """A plain mix: one round of it, to choose from. A flow: its steps in order."""
    if not is_flow(requests):
        return tuple(_plain(requests[index]) for index in one_round(tuple(requests)))
    steps = in_order(requests)
    answers = {step.name: right_answers(step.expect) for step in steps}
    typed = {
        piece.name
        for right in answers.values()
        for body in right or ()
        for piece in body
        if isinstance(piece, Carried) and piece.as_json
    }
    return tuple(_step(step, answers[step.name], typed) for step in steps)


def _plain(request: Request) -> Asked:
    bodies = right_bodies(request.expect)
    return Asked(
        name=request.name,
        method=request.method,
        path=request.path,
        headers=tuple((name, literal(value)) for name, value in request.headers.items()),
        body=None if request.body is None else literal(request.body),
        status=request.expect.status,
        bodies=None if bodies is None else tuple(literal(body) for body in bodies),
    )


def _step(request: Request, right: tuple[Pieces, ...] | None, typed: set[str]) -> Asked:
    return Asked(
        name=request.name,
        method=request.method,
        path=with_variables(pieces(request.path)),
        headers=tuple((name, with_variables(pieces(text))) for name, text in request.headers.items()),
        body=None if request.body is None else with_variables(pieces(request.body)),
        status=request.expect.status,
        bodies=None if right is None else tuple(with_variables(body) for body in right),
        extractors=tuple(
            extractor
            for name, pointer in request.capture.items()
            for extractor in _extractors(name, jmespath(pointer), name in typed)
        ),
    )


def _extractors(name: str, path: str, typed: bool) -> tuple[Extractor, ...]:
    bare = Extractor(variable=f"{name}.text", path=path, rule=CARRIED, fault=f"no {name}")
    if not typed:
        return (bare,)
    quoted = f"type({path}) == 'string' && join('', ['\"', {path}, '\"']) || {path}"
    return (bare, Extractor(variable=f"{name}.json", path=quoted))


def jmespath(pointer: str) -> str:
    """A JSON pointer as JMESPath."""
    path = ""
    for part in steps_of(pointer):
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += ("." if path else "") + json.dumps(part)
    return path or "@"


def literal(text: str) -> str:
    """Keep JMeter from reading ``${...}`` in a value as one of its variables or functions.

    Its own escape, a backslash, works only in values that hold a real function: so one is used.
    """
    if "${" not in text:
        return text
    escaped = re.sub(r"\\(?=[$,\\])", r"\\\\", text)
    return escaped.replace("${", "${__char(36)}{")


def with_variables(cut: Pieces) -> str:
    """A text whose captured values are JMeter's variables; all else reaches the service as it stands."""
    if not any(isinstance(piece, Carried) for piece in cut):
        return literal("".join(piece for piece in cut if isinstance(piece, str)))
    return "".join(
        f"${{{piece.name}.{'json' if piece.as_json else 'text'}}}"
        if isinstance(piece, Carried)
        else _guarded(piece)
        for piece in cut
    )


def _guarded(text: str) -> str:
    """Text beside a variable: there a backslash is an escape, and a dollar sign may swallow what follows it."""
    escaped = re.sub(r"\\(?=[$,\\]|\Z)", r"\\\\", text)
    return escaped.replace("$", "${__char(36)}")
