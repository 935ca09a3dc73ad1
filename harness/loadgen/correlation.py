# SPDX-License-Identifier: Apache-2.0
"""Data that goes from one answer into later requests, and right answers as text.

What can be captured is narrow on purpose: a string or whole number whose text holds only letters, digits and
``. _ ~ : @ -``, or a boolean. Such a text means the same in a path, in a header, in a body and inside a JSON string.

A load generator compares text, which it can afford for each answer. A JSON value is right in its usual renderings: with
and without spaces, with and without a final newline, keys in order, decimals as the contract writes them, and with
HTML's characters escaped or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import JsonValue

from harness.model import Expectation, Request

#: ``${name}``: where a captured value goes.
PLACE = re.compile(r"\$\{([a-z][a-z0-9_]{0,39})\}")
#: Texts that can be carried on; anything else is a failed capture.
CARRIED = r"[A-Za-z0-9._~:@-]{1,4096}"

Scalar = str | int | bool
Values = Mapping[str, Scalar]


class CaptureFault(Exception):
    """An answer does not hold what is to be captured, or not in a form that can be carried on."""


def steps_of(pointer: str) -> tuple[str | int, ...]:
    """Return the parts of a JSON pointer: text for a key, a number for a place in a list."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return tuple(int(part) if part.isascii() and part.isdigit() else part for part in parts)


def captured(capture: Mapping[str, str], body: bytes) -> dict[str, Scalar]:
    """Take the named values out of an answer. Raises CaptureFault: it is no JSON, or has nothing there to carry on."""
    if not capture:
        return {}
    try:
        document = json.loads(body)
    except ValueError as problem:
        raise CaptureFault(f"nothing to capture {', '.join(capture)} from: not JSON") from problem
    return {name: _carried_value(name, pointer, document) for name, pointer in capture.items()}


def _carried_value(name: str, pointer: str, document: Any) -> Scalar:
    value = document
    for part in steps_of(pointer):
        in_list = isinstance(value, list) and isinstance(part, int) and part < len(value)
        in_object = isinstance(value, dict) and isinstance(part, str) and part in value
        if not in_list and not in_object:
            raise CaptureFault(f"nothing to capture as {name}: the answer has no {pointer}")
        value = value[part]
    if not isinstance(value, str | int) or not re.fullmatch(CARRIED, bare_text(value)):
        shown = json.dumps(value)[:60]
        raise CaptureFault(f"cannot carry {name} on: {pointer} is {shown}")
    return value


def bare_text(value: Scalar) -> str:
    """Return a captured value as text: a string itself, a number or boolean as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def names_in(value: JsonValue) -> tuple[str, ...]:
    """Return the names whose places stand in the strings of a JSON value, in order; keys are never filled."""
    if isinstance(value, str):
        return tuple(PLACE.findall(value))
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return tuple(name for item in items for name in names_in(item))


def needs(request: Request) -> tuple[str, ...]:
    """Return the names that must be known before a request can be sent."""
    return names_in([request.path, *request.headers.values(), request.body])


def expects(expect: Expectation) -> tuple[str, ...]:
    """Return the names that must be known before an answer can be judged."""
    return names_in([expect.body, *expect.headers.values(), expect.json_value, *(expect.one_of or ())])


def fill_text(text: str, values: Values) -> str:
    """Replace the places of known names by their bare texts; every other text stays as it is."""
    return PLACE.sub(lambda place: bare_text(values[place[1]]) if place[1] in values else place[0], text)


def fill_json(value: JsonValue, values: Values) -> JsonValue:
    """Fill the strings of a JSON value; a string that is nothing but a place becomes the value itself."""
    if isinstance(value, str):
        alone = PLACE.fullmatch(value)
        return values[alone[1]] if alone and alone[1] in values else fill_text(value, values)
    if isinstance(value, list):
        return [fill_json(item, values) for item in value]
    if isinstance(value, dict):
        return {key: fill_json(item, values) for key, item in value.items()}
    return value


def filled(request: Request, values: Values) -> Request:
    """Return a request as it is sent; its expectation is filled later, when its own captures are known."""
    if not values:
        return request
    return request.model_copy(
        update={
            "path": fill_text(request.path, values),
            "headers": {name: fill_text(text, values) for name, text in request.headers.items()},
            "body": None if request.body is None else fill_text(request.body, values),
        }
    )


def filled_expectation(expect: Expectation, values: Values) -> Expectation:
    """Return the right answer, now that the values are known."""
    changed: dict[str, object] = {
        "headers": {name: fill_text(text, values) for name, text in expect.headers.items()}
    }
    if expect.body is not None:
        changed["body"] = fill_text(expect.body, values)
    if expect.json_value is not None:  # what is set is compared, also a null
        changed["json_value"] = fill_json(expect.json_value, values)
    if expect.one_of is not None:
        changed["one_of"] = tuple(fill_json(value, values) for value in expect.one_of)
    return expect.model_copy(update=changed) if values else expect


class Written(float):
    """A decimal with its text: a service may answer ``3000.00``, which as a value is 3000.0."""

    text: str

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made


@dataclass(frozen=True)
class CapturedPlace:
    """Place of a captured value. ``as_json``: with its type, a string in quotes; else its bare text."""

    name: str
    as_json: bool = False


#: Outside of JSON's strings these do not occur, so that all of a text may be translated.
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
Piece = str | CapturedPlace
Pieces = tuple[Piece, ...]


def pieces(text: str) -> Pieces:
    """Return a text of a flow cut at its places."""
    parts = PLACE.split(text)
    cut = (CapturedPlace(part) if odd % 2 else part for odd, part in enumerate(parts))
    return tuple(piece for piece in cut if piece != "")


def renderings(value: JsonValue, *, places: bool = True) -> tuple[Pieces, ...]:
    """Return the renderings of a JSON value, four or eight, the likeliest first; without ``places`` each is a text."""
    made: list[Pieces] = []
    for comma, colon in ((",", ":"), (", ", ": ")):
        results: list[Piece] = []
        _render(value, comma, colon, results, places)
        made += [_joined(results), _joined([*results, "\n"])]
    escaped = (
        tuple(piece.translate(_HTML) if isinstance(piece, str) else piece for piece in cut) for cut in made
    )
    return tuple(dict.fromkeys((*made, *escaped)))


def _render(value: JsonValue, comma: str, colon: str, into: list[Piece], places: bool) -> None:
    if isinstance(value, dict):
        for number, (key, item) in enumerate(value.items()):
            into.append((comma if number else "{") + json.dumps(key, ensure_ascii=False) + colon)
            _render(item, comma, colon, into, places)
        into.append("}" if value else "{}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            into.append(comma if number else "[")
            _render(item, comma, colon, into, places)
        into.append("]" if value else "[]")
    elif isinstance(value, Written):
        into.append(value.text)
    elif places and isinstance(value, str) and (alone := PLACE.fullmatch(value)):
        into.append(CapturedPlace(alone[1], as_json=True))
    else:
        text = json.dumps(value, ensure_ascii=False)
        into.extend(pieces(text) if places and isinstance(value, str) else (text,))


def _joined(parts: Sequence[Piece]) -> Pieces:
    joined: list[Piece] = []
    for piece in parts:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return tuple(joined)
