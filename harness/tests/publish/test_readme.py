# SPDX-License-Identifier: Apache-2.0
"""Numbers and conditions of the README come from what is published."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError, UnknownKey
from harness.model import Estimate
from harness.publish import sentences as readme
from harness.tests.support.published_rows import entry
from harness.tests.support.synthetic import ROOT

FILE = Path("README.md")


def value(number: float, low: float, high: float, verdict: str | None = None) -> dict[str, Any]:
    estimate = Estimate(
        value=number, low=low, high=high, unit="ratio", method="log-t", estimand="", n_trials=10
    )
    return entry(estimate, kind="ratio", variant="a", reference="b", label="A", verdict=verdict)


VALUES = {
    "q.speed.ratio.java_a": value(1.3, 1.2, 1.4, "different"),
    "q.speed.ratio.java_b": value(1.01, 0.9, 1.1, "inconclusive"),
    "q.cold.mean.java_a": value(2.0, 1.8, 2.2),
}


def test_numbers_are_put_between_their_markers_and_nothing_else_changes() -> None:
    text = "a <!-- valci q.speed.ratio.java_a -->old<!-- / --> b <!-- val q.cold.mean.java_a --><!-- / --> c"
    filled = readme.fill(text, VALUES, FILE)
    assert re.sub(r"<!--.*?-->", "", filled) == "a 1.30 (1.20 to 1.40) b 2.00 c"
    assert readme.fill(filled, VALUES, FILE) == filled


def test_a_key_that_was_not_published_is_named() -> None:
    with pytest.raises(UnknownKey, match=r"README\.md: q\.speed\.ratio\.go"):
        readme.fill("<!-- val q.speed.ratio.go -->?<!-- / -->", VALUES, FILE)


@pytest.mark.parametrize(
    ("patterns", "claim", "supported"),
    [
        ("q.speed.ratio.java_a", "higher", True),
        ("q.speed.ratio.java_a", ">1.15", True),
        ("q.speed.ratio.java_*", "higher", False),  # java_b is not shown to differ
        ("q.speed.ratio.java_a", ">1.25", False),  # a part of the interval lies below
        ("q.speed.ratio.go_*", "higher", False),  # nothing was measured
    ],
)
def test_a_sentence_stands_where_every_row_supports_it_and_else_is_refused_with_its_line(
    patterns: str, claim: str, supported: bool
) -> None:
    text = f"first\n<!-- holds {patterns} {claim} -->It is so."
    if supported:
        assert readme.fill(text, VALUES, FILE) == text
    else:
        with pytest.raises(InputError, match="line 2"):
            readme.fill(text, VALUES, FILE)


def test_the_picture_is_that_of_its_figure(tmp_path: Path) -> None:
    generated = tmp_path / "paper" / "generated"
    (generated / "figures").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("<!-- val q.cold.mean.java_a -->?<!-- / -->")
    part = {"notebook": "31-q", "values": VALUES, "tables": {}, "figures": {}}
    (generated / "31-q.json").write_text(json.dumps(part))
    with pytest.raises(UnknownKey, match="figure"):
        readme.write_readme(tmp_path)
    (generated / "figures" / "f.png").write_bytes(b"a picture")
    figure = {"alt": "", "caption": "", "files": ["figures/f.pdf", "figures/f.png"]}
    (generated / "31-q.json").write_text(json.dumps(part | {"figures": {readme.FIGURE: figure}}))
    assert "2.00" in readme.write_readme(tmp_path).read_text("utf-8")
    assert (tmp_path / readme.PICTURE).read_bytes() == b"a picture"


def test_every_number_of_the_first_screen_stands_between_markers() -> None:
    """A number with a decimal point is measured: versions and settings have none here."""
    first = (ROOT / "README.md").read_text("utf-8").split("## Quick start")[0]
    bare = readme._README_NUMBER.sub("", re.sub(r"<!-- holds \S+ \S+ -->", "", first))
    assert re.findall(r"\d+\.\d+", bare.replace("HTTP/1.1", "")) == []
    assert len(readme._README_NUMBER.findall(first)) > 20 and len(readme._README_GUARD.findall(first)) >= 8
