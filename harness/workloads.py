# SPDX-License-Identifier: Apache-2.0
"""A workload's contract folder: the cases that are checked and the requests that are sent under load."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from harness.definitions.strict_files import lines_of, text_of
from harness.errors import InputError
from harness.loadgen.correlation import Written, expects, names_in
from harness.loadgen.flow import FlowFault, flow_fault, name_fault
from harness.model import Captures, Expectation, Frozen, Request
from harness.model.started import SettingValue

CASES, REQUESTS = "cases.jsonl", "requests.jsonl"
ALLOWED = "JSON lines in UTF-8"
Face = Literal["published", "repaired", "matched"]


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

    def needs(self) -> tuple[str, ...]:
        """The names that must be captured before it is asked; ``body_base64`` and ``body_repeat`` are sent as is."""
        texts = (self.path, *self.headers.values(), self.body or "")
        return tuple(name for text in texts for name in names_in(text))


class Case(Frozen):
    """One line of ``cases.jsonl``: a request and its one right answer.

    What a case captures is ``${name}`` in the cases of its face after it. In a file without any
    capture ``${name}`` is plain text.
    """

    name: str
    face: Face
    language: str | None = None  # only for services of this language
    services: tuple[str, ...] | None = Field(default=None, min_length=1)  # only for services of these names
    # only where none of these settings of a service has another value
    settings: dict[str, SettingValue] = Field(default_factory=dict)
    request: CaseRequest
    capture: Captures = Field(default_factory=dict)  # name -> JSON pointer into the answer
    expect: Expectation


def face_of(settings: Mapping[str, object]) -> Face:
    """Return the face that these settings of a variant ask for; without one, the matched face."""
    faces: tuple[Face, ...] = get_args(Face)
    return next((face for face in faces if settings.get("face") == face), "matched")


def load_cases(contract_folder: Path) -> tuple[Case, ...]:
    """Return every case of the contract, in the file's order.

    Raises:
        InputError: the file cannot be read, a line of it is no case, or a case uses what none before captured.
    """
    file = contract_folder / CASES
    numbered = lines_of(Case, text_of(file, ALLOWED), file)
    cases = tuple(case for _, case in numbered)
    seen: set[tuple[str, str, str | None, tuple[str, ...] | None]] = set()
    for number, case in enumerate(cases, start=1):
        key = (case.face, case.name, case.language, case.services)
        if key in seen:
            place = f"case {number}"
            raise InputError(
                "two cases of one name", file=file, place=place, found=case.name, allowed="unique names"
            )
        seen.add(key)
    fault = _case_fault(cases)
    if fault is not None:
        raise _wrong(fault, file, numbered[fault.index][0], cases[fault.index].name)
    return cases


def load_all_requests(contract_folder: Path) -> tuple[Request, ...]:
    """Return the requests of every mix, in the file's order.

    Raises:
        InputError: the file cannot be read, a line is no request, or a mix is no sound flow.
    """
    file = contract_folder / REQUESTS
    return _requests(file, text_of(file, ALLOWED))


@lru_cache(maxsize=32)
def _requests(file: Path, text: str) -> tuple[Request, ...]:
    """Return all requests of a file; the same text, which may be a hundred kilobytes, is read once in a process."""
    lines = text.split("\n")
    numbered = [(n, _as_written(request, lines[n - 1])) for n, request in lines_of(Request, text, file)]
    for mix in dict.fromkeys(request.mix for _, request in numbered):
        numbers, requests = zip(*((n, request) for n, request in numbered if request.mix == mix), strict=True)
        fault = flow_fault(requests)
        if fault is not None:
            raise _wrong(fault, file, numbers[fault.index], requests[fault.index].name)
    return tuple(request for _, request in numbered)


def _as_written(request: Request, line: str) -> Request:
    """The same request, whose expected decimals remember their text (see ``renderings.Written``)."""
    raw = json.loads(line, parse_float=Written)["expect"]
    changed = {"json_value": raw["json"]} if raw.get("json") is not None else {}
    if raw.get("one_of") is not None:
        changed["one_of"] = tuple(raw["one_of"])
    return request.model_copy(update={"expect": request.expect.model_copy(update=changed)})


def _case_fault(cases: Sequence[Case]) -> FlowFault | None:
    """Names run along the cases that a service is asked: of its face, for all or for its language and services."""
    if not any(case.capture for case in cases):
        return None
    for index, case in enumerate(cases):
        known = {
            name
            for earlier in cases[:index]
            if earlier.face == case.face
            and earlier.language in (None, case.language)
            and earlier.services in (None, case.services)
            for name in earlier.capture
        }
        fault = name_fault(index, case.request.needs(), case.capture, expects(case.expect), known)
        if fault is not None:
            return fault
    return None


def _wrong(fault: FlowFault, file: Path, line: int, name: str) -> InputError:
    place = f"line {line}: {name}"
    return InputError(fault.problem, file=file, place=place, found=fault.value, allowed=fault.allowed)
