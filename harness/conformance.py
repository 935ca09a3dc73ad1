# SPDX-License-Identifier: Apache-2.0
"""Answers are checked before anything is timed: every case of the contract, against this very instance.

What one case captured goes into the cases after it, along the file's order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from harness.agent.http_exchange import Answer, Connection, ExchangeError, request_bytes
from harness.loadgen.correlation import (
    CaptureFault,
    Scalar,
    Values,
    captured,
    expects,
    fill_text,
    filled_expectation,
    steps_of,
)
from harness.model import ConformanceResult, Endpoint, Expectation
from harness.workloads import Case, Face

#: Expected and found texts in a failure's line are cut to this many characters each.
SHOWN = 80


def applicable(
    cases: Iterable[Case],
    face: Face,
    language: str,
    service: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> tuple[Case, ...]:
    """Return the cases that a service of ``language`` must fulfil in ``face``.

    Args:
        service: its name. settings: those that its variant names; the others have their defaults, which cases hold for.
    """
    named = settings or {}
    return tuple(
        case
        for case in cases
        if case.face == face
        and case.language in (None, language)
        and (case.services is None or service in case.services)
        and all(named.get(name, value) == value for name, value in case.settings.items())
    )


def check(
    endpoint: Endpoint,
    cases: Iterable[Case],
    face: Face,
    language: str,
    service: str | None = None,
    *,
    settings: Mapping[str, object] | None = None,
    timeout_s: float = 10.0,
) -> ConformanceResult:
    """Ask every applicable case, in order, over one keep-alive connection; return what failed.

    A service that hangs or is gone fails its case in words; nothing is raised for that.
    """
    failures = []
    chosen = applicable(cases, face, language, service, settings)
    source = {name: case.name for case in chosen for name in case.capture}
    values: dict[str, Scalar] = {}
    with Connection(endpoint, timeout_s) as connection:
        for case in chosen:
            wanted = (*case.request.needs(), *expects(case.expect))
            lost = [
                name for name in wanted if name in source and name not in values and name not in case.capture
            ]
            fault: str | None
            if lost:
                fault = f"not asked: it needs {lost[0]} of {source[lost[0]]}, which failed"
            else:
                fault, taken = _fault(connection, endpoint, case, values)
                values |= taken
            if fault is not None:
                failures.append(f"{case.name}: {fault}")
    return ConformanceResult(n_cases=len(chosen), failures=tuple(failures))


def judge(
    answer: Answer, expect: Expectation, capture: Mapping[str, str], values: Values
) -> tuple[str | None, dict[str, Scalar]]:
    """Return what is wrong with an answer (see ``answer_fault``), and what was captured from a right one.

    ``values`` were captured before; what this answer gives holds already in its own expectation.
    """
    if answer.status != expect.status:  # first: an error's body rarely holds what was to be captured
        return answer_fault(answer, expect), {}
    try:
        taken = captured(capture, answer.content)
    except CaptureFault as problem:
        return f"{problem}; got {_shown(answer.body)}", {}
    fault = answer_fault(answer, filled_expectation(expect, {**values, **taken}))
    return fault, taken if fault is None else {}


def answer_fault(answer: Answer, expect: Expectation) -> str | None:
    """Return what is wrong with an answer in one short line, or ``None`` when it is right."""
    if answer.status != expect.status:
        return f"expected status {expect.status}, got {answer.status} {_shown(answer.body)}"
    for name, value in expect.headers.items():
        result = answer.headers.get(name.lower())
        if result != value:
            return f"expected header {name}: {value}, got {'none' if result is None else result[:SHOWN]}"
    return _body_fault(answer.content, expect)


def _body_fault(body: bytes, expect: Expectation) -> str | None:
    """How a body differs from all right values: both, or the first place where they do when they are long."""
    if expect.body is not None:
        return _text_fault(body, expect.body.encode())
    if expect.one_of is not None:
        right, wanted = expect.one_of, f"one of {json.dumps(expect.one_of)[:SHOWN]}"
    elif "json_value" in expect.model_fields_set:
        but = f" but for {', '.join(expect.volatile)}" if expect.volatile else ""
        right, wanted = (expect.json_value,), f"JSON {json.dumps(expect.json_value)[:SHOWN]}{but}"
    else:
        return None
    fault: str | None = f"expected {wanted}, got {_shown(body)}"
    try:
        document = json.loads(body)
    except ValueError:
        return fault
    values = json.loads(json.dumps(right))
    for pointer in expect.volatile if expect.one_of is None else ():
        if not _take(document, pointer):
            return f"expected a value at {pointer}, got {_shown(body)}"
        for value in values:
            _take(value, pointer)
    if any(same_json(document, value) for value in values):
        fault = None
    elif len(values) == 1 and max(len(json.dumps(values[0])), len(body)) > SHOWN:
        fault = next(differences(document, values[0]))[1]
    return fault


def _text_fault(body: bytes, right: bytes) -> str | None:
    if body == right:
        return None
    pairs = enumerate(zip(right, body, strict=False))
    same = next((n for n, (wanted, got) in pairs if wanted != got), min(len(right), len(body)))
    begin = 0 if same < SHOWN else same - SHOWN // 4  # else both are cut before they differ
    place = f"at byte {same}: " if begin else ""
    return f"{place}expected {_shown(right[begin:])}, got {_shown(body[begin:])}"


def differences(got: JsonValue, right: JsonValue, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield each place where two values differ, as far inside as both have the same form: its JSON pointer, and how.

    >>> [place for place, _ in differences({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]})]
    ['/b/1']
    """
    parts: list[tuple[str, JsonValue, JsonValue]] = []
    if same_json(got, right):
        return
    if isinstance(got, dict) and isinstance(right, dict):
        lost, new = right.keys() - got.keys(), got.keys() - right.keys()
        if lost or new:
            yield at, f"{at}/{min(lost or new)} is {'missing' if lost else 'too much'}"
            return
        # a pointer takes digits for a place in a list
        if not any(key.isascii() and key.isdigit() for key in right):
            parts = [(key.replace("~", "~0").replace("/", "~1"), got[key], right[key]) for key in right]
    elif isinstance(got, list) and isinstance(right, list):
        if len(got) != len(right):
            yield at, f"{at or 'the list'}: expected {len(right)} values, got {len(got)}"
            return
        parts = [(str(place), *pair) for place, pair in enumerate(zip(got, right, strict=True))]
    if not parts:
        yield at, f"{at}: expected {json.dumps(right)[:SHOWN]}, got {json.dumps(got)[:SHOWN]}"
    for name, value, wanted in parts:
        yield from differences(value, wanted, f"{at}/{name}")


