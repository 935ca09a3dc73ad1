# SPDX-License-Identifier: Apache-2.0
"""What an OpenAPI document says of the answers to one request, and where a given answer contradicts it.

Of a schema are checked: type, null, required and named properties, items, enum and const, and what allOf, anyOf and
oneOf put together. Formats, patterns and limits of numbers and lengths are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

#: Contradictions that are shown of one answer.
MOST_SHOWN = 3
#: Schemas within schemas, and references to references, at most; a document may refer to itself.
_DEEPEST = 16
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "number": (int, float),
    "integer": (int, float), "null": (type(None),),
}  # fmt: skip


class Unresolved(Exception):
    """Why a part of a document cannot be used."""


def resolved(data: Any, value: Any) -> Any:
    """Follow ``$ref`` within the document ``data``.

    Raises:
        Unresolved: the reference leads out of the document, to nothing, or in a circle.
    """
    for _ in range(_DEEPEST):
        if not isinstance(value, Mapping) or "$ref" not in value:
            return value
        reference = str(value["$ref"])
        if not reference.startswith("#/"):
            raise Unresolved(f"{reference} is in another document")
        value = data
        for written in reference[2:].split("/"):
            part = written.replace("~1", "/").replace("~0", "~")
            if not isinstance(value, Mapping) or part not in value:
                raise Unresolved(f"{reference} is not there")
            value = value[part]
    raise Unresolved("its references go in a circle")


@dataclass(frozen=True, kw_only=True)
class Documented:
    """``answers``: a status as the document writes it (``200``, ``2XX``, ``default``) -> the schema of its JSON body,
    ``None``: it gives none."""

    document: Any
    answers: Mapping[str, Any]

    def contradictions(self, status: int, text: str | None) -> tuple[str, ...]:
        """Return what of an answer is not as the document says, the first ``MOST_SHOWN``.

        Args:
            text: its body; ``None``: it is no text.
        """
        if not self.answers:
            return ()
        known = {name.upper(): schema for name, schema in self.answers.items()}
        names = (str(status), f"{status // 100}XX", "DEFAULT")
        name = next((item for item in names if item in known), None)
        if name is None:
            return (f"status {status}, where the document has {', '.join(self.answers)}",)
        if known[name] is None:
            return ()
        try:
            value = json.loads(text or "")
        except ValueError:
            return ("no JSON body, where the document has one",)
        return tuple(islice(self._faults(known[name], value, ""), MOST_SHOWN))

    def _faults(self, schema: Any, value: Any, at: str, depth: int = 0) -> Iterator[str]:
        try:
            schema = resolved(self.document, schema)
        except Unresolved:
            return
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return
        if value is None and schema.get("nullable") is True:
            return
        where = at or "the body"
        kinds = schema.get("type", [])
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if kinds and not any(_is(value, kind) for kind in kinds):
            yield f"{where} is {_kind(value)}, where the document has {' or '.join(map(str, kinds))}"
            return
        allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if isinstance(allowed, list) and value not in allowed:
            yield f"{where} is {json.dumps(value)[:40]}, which is not among the values of the document"
        for part in _list(schema.get("allOf")):
            yield from self._faults(part, value, at, depth + 1)
        for name in ("anyOf", "oneOf"):
            parts = _list(schema.get(name))
            if parts and all(next(self._faults(part, value, at, depth + 1), None) for part in parts):
                yield f"{where} fits none of the {len(parts)} forms of the document"
        if isinstance(value, dict):
            yield from self._faults_of_object(schema, value, at, depth)
        elif isinstance(value, list) and "items" in schema:
            for place, item in enumerate(value):
                yield from self._faults(schema["items"], item, f"{at}/{place}", depth + 1)

    def _faults_of_object(
        self, schema: Mapping[str, Any], value: Mapping[str, Any], at: str, depth: int
    ) -> Iterator[str]:
        properties = _mapping(schema.get("properties"))
        for name in _list(schema.get("required")):
            if name not in value and not _mapping(properties.get(name)).get("writeOnly"):
                yield f"{at}/{name} is missing"
        others = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in properties:
                yield from self._faults(properties[name], item, f"{at}/{name}", depth + 1)
            elif others is False:
                yield f"{at}/{name} is not in the document"
            elif isinstance(others, Mapping):
                yield from self._faults(others, item, f"{at}/{name}", depth + 1)


def documented(data: Any, operation: Mapping[str, Any]) -> Documented:
    """Return what a document says of the answers of an operation; what it cannot resolve is left out."""
    answers: dict[str, Any] = {}
    for status, given in _mapping(operation.get("responses")).items():
        try:
            answer = _mapping(resolved(data, given))
        except Unresolved:
            answer = {}
        content = _mapping(answer.get("content"))
        kind = next((name for name in content if "json" in str(name)), None)
        # Swagger 2.0 has the schema in the answer itself
        answers[str(status)] = answer.get("schema") if kind is None else _mapping(content[kind]).get("schema")
    return Documented(document=data, answers=answers)


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return bool(kind == "boolean")
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _TYPES.get(str(kind), object))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    name = next(name for name, types in _TYPES.items() if isinstance(value, types))
    return name if value is None else f"{'an' if name[0] in 'ao' else 'a'} {name}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
