# SPDX-License-Identifier: Apache-2.0
"""Time limits of tests are lengthened on a slow or busy machine, by one factor for the whole run."""

from __future__ import annotations

import os
import re
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


def test_all_processes_of_a_run_have_the_factor_that_was_measured_once() -> None:
    assert float(os.environ[VARIABLE]) == factor() >= 1
    assert patient(10) == 10 * factor()


def test_no_test_waits_with_a_limit_that_stays_as_it_is() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}: {line.strip()}"
        for path in sorted(TESTS.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if PLAIN.search(line)
    ]
    assert found == [], "write patient(SECONDS) of harness/tests/support/patience.py"
