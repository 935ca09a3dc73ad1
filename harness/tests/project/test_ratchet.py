# SPDX-License-Identifier: Apache-2.0
"""Lines, packages, late imports, pronouns as names and functions that return sentences may only fall."""

from __future__ import annotations

import ast
from dataclasses import asdict, replace

import pytest

from harness.tests.support.ratchet import Seen, allowed, count

#: So far below what is allowed a count may be before the numbers are written again.
SLACK = 0.97


def test_no_count_is_above_what_is_allowed() -> None:
    counts, largest = count(), allowed()
    assert counts.above(largest) == [], "what is added is paid for by what goes (CONTRIBUTING.md)"
    low = {name: n for name, n in asdict(counts).items() if n < SLACK * asdict(largest)[name]}
    assert low == {}, "write the new numbers: python -m harness.tests.support.ratchet --write"
    more = replace(largest, packages=largest.packages + 1)
    assert more.above(largest) == [f"packages: {largest.packages + 1}, allowed {largest.packages}"]


def seen_in(source: str) -> Seen:
    seen = Seen()
    seen.visit(ast.parse(source))
    return seen


def test_an_import_counts_once_and_only_inside_a_function() -> None:
    source = "import os\ndef f():\n def g():\n  import re\n  from os import path\n"
    assert seen_in(source).imports == 2


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("found = 1\nfor told in x: pass\nlambda one: one.there\nfound.other = 1\n", ["found", "one", "told"]),
        ("def said(mine, *, kept=1): pass\n", ["kept", "mine", "said"]),
        ("class A:\n found: int\n def __init__(self, *, found=None): pass\n", ["A", "init", "self"]),
    ],
)
def test_every_way_to_give_a_name_is_seen_but_the_field_that_files_have(source: str, names: list[str]) -> None:
    assert sorted(seen_in(source).names) == names


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('return f"{n} of the {m} programs are slower"', 1),
        ('return "and" if x else "none of them is shown to differ"', 1),
        ('return "not measured"', 0),
        ('raise ValueError("none of them is shown to differ")', 0),
        ('print("none of them is shown to differ")', 0),
    ],
)
def test_a_sentence_that_is_returned_is_told_from_an_error_and_a_word(body: str, expected: int) -> None:
    assert seen_in(f"def f():\n    {body}\n").functions == expected
