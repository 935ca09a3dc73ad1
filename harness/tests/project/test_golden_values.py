# SPDX-License-Identifier: Apache-2.0
"""Golden values: a build that prints another number than the committed one is named with both."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.tests.support.golden_values import Golden, differences, golden_of, read_golden, write_golden

RATIO = Golden(1.357, 1.339, 1.376, "ratio", "")
PUBLISHED = {"a.ratio.java": RATIO, "a.verdict.java": Golden(None, None, None, "", "higher than")}


def test_the_committed_values_are_those_of_all_questions() -> None:
    golden = read_golden().values()
    assert sum(item.value is not None for item in golden) > 2500
    assert sum(bool(item.verdict) for item in golden) > 500


def test_values_are_read_as_they_were_written_and_facts_in_words_are_none(tmp_path: Path) -> None:
    write_golden(PUBLISHED, tmp_path / "a.csv.gz")
    assert read_golden(tmp_path / "a.csv.gz") == PUBLISHED
    number = {**RATIO._asdict(), "method": "log-t", "text": "1.36"}
    fact = {"value": None, "low": None, "high": None, "unit": "", "method": "text", "text": "a processor"}
    assert golden_of({"a.ratio.java": number, "a.cpu": fact}) == {"a.ratio.java": RATIO}


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ({}, []),
        ({"a.ratio.java": RATIO._replace(value=1.357 * (1 + 1e-12))}, []),
        ({"a.ratio.java": RATIO._replace(value=1.3571)}, ["a.ratio.java: was 1.357 1.339 1.376 ratio, is 1.3571 "]),
        ({"a.ratio.java": RATIO._replace(low=None)}, ["a.ratio.java: was 1.357 1.339 1.376 ratio, is 1.357 - "]),
        ({"a.ratio.java": RATIO._replace(unit="s")}, ["a.ratio.java: was 1.357 1.339 1.376 ratio, is 1.357 1.339 1.376 s"]),
        ({"a.verdict.java": RATIO}, ["a.verdict.java: was - - - higher than, is 1.357 "]),
        ({"b.mean.go": RATIO}, ["b.mean.go: new, 1.357 1.339 1.376 ratio"]),
    ],
)  # fmt: skip
def test_a_value_that_changed_or_is_new_is_named(changed: dict[str, Golden], lines: list[str]) -> None:
    named = differences(PUBLISHED, {**PUBLISHED, **changed})
    assert len(named) == len(lines) and all(map(str.startswith, named, lines))
    assert differences({**PUBLISHED, "c": RATIO}, PUBLISHED) == ["c: missing, was 1.357 1.339 1.376 ratio"]
