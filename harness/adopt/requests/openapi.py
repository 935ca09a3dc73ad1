# SPDX-License-Identifier: Apache-2.0
"""Requests of an OpenAPI 3 document: its examples, and plain values where it has none.

A ``GET`` is asked with an example, a default or the simplest value of each parameter that it requires. What changes
something is asked only with an example of its body.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from harness.adopt.requests.asked import Asked, Listed, named
from harness.errors import InputError

METHODS = ("get", "head", "post", "put", "patch", "delete")
_PLAIN: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "string": "a"}
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
    servers = data.get("servers") or [{}]
    url = str(servers[0].get("url", "")) if isinstance(servers[0], Mapping) else ""
    prefix = "" if "{" in url else urlsplit(url).path.rstrip("/")
    asked: list[Asked] = []
    left: list[str] = []
    for path, item in paths.items():
        for method in METHODS:
            operation = item.get(method) if isinstance(item, Mapping) else None
            if not isinstance(operation, Mapping):
                continue
            try:
                asked.append(_request(data, prefix, str(path), item, method, operation))
            except Unresolved as why:
                left.append(f"{method.upper()} {path}: {why}")
    return Listed(asked=named(asked), left_out=tuple(left))


def _request(
    data: Any, prefix: str, path: str, item: Mapping[str, Any], method: str, operation: Mapping[str, Any]
) -> Asked:
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    body: str | None = None
    for given in (*item.get("parameters", ()), *operation.get("parameters", ())):
        entry = resolved(data, given)
        place, name = entry.get("in"), str(entry.get("name"))
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
        example = _example(data, content[kind], content[kind].get("schema", {}))
        if example is _NONE:
            raise Unresolved("there is no example of its body: give it as a curl line")
        body, headers["Content-Type"] = json.dumps(example, ensure_ascii=False), kind
    if method not in ("get", "head") and body is None:
        raise Unresolved(
            "it may change something, and there is no example of its body: give it as a curl line"
        )
    whole = prefix + path + (f"?{urlencode(query)}" if query else "")
    return Asked(name="", method=method.upper(), path=whole, headers=headers, body=body)


def _value(data: Any, parameter: Mapping[str, Any], name: str) -> str:
    schema = resolved(data, parameter.get("schema", {}))
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    values = (
        _example(data, parameter, schema), schema.get("default", _NONE), schema.get("minimum", _NONE),
        *schema.get("enum", ()), _PLAIN.get(str(kind), _NONE),
    )  # fmt: skip
    value = next((value for value in values if value is not _NONE), _NONE)
    if value is _NONE:
        raise Unresolved(f"no value is known for its parameter {name}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _example(data: Any, *holders: Any) -> Any:
    """Return the first example of these parts of the document, or ``_NONE``."""
    for holder in (resolved(data, given) for given in holders):
        if not isinstance(holder, Mapping):
            continue
        if "example" in holder:
            return holder["example"]
        examples = holder.get("examples")
        if isinstance(examples, Mapping) and examples:
            first = resolved(data, next(iter(examples.values())))
            return first.get("value", _NONE) if isinstance(first, Mapping) else first
        if isinstance(examples, list) and examples:
            return examples[0]
    return _NONE
