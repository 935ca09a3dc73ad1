# SPDX-License-Identifier: Apache-2.0
"""One rule of digits for every measured number, and one place that knows it."""

from __future__ import annotations

import ast
import json
import math
import re
from pathlib import Path

import pytest

from harness.model.digits import decimals, percent, plain, span, spoken

HARNESS = Path(__file__).resolve().parents[2]
NOTEBOOKS = HARNESS.parent / "notebooks"


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (67.1882, 67.1041, 67.2733, "67.188 (67.104 to 67.273)"),
        (1.36279, 1.35971, 1.36581, "1.3628 (1.3597 to 1.3658)"),
        (910.4, 799.7, 1037.2, "910 (800 to 1,040)"),
        (15330.6, 14800, 15900, "15,330 (14,800 to 15,900)"),
        (1.0, 0.90044, 1.09964, "1.00 (0.90 to 1.10)"),  # half-width .0996 rounds to .10
        (-0.0312, -0.14, 0.08, "−0.03 (−0.14 to 0.08)"),
        (42.3, 19.1, 89.4, "42 (19 to 89)"),
        (0.873, 0.021, 36.4, "0.87 (0.02 to 36.40)"),  # half-width above the value: the shorter side
        (0.0, 0.0, 0.0312, "0.000 (0.000 to 0.031)"),
        (2.0, None, 3.5, "2.0 (up to 3.5)"),
        (2.0, 1.5, None, "2.00 (from 1.50)"),
        (12.3456, None, None, "12.3"),
        (0.0, None, None, "0"),
    ],
)
def test_value_and_bounds_end_at_the_second_digit_of_the_half_width(
    value: float, low: float | None, high: float | None, text: str
) -> None:
    assert spoken(value, low, high) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "places"),
    [
        (1.369, 1.278, 1.467, 2),  # half-width .0945: one digit
        (26.1, 25.0, 27.2, 1),  # 1.1: two
        (0.4, 0.36, 0.44, 2),
        (125.0, 89.0, 174.0, -1),
        (1.0, 0.90044, 1.09964, 2),  # .0996 rounds to .10
        (2.0, 2.0, 2.0, 2),
    ],
)
def test_a_sentence_has_the_digits_that_the_interval_supports(
    value: float, low: float, high: float, places: int
) -> None:
    assert decimals(value, low, high, rounded=True) == places <= decimals(value, low, high)


@pytest.mark.parametrize(
    ("value", "text"),
    [(3014.7, "3,010"), (0.112345, "0.112"), (0.3, "0.300"), (12, "12"), (12345, "12,345"), (9.996, "10.0")],
)
def test_a_number_without_an_interval_has_three_digits_and_a_count_all(value: float, text: str) -> None:
    assert plain(value) == text


def test_a_share_without_an_interval_has_two_digits() -> None:
    assert [percent(x) for x in (0.0, 0.0051, 0.0738, 0.345, 1.0, 3.45)] == [
        "0 %", "0.51 %", "7.4 %", "34 %", "100 %", "345 %",
    ]  # fmt: skip


def test_a_range_whose_ends_print_alike_is_printed_once() -> None:
    assert span(2.0, 2.0, " s") == "2.00 s"
    assert span(2.04, 7.61, " s") == "2.0 to 7.6 s"


@pytest.mark.parametrize("value", [0.0, 1e-12, 5e300, -3.0, math.inf])
def test_any_number_can_be_printed(value: float) -> None:
    assert spoken(value)
    assert isinstance(decimals(value, 0.0, 1.0), int)


#: What prints.
_PRINTS = (
    "publish/*.py",
    "figures/*.py",
    "questions/*/*.py",
    "evidence/*.py",
    "bench/page.py",
    "report/[how]*.py",
    "report/text.py",
)
_FLOAT = re.compile(r"[.\d,+]*[eEfFgG%]$")
#: file -> format specs in it that print no measured number: ticks of axes, names of percentiles, what was chosen,
#: and places on a clock, which have its resolution
_NO_MEASUREMENT = {
    "publish/display.py": {".0f"},
    "publish/setup_tables.py": {",.10g"},
    "figures/style.py": {"g"},
    "questions/claims/words.py": {"g"},
    "figures/marks.py": {".g"},  # places on the paper
    "report/text.py": {"g", ".3f", "9.3f", "8.1f", ".1f"},
    "report/html.py": {".3f", ".1f"},
    "report/output.py": {".0%", ".0f"},  # progress
    "report/words.py": {"g"},  # a time stamp that is none
}


def _specs(tree: ast.AST) -> list[str]:
    """Format specs of floats: in f-strings, and calls of ``round``, ``format`` and ``%``."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            text = "".join(
                part.value for part in ast.walk(node.format_spec)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )  # fmt: skip
            if _FLOAT.search(text):
                found.append(text)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "round":
            found.append("round")
    return found


def test_nothing_that_prints_measured_numbers_formats_them_itself() -> None:
    files = [path for pattern in _PRINTS for path in sorted(HARNESS.glob(pattern))]
    assert {HARNESS / name for name in _NO_MEASUREMENT} <= set(files)
    found = {}
    for path in files:
        allowed = _NO_MEASUREMENT.get(path.relative_to(HARNESS).as_posix(), set())
        if specs := set(_specs(ast.parse(path.read_text("utf-8")))) - allowed:
            found[path.relative_to(HARNESS).as_posix()] = specs
    assert not found, f"use harness.model.digits: {found}"


def test_no_notebook_formats_a_number_itself() -> None:
    found: dict[str, list[str]] = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        for cell in cells:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and not source.lstrip().startswith("%"):
                specs = _specs(ast.parse(source))
                if specs:
                    found.setdefault(path.name, []).extend(specs)
    assert not found
