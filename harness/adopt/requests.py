# SPDX-License-Identifier: Apache-2.0
"""What a service may be asked: from curl lines or an OpenAPI 3 document.

Of a document each ``GET`` is asked, with an example, a default or the simplest value of each required parameter. Other
operations may change something, and are left to curl lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import yaml

from harness.adopt.curl import Call, RequestList, from_curl, named
from harness.definitions.strict_files import text_of
from harness.errors import InputError

ALLOWED = "an OpenAPI 3 document (JSON, YAML), or lines that begin with curl"
#: Files of these names in a service's folder are read without being named.
USUAL = (
    "requests.curl", "openapi.json", "openapi.yaml", "openapi.yml", "docs/openapi.yaml", "docs/openapi.json",
    "api/openapi.yaml", "src/main/resources/openapi.yaml",
)  # fmt: skip
#: Where frameworks answer their own OpenAPI document.
SERVED = ("/openapi.json", "/v3/api-docs", "/q/openapi?format=json")
_METHODS = ("get", "head", "post", "put", "patch", "delete")
_PLAIN: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "string": "a"}
#: References to references at most; a document may refer to itself.
_DEEPEST = 16


class _Unresolved(Exception):
    """Why a part of a document cannot be used."""


def usual_file(folder: Path) -> Path | None:
    """Return the file of a service's folder that lists its requests, or ``None``."""
    return next((path for name in USUAL if (path := folder / name).is_file()), None)


def read_requests(file: Path) -> RequestList:
    """Return the requests of a file.

    Raises:
        InputError: it cannot be read, is of no known kind, or lists nothing that can be asked.
    """
    listed = requests_of(text_of(file, ALLOWED), file)
    if not listed.asked:
        left = listed.left_out
        text = f"{len(left)} left out, such as: {left[0]}" if left else "none"
        raise InputError("no request that can be asked", file=file, found=text, allowed=ALLOWED)
    return listed


def requests_of(text: str, file: Path) -> RequestList:
    """Return the requests of a text; ``file``: what errors are about.

    Raises:
        InputError: it is of no known kind.
    """
    if any(line.lstrip().startswith("curl ") for line in text.splitlines()):
        return from_curl(text, file)
    try:  # JSON is YAML, too, but is read a hundred times as fast
        data = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        data = None
    if isinstance(data, dict) and "openapi" in data:
        return _of_document(data, file)
    if isinstance(data, dict) and isinstance(data.get("log"), dict):
        curl = 'the same requests as the browser\'s "Copy all as cURL"'
        raise InputError("a HAR file is not read", file=file, allowed=curl)
    first = next((line.strip()[:60] for line in text.splitlines() if line.strip()), "nothing")
    raise InputError("lists no requests", file=file, found=first, allowed=ALLOWED)


def _of_document(data: Any, file: Path) -> RequestList:
    paths = data.get("paths")
    if not isinstance(paths, Mapping):
        raise InputError("an OpenAPI document without paths", file=file, place="paths")
    servers = data.get("servers") or [{}]
    url = str(servers[0].get("url", "")) if isinstance(servers[0], Mapping) else ""
    prefix = "" if "{" in url else urlsplit(url).path.rstrip("/")
    asked: list[Call] = []
    left: list[str] = []
    for path, item in paths.items():
        for method in _METHODS:
            operation = item.get(method) if isinstance(item, Mapping) else None
            if not isinstance(operation, Mapping):
                continue
            try:
                if method != "get":
                    raise _Unresolved("it may change something, or is no GET: give it as a curl line")
                given = (*item.get("parameters", ()), *operation.get("parameters", ()))
                asked.append(_request(data, prefix + str(path), given))
            except _Unresolved as why:
                left.append(f"{method.upper()} {path}: {why}")
    return RequestList(asked=named(asked), left_out=tuple(left))


def _request(data: Any, path: str, parameters: tuple[Any, ...]) -> Call:
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    for entry in (_resolved(data, given) for given in parameters):
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
        raise _Unresolved("a parameter of its path is not described")
    return Call(method="GET", path=path + (f"?{urlencode(query)}" if query else ""), headers=headers)


def _value(data: Any, parameter: Mapping[str, Any], name: str) -> str:
    """Return an example of a parameter, else its default, its least, its first or the simplest value."""
    schema = _resolved(data, parameter.get("schema", {}))
    kind = schema.get("type")
    plain = _PLAIN.get(str(kind[0] if isinstance(kind, list) and kind else kind))
    known = (parameter.get("example"), *(schema.get(key) for key in ("example", "default", "minimum")))
    value = next((value for value in (*known, *schema.get("enum", ()), plain) if value is not None), None)
    if value is None:
        raise _Unresolved(f"no value is known for its parameter {name}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _resolved(data: Any, value: Any) -> Any:
    """Follow ``$ref`` within the document ``data``."""
    for _ in range(_DEEPEST):
        if not isinstance(value, Mapping) or "$ref" not in value:
            return value
        reference = str(value["$ref"])
        value = data
        for written in reference.removeprefix("#/").split("/"):
            part = written.replace("~1", "/").replace("~0", "~")
            if not reference.startswith("#/") or not isinstance(value, Mapping) or part not in value:
                raise _Unresolved(f"{reference} is not in this document")
            value = value[part]
    raise _Unresolved("its references go in a circle")
