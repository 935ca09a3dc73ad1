# SPDX-License-Identifier: Apache-2.0
"""Time limits of tests are lengthened on a slow or busy machine, by a factor that is measured."""

from __future__ import annotations

import ast
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.project import find_root
from harness.tests.support import patience
from harness.tests.support.patience import IDLE_S, MOST, VARIABLE, calibrated, factor, patient

TESTS = find_root(Path(__file__).parent) / "harness" / "tests"
#: A limit of a second or more that waits for a process, a thread or a condition.
PLAIN = re.compile(
    r"(?:\.wait\((?:timeout=)?|\.(?:join|communicate)\(timeout=|monotonic\(\) \+ )(?:[1-9]\d*)(?:\.\d+)?\)"
)


@pytest.mark.parametrize(
    ("child_s", "lengthened"), [(0.0, 1.0), (IDLE_S, 1.0), (3 * IDLE_S, 3.0), (60.0, MOST)]
)
def test_a_limit_is_never_shortened_and_never_endless(
    monkeypatch: pytest.MonkeyPatch, child_s: float, lengthened: float
) -> None:
    monkeypatch.setattr(patience, "_child_s", lambda: child_s)
    assert calibrated() == pytest.approx(lengthened)


def test_all_processes_of_a_run_have_at_least_the_factor_that_was_measured_when_it_began() -> None:
    began = float(os.environ[VARIABLE])
    assert began <= factor() == float(os.environ[VARIABLE])
    assert 10 * began <= patient(10) <= 10 * factor()


def test_limits_are_lengthened_when_other_programs_begin_later_and_stay_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "1.50")
    for child_s, found in ((4 * IDLE_S, 4.0), (IDLE_S, 4.0)):
        monkeypatch.setattr(patience, "_child_s", lambda child_s=child_s: child_s)
        monkeypatch.setattr(patience, "_measured", patience._Measured(time.monotonic() - 61))
        assert factor() == found
    monkeypatch.setattr(patience, "_child_s", lambda: 9 * IDLE_S)
    assert factor() == 4.0, "it is measured once a minute"


#: Positional arguments that are a limit, by the name of what is called, and the same by keyword.
PLACES = {"join": 0, "wait": 0, "settimeout": 0, "wait_first_response": 2, "run": 1}
KEYWORDS = ("timeout", "connect_timeout", "timeout_s", "deadline_s")
#: A program of its own, which gets its limits with its order; a slow service must not be waited for.
WITHOUT = ("support/fake_client.py", "memory_sizing/test_fit.py")


def is_plain(limit: ast.expr) -> bool:
    return isinstance(limit, ast.Constant) and isinstance(limit.value, int | float) and limit.value >= 1


def limits(tree: ast.AST) -> Iterator[ast.expr]:
    """What is given as a limit somewhere in a source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = PLACES.get(name, len(node.args))
            if place < len(node.args) and not (name == "run" and len(node.args) != 2):
                yield node.args[place]
            yield from (one.value for one in node.keywords if one.arg in KEYWORDS)
        elif isinstance(node, ast.FunctionDef):
            named = [*node.args.posonlyargs, *node.args.args]
            pairs = zip(reversed(named), reversed(node.args.defaults), strict=False)
            yield from (default for one, default in pairs if one.arg in KEYWORDS)


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("thread.join(10)", True), ("thread.join(patient(10))", False), ("thread.join(0.1)", False),
        ("', '.join(words)", False), ("host.run(command, 20)", True), ("run(argv, timeout=9.5)", True),
        ("wait_first_response(a, b, 20, host=c)", True), ("def f(a: int, deadline_s: float = 20.0): ...", True),
        ("connect(connect_timeout=round(patient(10)))", False), ("event.wait(0.05)", False),
    ],
)  # fmt: skip
def test_a_limit_that_is_a_plain_number_is_found(source: str, plain: bool) -> None:
    assert any(is_plain(one) for one in limits(ast.parse(source))) is plain


def test_no_test_has_a_limit_that_is_a_plain_number() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{limit.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.relative_to(TESTS).as_posix() not in WITHOUT
        for limit in limits(ast.parse(path.read_text("utf-8")))
        if is_plain(limit)
    ]
    assert found == [], "write patient(SECONDS) of harness/tests/support/patience.py"


def test_no_test_waits_with_a_limit_that_stays_as_it_is() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}: {line.strip()}"
        for path in sorted(TESTS.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if PLAIN.search(line)
    ]
    assert found == [], "write patient(SECONDS) of harness/tests/support/patience.py"
