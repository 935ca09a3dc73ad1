# SPDX-License-Identifier: Apache-2.0
"""A workload's contract folder: the cases that are checked and the requests that are sent under load."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from harness.errors import InputError
from harness.model import Expectation, Frozen, Request

CASES, REQUESTS = "cases.jsonl", "requests.jsonl"
T = TypeVar("T", bound=Frozen)
Face = Literal["published", "matched"]


class BodyRepeat(Frozen):
    """A long body in few words: prefix, ``count`` times unit, suffix."""

    prefix: str = ""
    unit: str
    count: int = Field(ge=0)
    suffix: str = ""


class CaseRequest(Frozen):
    """What is asked in one case. At most one of the three bodies is given."""

    method: str
    path: str
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    body_base64: str | None = None
    body_repeat: BodyRepeat | None = None

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        if sum(part is not None for part in (self.body, self.body_base64, self.body_repeat)) > 1:
            raise ValueError("at most one of body, body_base64, body_repeat")
        try:
            self.body_bytes()
        except binascii.Error as problem:
            raise ValueError(f"body_base64: {problem}") from problem
        return self

    def body_bytes(self) -> bytes | None:
        """Return the body as it is sent, or ``None`` for a request without one."""
        if self.body_base64 is not None:
            return base64.b64decode(self.body_base64, validate=True)
        if self.body_repeat is not None:
            parts = self.body_repeat
            return (parts.prefix + parts.unit * parts.count + parts.suffix).encode()
        return None if self.body is None else self.body.encode()


class Case(Frozen):
    """One line of ``cases.jsonl``: a request and its one right answer."""

    name: str
    face: Face
    language: str | None = Field(default=None, description="only for services of this language")
    request: CaseRequest
    expect: Expectation


def load_cases(contract_folder: Path) -> tuple[Case, ...]:
    """Return every case of the contract, in the file's order.

    Raises:
        InputError: the file cannot be read, or a line of it is no case.
    """
    file = contract_folder / CASES
    cases = tuple(_parse(Case, file, number, line) for number, line in _lines(file))
    seen: dict[tuple[str, str, str | None], int] = {}
    for number, case in enumerate(cases, start=1):
        if seen.setdefault((case.face, case.name, case.language), number) != number:
            raise InputError(
                "two cases of one name",
                file=file,
                place=f"case {number}",
                found=case.name,
                allowed="unique names",
            )
    return cases


def load_requests(contract_folder: Path, mix: str) -> tuple[Request, ...]:
    """Return the requests of ``mix``; the first is what readiness is polled with.

    Raises:
        InputError: the file cannot be read, a line is no request, or nobody knows the mix.
    """
    every = load_all_requests(contract_folder)
    chosen = tuple(request for request in every if request.mix == mix)
    if not chosen:
        mixes = ", ".join(dict.fromkeys(request.mix for request in every))
        raise InputError(
            "unknown mix", file=contract_folder / REQUESTS, place="mix", found=mix, allowed=mixes or "none"
        )
    return chosen


def load_all_requests(contract_folder: Path) -> tuple[Request, ...]:
    """Return the requests of every mix, in the file's order."""
    file = contract_folder / REQUESTS
    return tuple(_parse(Request, file, number, line) for number, line in _lines(file))


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise InputError(f"cannot be read: {why}", file=file, allowed="JSON lines in UTF-8") from problem
    # not splitlines(): U+2028 and its like may stand inside a JSON string
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _parse(kind: type[T], file: Path, number: int, line: str) -> T:
    place = f"line {number}"
    try:
        json.loads(line)
        return kind.model_validate_json(line)
    except json.JSONDecodeError as problem:
        raise InputError(
            f"not JSON: {problem.msg} at column {problem.colno}", file=file, place=place, found=line[:60]
        ) from problem
    except ValidationError as problem:
        first: Any = problem.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            first["msg"],
            file=file,
            place=f"{place}: {where}" if where else place,
            found=str(first["input"])[:60],
            allowed=", ".join(kind.model_fields)
            if first["type"] == "extra_forbidden" and len(first["loc"]) == 1
            else None,
        ) from problem
