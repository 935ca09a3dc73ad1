# SPDX-License-Identifier: Apache-2.0
"""Requests of an OpenAPI document (3.x, or Swagger 2.0): its examples, and plain values where it has none.

A ``GET`` is asked with an example, a default or the simplest value of each parameter that it requires. What changes
something is asked only with an example of its body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from harness.adopt.requests.asked import Asked, Listed, named
from harness.errors import InputError

METHODS = ("get", "head", "post", "put", "patch", "delete")
_PLAIN: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "string": "a"}
_FORMATS = {
    "uuid": "00000000-0000-4000-8000-000000000001", "date": "2024-01-01", "date-time": "2024-01-01T00:00:00Z",
    "email": "a@example.org", "uri": "http://example.org/",
}  # fmt: skip
_NONE = object()
#: References to references at most; a document may refer to itself.
_DEEPEST = 16


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


def from_openapi(data: Any, file: Path) -> Listed:
    """Return a request for each operation that can be asked.

    Raises:
        InputError: the document has no paths.
    """
    paths = data.get("paths")
    if not isinstance(paths, Mapping):
        raise InputError("an OpenAPI document without paths", file=file, place="paths")
    asked: list[Asked] = []
    left: list[str] = []
    for path, item, method, operation in _operations(data, paths):
        try:
            asked.append(_request(data, path, item, method, operation))
        except Unresolved as why:
            left.append(f"{method.upper()} {path}: {why}")
    return Listed(asked=named(asked), left_out=tuple(left))


def _operations(
    data: Any, paths: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], str, Mapping[str, Any]]]:
    for path, given in paths.items():
        try:
            item = resolved(data, given)
        except Unresolved:
            continue
        for method in METHODS:
            operation = item.get(method) if isinstance(item, Mapping) else None
            if isinstance(operation, Mapping):
                yield str(path), item, method, operation


def _request(
    data: Any, path: str, item: Mapping[str, Any], method: str, operation: Mapping[str, Any]
) -> Asked:
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    body: str | None = None
    given = [
        resolved(data, entry) for entry in (*item.get("parameters", ()), *operation.get("parameters", ()))
    ]
    for entry in given:
        place, name = entry.get("in"), str(entry.get("name"))
        if place == "body":
            body = _body(data, entry.get("schema", {}), entry)
            headers["Content-Type"] = "application/json"
        if place not in ("path", "query", "header") or not (entry.get("required") or place == "path"):
            continue
        value = _value(data, entry, name)
        if place == "path":
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        elif place == "query":
            query.append((name, value))
        else:
            headers[name] = value
    if "{" in path:
        raise Unresolved("a parameter of its path is not described")
    if "requestBody" in operation:
        content = resolved(data, operation["requestBody"]).get("content", {})
        kind = next((name for name in content if "json" in name), None)
        if kind is None:
            raise Unresolved(
                f"its body is {', '.join(content) or 'not described'}, and only JSON is made here"
            )
        body = _body(data, content[kind].get("schema", {}), content[kind])
        headers["Content-Type"] = kind
    if method not in ("get", "head") and body is None:
        raise Unresolved(
            "it may change something, and there is no example of its body: give it as a curl line"
        )
    whole = _prefix(data) + path + (f"?{urlencode(query)}" if query else "")
    return Asked(name="", method=method.upper(), path=whole, headers=headers, body=body)


def _body(data: Any, schema: Any, holder: Mapping[str, Any]) -> str:
    result = _example(data, holder)
    if result is _NONE:
        result = _example(data, resolved(data, schema))
    if result is _NONE:
        raise Unresolved("there is no example of its body: give it as a curl line")
    return json.dumps(result, ensure_ascii=False)


def _value(data: Any, parameter: Mapping[str, Any], name: str) -> str:
    schema = resolved(data, parameter.get("schema", parameter))
    result = _example(data, parameter)
    if result is _NONE:
        result = _example(data, schema)
    for key in ("default", "minimum"):
        if result is _NONE and key in schema:
            result = schema[key]
    if result is _NONE and schema.get("enum"):
        result = schema["enum"][0]
    if result is _NONE:
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) and kind else kind
        result = _FORMATS.get(str(schema.get("format")), _PLAIN.get(str(kind), _NONE))
    if result is _NONE:
        raise Unresolved(f"no value is known for its parameter {name}")
    return str(result).lower() if isinstance(result, bool) else str(result)


def _example(data: Any, holder: Any) -> Any:
    if not isinstance(holder, Mapping):
        return _NONE
    if "example" in holder:
        return holder["example"]
    examples = holder.get("examples")
    if isinstance(examples, Mapping) and examples:
        first = resolved(data, next(iter(examples.values())))
        return first.get("value", _NONE) if isinstance(first, Mapping) else first
    return examples[0] if isinstance(examples, list) and examples else _NONE


def _prefix(data: Any) -> str:
    if "basePath" in data:
        return str(data["basePath"]).rstrip("/")
    servers = data.get("servers") or [{}]
    url = str(servers[0].get("url", "")) if isinstance(servers[0], Mapping) else ""
    return urlsplit(url).path.rstrip("/") if "{" not in url else ""
