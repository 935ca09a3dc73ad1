# SPDX-License-Identifier: Apache-2.0
"""From a file to the model, strictly. Whatever is wrong is one line: the file, the place in it, what is allowed."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import InputError
from harness.model import Frozen
from harness.schema_errors import describe

M = TypeVar("M", bound=Frozen)


#: Dots in one line; the library takes memory by the square of the parts of a key.
MOST_DOTS = 1000


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a TOML text says.

    Raises:
        ValueError: it is none, or a line has more dots than a key or a list of numbers has. RecursionError: too deep.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MOST_DOTS:
            raise ValueError(f"line {number} has more than {MOST_DOTS} dots")
    return tomllib.loads(text)


def text_of(path: Path, allowed: str | None = None) -> str:
    """Return what stands in a file; ``allowed``: what may, for the message.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", file=path, place=f"byte {error.start}", allowed=allowed) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, allowed=allowed) from None


def toml_of(text: str, path: Path) -> dict[str, Any]:
    """Return what the text of a TOML file says.

    Raises:
        InputError: it is none.
    """
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:  # its message ends with "(at line 3, column 7)"
        message, _, where = str(error).rpartition(" (at ")
        raise InputError(
            f"broken TOML: {message or error}", file=path, place=where.rstrip(")") or None
        ) from None
    except (RecursionError, ValueError) as error:  # too deep, or a number of thousands of digits
        raise InputError(f"TOML that cannot be read: {str(error)[:80]}", file=path) from None


def lines_of(model: type[M], text: str, path: Path) -> list[tuple[int, M]]:
    """Return each line of a text of JSON lines as a model, with its number; blank lines are left out.

    Raises:
        InputError: a line is no JSON, or as of :func:`to_model`.
    """
    # not splitlines(): U+2028 and its like may stand inside a JSON string
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return [
        (number, to_model(model, _json_of(line, path, number), path, at=f"line {number}: "))
        for number, line in numbered
    ]


def _json_of(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        text, shown = f"not JSON: {error.msg} at column {error.colno}", line[:60]
    except (RecursionError, ValueError) as error:  # nested too deeply; a number of thousands of digits
        text, shown = f"not JSON that can be read: {str(error)[:80]}", None
    raise InputError(text, file=path, place=f"line {number}", found=shown)


def to_model(model: type[M], data: Any, path: Path, *, at: str = "") -> M:
    """Return the data as a model; ``at`` is where in the file it stands.

    Raises:
        InputError: a key is unknown or missing, or its value is another than is allowed.
    """
    try:
        # By way of JSON: TOML knows no tuples, and strict types take a list for one only from JSON.
        return model.model_validate_json(json.dumps(data))
    except TypeError:
        raise InputError("dates and times are not used here", file=path) from None
    except RecursionError:
        raise InputError("values are nested too deeply", file=path, place=at or None) from None
    except ValidationError as error:
        raise describe(error, model, data, file=path, at=at) from None


def unknown(
    what: str, name: str, known: Iterable[str], *, file: object, place: str | None = None
) -> InputError:
    """Return what is said of a name that nothing has, with the closest one that something has."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return InputError(
        f"unknown {what}{hint}", file=file, place=place, found=name, allowed=", ".join(names) or "none"
    )


def short(path: Path) -> Path:
    """Return a path as a person at this prompt would write it."""
    cwd = Path.cwd()
    return path.relative_to(cwd) if path.is_relative_to(cwd) else path
