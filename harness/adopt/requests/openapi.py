# SPDX-License-Identifier: Apache-2.0
"""Requests of an OpenAPI 3 document: each ``GET``, with an example, a default or the simplest value of each parameter
that it requires. Other operations may change something, and are left to curl lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from harness.adopt.requests.asked import Asked, Listed, named
from harness.errors import InputError

METHODS = ("get", "head", "post", "put", "patch", "delete")
_PLAIN: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "string": "a"}
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
        value = data
        for written in reference.removeprefix("#/").split("/"):
            part = written.replace("~1", "/").replace("~0", "~")
            if not reference.startswith("#/") or not isinstance(value, Mapping) or part not in value:
                raise Unresolved(f"{reference} is not in this document")
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
                if method != "get":
                    raise Unresolved("it may change something, or is no GET: give it as a curl line")
                given = (*item.get("parameters", ()), *operation.get("parameters", ()))
                asked.append(_request(data, prefix + str(path), given))
            except Unresolved as why:
                left.append(f"{method.upper()} {path}: {why}")
    return Listed(asked=named(asked), left_out=tuple(left))


def _request(data: Any, path: str, parameters: tuple[Any, ...]) -> Asked:
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    for entry in (resolved(data, given) for given in parameters):
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
    return Asked(
        name="", method="GET", path=path + (f"?{urlencode(query)}" if query else ""), headers=headers
    )


def _value(data: Any, parameter: Mapping[str, Any], name: str) -> str:
    """Return an example of a parameter, else its default, its least, its first or the simplest value."""
    schema = resolved(data, parameter.get("schema", {}))
    kind = schema.get("type")
    plain = _PLAIN.get(str(kind[0] if isinstance(kind, list) and kind else kind))
    known = [schema[key] for key in ("example", "default", "minimum") if key in schema]
    values = (
        *([parameter["example"]] if "example" in parameter else []),
        *known,
        *schema.get("enum", ()),
        plain,
    )
    value = next((value for value in values if value is not None), None)
    if value is None:
        raise Unresolved(f"no value is known for its parameter {name}")
    return str(value).lower() if isinstance(value, bool) else str(value)
