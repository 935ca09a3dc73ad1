# SPDX-License-Identifier: Apache-2.0
"""Style, types and import rules of the Python code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.tests.support.own_tests import run


@pytest.mark.parametrize(
    "words",
    [
        ("ruff", "check", "harness", "setup"),
        ("ruff", "format", "--check", "harness", "setup"),
        ("mypy", "--strict", "harness", "setup"),
        ("lint-imports",),
    ],
    ids=" ".join,
)
def test_the_sources_pass(words: tuple[str, ...]) -> None:
    program, *rest = words
    run((str(Path(sys.executable).with_name(program)), *rest))
