# SPDX-License-Identifier: Apache-2.0
"""Golden values: a build that prints another number than the committed one is named with both."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.tests.support.golden_values import Golden, differences, golden_of, read_golden, write_golden

RATIO = Golden(1.357, 1.339, 1.376, "ratio", "")
HIGHER = Golden(None, None, None, "", "higher than")
PUBLISHED = {"a.ratio.java": RATIO, "a.verdict.java": HIGHER}


def test_the_committed_values_are_those_of_all_questions() -> None:
    golden = read_golden().values()
    assert sum(item.value is not None for item in golden) > 2500
    assert sum(bool(item.verdict) for item in golden) > 500


def test_the_same_values_do_not_differ_and_are_written_as_the_same_bytes(tmp_path: Path) -> None:
    write_golden(PUBLISHED, tmp_path / "a.csv.gz")
    write_golden(dict(reversed(PUBLISHED.items())), tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert differences(read_golden(tmp_path / "a.csv.gz"), PUBLISHED) == []


@pytest.mark.parametrize(
    "changed",
    [
        RATIO._replace(value=1.3571), RATIO._replace(low=None), RATIO._replace(unit="s"),
        RATIO._replace(verdict="lower than"),
    ],
)  # fmt: skip
def test_a_value_an_end_a_unit_or_a_verdict_that_changed_is_named(changed: Golden) -> None:
    (line,) = differences(PUBLISHED, {**PUBLISHED, "a.ratio.java": changed})
    assert line.startswith("a.ratio.java: was 1.357 1.339 1.376 ratio, is ")


def test_rounding_and_facts_in_words_are_no_difference_and_a_missing_and_a_new_value_are_named() -> None:
    rounded = RATIO._replace(value=1.357 * (1 + 1e-12))
    assert differences(PUBLISHED, {"a.ratio.java": rounded, "b.mean.go": RATIO}) == [
        "a.verdict.java: missing, was - - - higher than",
        "b.mean.go: new, 1.357 1.339 1.376 ratio",
    ]
    number = {**RATIO._asdict(), "method": "log-t", "text": "1.36"}
    fact = {"value": None, "low": None, "high": None, "unit": "", "method": "text", "text": "a processor"}
    assert golden_of({"a.ratio.java": number, "a.cpu": fact}) == {"a.ratio.java": RATIO}
