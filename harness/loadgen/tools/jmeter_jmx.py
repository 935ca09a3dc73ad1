# SPDX-License-Identifier: Apache-2.0
"""What stands in a JMeter plan for each request: texts as JMeter reads them, and the extractors of a flow.

Captures are taken by JMESPath: JMeter brings it, it parses the answer as JSON (a regular
expression would find the right key in the wrong object), and it knows a value's type, so a number
stays a number where a whole JSON value is expected. It costs 0.4 us an answer (measured with
JMeter's own jars; a regular expression: 0.1 us), next to some 100 us that JMeter spends on a
request. Each capture has one or two variables: ``name.text``, and ``name.json`` where it stands for
a JSON value. An answer that is to be a JSON value is compared by JMESPath, too: one more variable says
whether it is that value, whatever its blanks and the order of its keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.loadgen.correlation import CARRIED, steps_of
from harness.loadgen.flow import in_order, is_flow
from harness.loadgen.mix import one_round
from harness.loadgen.renderings import Carried, Pieces, pieces, renderings
from harness.model import Expectation, Request

#: What a variable holds when the answer has no such value; nothing that can be carried on looks like it.
ABSENT = "(absent)"
#: Holds ``true`` where an answer is one of the values expected; no capture's variable ends so.
IS_RIGHT = "body.right"


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
    """One request as the plan has it; every text is ready for JMeter.

    ``right``: the text that its answer has to be; None: any, or what the extractors find.
    """

    name: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: str | None
    status: int
    right: str | None
    extractors: tuple[Extractor, ...]


def asked(requests: Sequence[Request]) -> tuple[Asked, ...]:
    """A plain mix: one round of it, to choose from. A flow: its steps in order."""
    if not is_flow(requests):
        return tuple(_plain(requests[index]) for index in one_round(tuple(requests)))
    steps = in_order(requests)
    values = {step.name: _values(step.expect, places=True) for step in steps}
    typed = {
        piece.name
        for right in values.values()
        for value in right
        for piece in value
        if isinstance(piece, Carried) and piece.as_json
    }
    return tuple(_step(step, values[step.name], typed) for step in steps)


def _plain(request: Request) -> Asked:
    return Asked(
        name=request.name,
        method=request.method,
        path=request.path,
        headers=tuple((name, literal(value)) for name, value in request.headers.items()),
        body=None if request.body is None else literal(request.body),
        status=request.expect.status,
        right=None if request.expect.body is None else literal(request.expect.body),
        extractors=_comparison(_values(request.expect, places=False)),
    )


def _step(request: Request, values: Sequence[Pieces], typed: set[str]) -> Asked:
    right = request.expect.body
    taken = (
        extractor
        for name, pointer in request.capture.items()
        for extractor in _extractors(name, jmespath(pointer), name in typed)
    )
    return Asked(
        name=request.name,
        method=request.method,
        path=with_variables(pieces(request.path)),
        headers=tuple((name, with_variables(pieces(text))) for name, text in request.headers.items()),
        body=None if request.body is None else with_variables(pieces(request.body)),
        status=request.expect.status,
        right=None if right is None else with_variables(pieces(right)),
        extractors=(*taken, *_comparison(values)),
    )


def _values(expect: Expectation, *, places: bool) -> tuple[Pieces, ...]:
    """The JSON values that are right, each as one text cut at its places; empty: none is expected."""
    if not expect.is_json:
        return ()
    values = (expect.json_value,) if expect.one_of is None else expect.one_of
    return tuple(renderings(value, places=places)[0] for value in values)


def _comparison(values: Sequence[Pieces]) -> tuple[Extractor, ...]:
    """What tells whether an answer is one of these values, after the captures that may stand in them."""
    if not values:
        return ()
    wanted: list[str | Carried] = []
    for value in values:
        wanted.append(" || @ == `" if wanted else "@ == `")
        # A backtick ends a literal of JMESPath; in a text of JSON it may be written by its number.
        wanted += [piece.replace("`", "\\u0060") if isinstance(piece, str) else piece for piece in value]
        wanted.append("`")
    path = with_variables(tuple(wanted))
    return (Extractor(variable=IS_RIGHT, path=path, rule="true", fault="wrong body"),)


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