def _take(document: JsonValue, pointer: str) -> bool:
    """Put ``null`` in a place of a document; return whether it is there."""
    *way, last = steps_of(pointer) or ("",)
    value: Any = document
    try:
        for part in way:
            value = value[part]
        if value[last] is not None:
            value[last] = None
    except (LookupError, TypeError):
        return False
    return True


def _fault(
    connection: Connection, endpoint: Endpoint, case: Case, values: Values
) -> tuple[str | None, dict[str, Scalar]]:
    request = case.request
    body = request.body_bytes() if request.body is None else fill_text(request.body, values).encode()
    headers = {name: fill_text(text, values) for name, text in request.headers.items()}
    raw = request_bytes(request.method, fill_text(request.path, values), headers, body, endpoint)
    head_only = request.method == "HEAD"
    opened = connection.n_opened
    try:
        try:
            answer = connection.exchange(raw, head_only=head_only)
        except ExchangeError:
            # A service may close the connection of a body it refuses, and closing while we still
            # send can wipe out the answer on its way to us: such a case gets one more chance.
            if case.expect.status < 400 or connection.n_opened > opened + 1:
                raise
            answer = connection.exchange(raw, head_only=head_only)
    except (ExchangeError, OSError) as problem:
        return f"expected status {case.expect.status}, got no answer: {problem}", {}
    return judge(answer, case.expect, case.capture, values)


def same_json(value: object, expected: object) -> bool:
    """Tell whether two JSON values are the same; ``1``, ``1.0`` and ``true`` are three values here."""
    return json.dumps(value, sort_keys=True) == json.dumps(expected, sort_keys=True)


def _shown(body: bytes) -> str:
    text = body.decode("utf-8", errors="backslashreplace")
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
