# SPDX-License-Identifier: Apache-2.0
"""Answers are checked before anything is timed: every case of the contract, against this very instance."""

from __future__ import annotations

import json
from collections.abc import Iterable

from harness.exchange import Answer, Connection, ExchangeError, request_bytes
from harness.loadgen.base import Endpoint
from harness.model import ConformanceResult, Expectation
from harness.workloads import Case, Face, load_cases, load_requests

#: Expected and found texts in a failure's line are cut to this many characters each.
SHOWN = 80

__all__ = ["answer_fault", "applicable", "check", "load_cases", "load_requests"]


def applicable(cases: Iterable[Case], face: Face, language: str) -> tuple[Case, ...]:
    """Return the cases that a service of ``language`` must fulfil in ``face``."""
    return tuple(case for case in cases if case.face == face and case.language in (None, language))


def check(
    endpoint: Endpoint, cases: Iterable[Case], face: Face, language: str, timeout_s: float = 10.0
) -> ConformanceResult:
    """Ask every applicable case, in order, over one keep-alive connection; return what failed.

    A service that hangs or is gone fails its case in words; nothing is raised for that.
    """
    failures = []
    chosen = applicable(cases, face, language)
    with Connection(endpoint, timeout_s) as connection:
        for case in chosen:
            fault = _fault(connection, endpoint, case)
            if fault is not None:
                failures.append(f"{case.name}: {fault}")
    return ConformanceResult(n_cases=len(chosen), failures=tuple(failures))


def answer_fault(answer: Answer, expect: Expectation) -> str | None:
    """Return what is wrong with an answer in one short line, or ``None`` when it is right."""
    if answer.status != expect.status:
        return f"expected status {expect.status}, got {answer.status} {_shown(answer.body)}"
    for name, value in expect.headers.items():
        found = answer.headers.get(name.lower())
        if found != value:
            return f"expected header {name}: {value}, got {'none' if found is None else found[:SHOWN]}"
    if expect.body is not None and answer.body != expect.body.encode():
        return f"expected {_shown(expect.body.encode())}, got {_shown(answer.body)}"
    if "json_value" in expect.model_fields_set:
        try:
            found_value = json.loads(answer.body)
        except ValueError:
            return f"expected JSON {json.dumps(expect.json_value)[:SHOWN]}, got {_shown(answer.body)}"
        if not _same_json(found_value, expect.json_value):
            return f"expected JSON {json.dumps(expect.json_value)[:SHOWN]}, got {_shown(answer.body)}"
    return None


def _fault(connection: Connection, endpoint: Endpoint, case: Case) -> str | None:
    request = case.request
    raw = request_bytes(request.method, request.path, request.headers, request.body_bytes(), endpoint)
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
        return f"expected status {case.expect.status}, got no answer: {problem}"
    return answer_fault(answer, case.expect)


def _same_json(found: object, expected: object) -> bool:
    """Whether two JSON values are the same; ``1``, ``1.0`` and ``true`` are three values here."""
    return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def _shown(body: bytes) -> str:
    text = body.decode("utf-8", errors="backslashreplace")
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
