# SPDX-License-Identifier: Apache-2.0
"""Right answers as text: a load generator compares text first, because that is what it can afford for each answer.

A JSON value is right in its usual renderings: with and without spaces, with and without a final
newline, in the order of keys given, and its decimals as the contract writes them; and where there are
characters that HTML takes for its own, also with these escaped, as Go's ``encoding/json`` does by default.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pydantic import JsonValue

from harness.loadgen.correlation import PLACE


class Written(float):
    """A decimal that remembers its text: a service may answer ``3000.00``, which as a value is 3000.0."""

    text: str

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made


@dataclass(frozen=True)
class Carried:
    """The place of a captured value. ``as_json``: with its type, a string in quotes; else its bare text."""

    name: str
    as_json: bool = False


#: Outside of JSON's strings these do not occur, so that all of a text may be translated.
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
Piece = str | Carried
Pieces = tuple[Piece, ...]


def pieces(text: str) -> Pieces:
    """A text of a flow cut at its places."""
    parts = PLACE.split(text)
    cut = (Carried(part) if odd % 2 else part for odd, part in enumerate(parts))
    return tuple(piece for piece in cut if piece != "")


def renderings(value: JsonValue, *, places: bool = True) -> tuple[Pieces, ...]:
    """The renderings of a JSON value, four or eight, the likeliest first; without ``places`` each is one plain text."""
    made: list[Pieces] = []
    for comma, colon in ((",", ":"), (", ", ": ")):
        results: list[Piece] = []
        _render(value, comma, colon, results, places)
        made += [_joined(results), _joined([*results, "\n"])]
    escaped = [_html_escaped(text) for text in made]
    return tuple(made if escaped == made else made + escaped)


def _html_escaped(cut: Pieces) -> Pieces:
    return tuple(piece.translate(_HTML) if isinstance(piece, str) else piece for piece in cut)


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
        into.append(Carried(alone[1], as_json=True))
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
