# SPDX-License-Identifier: Apache-2.0
"""Check a data package against its own schema and checksums; it shares no code with what writes one."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.agent.files import file_sha256
from harness.errors import InputError

_TYPES: Mapping[str, Callable[[str], object]] = {
    "string": str, "integer": int, "number": float, "boolean": lambda cell: {"true": True, "false": False}[cell],
}  # fmt: skip
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def problems_of(folder: Path) -> list[str]:
    """Return what is wrong with a package, one line each; at most ten for each table.

    Raises:
        InputError: it is none: a file is missing or no JSON.
    """
    return [*_checksums(folder), *_tables(folder)]


def _inside(folder: Path, name: str) -> Path | None:
    """The file of that name; ``None``: there is none below the folder."""
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder.resolve()) and path.is_file() else None


def _checksums(folder: Path) -> Iterator[str]:
    file = folder / "checksums.sha256"
    if not file.is_file():
        raise InputError("is missing", file=file, allowed="a data package")
    listed = {file.name}
    for number, line in enumerate(file.read_text("utf-8", errors="replace").splitlines(), 1):
        match = _LINE.fullmatch(line)
        path = _inside(folder, match[2]) if match else None
        if match is None or path is None:
            yield f"{file.name}: line {number}: names no file of the package"
            continue
        listed.add(match[2])
        if file_sha256(path) != match[1]:
            yield f"{match[2]}: its bytes are not those of its checksum"
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    yield from (f"{name}: has no checksum" for name in sorted(present - listed))


def _tables(folder: Path) -> Iterator[str]:
    file = folder / "datapackage.json"
    try:
        resources = json.loads(file.read_text("utf-8")).get("resources", [])
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", file=file, allowed="a data package") from None
    for resource in resources:
        name = str(resource.get("path"))
        path = _inside(folder, name)
        if path is None:
            yield f"datapackage.json: {name} is no file of the package"
            continue
        problems = list(_rows(path, name, resource["schema"], resource.get("dialect", {}).get("commentChar")))
        yield from problems[:10]


def _rows(path: Path, name: str, schema: Mapping[str, Any], comment: str | None) -> Iterator[str]:
    fields = schema["fields"]
    lines = path.read_text("utf-8").splitlines()
    rows = csv.reader([line for line in lines if not (comment and line.startswith(comment))])
    head = next(rows, [])
    if head != [field["name"] for field in fields]:
        yield f"{name}: columns are not those of the schema"
        return
    keys: set[tuple[str, ...]] = set()
    for number, row in enumerate(rows, 1):
        if len(row) != len(fields):
            yield f"{name}: row {number}: {len(row)} cells, {len(fields)} columns"
            continue
        for field, cell in zip(fields, row, strict=True):
            wrong = _wrong(field, cell)
            if wrong is not None:
                yield f"{name}: row {number}: {field['name']}: found {cell!r}; allowed: {wrong}"
        key = tuple(row[head.index(column)] for column in schema.get("primaryKey", ()))
        if key and key in keys:
            yield f"{name}: row {number}: its key is that of an earlier row"
        keys.add(key)


def _wrong(field: Mapping[str, Any], cell: str) -> str | None:
    """What a cell should have been; ``None``: it is right."""
    rules = field.get("constraints", {})
    if cell == "":
        return "a value" if rules.get("required") else None
    try:
        value = _TYPES[field["type"]](cell)
    except (ValueError, KeyError):
        return str(field["type"])
    if "minimum" in rules and not (isinstance(value, int | float) and value >= rules["minimum"]):
        return f"at least {rules['minimum']}"
    if "enum" in rules and cell not in rules["enum"]:
        return ", ".join(rules["enum"])
    return None
