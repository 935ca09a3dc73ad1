# SPDX-License-Identifier: Apache-2.0
"""``\\holds``: a sentence that its rows do not support is named with its place, or grey in own measurements; the README's too."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError, UnknownKey
from harness.model import Estimate
from harness.publish import sentences as readme
from harness.publish.generated import GENERATED, MACROS, update
from harness.publish.sentences import holds, matching, says, write_macros
from harness.tests.support.golden_values import read_golden
from harness.tests.support.published_rows import entry
from harness.tests.support.synthetic import ROOT

Entry = dict[str, object]


def row(value: float | None, half: float = 0.1, verdict: str | None = "different", **more: object) -> Entry:
    estimate = Estimate(value=value, unit="ratio", method="log-t", estimand="ratio", n_trials=10)
    ends = {"low": None if value is None else value - half, "high": None if value is None else value + half}
    text = "–" if value is None else f"{value:g}"
    return {
        **estimate.model_dump(mode="json"), **ends, "kind": "ratio", "verdict": verdict, "label": "Helidon", "text": text,
        "interval_text": f"{text} (…)", "inputs": ["bundled/e/s/0001-a"], "words": "", **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "value", "expected"),
    [
        ("different", 1.3, "higher"), ("different", 0.7, "lower"), ("equivalent", 1.01, "equal"),
        ("different_but_negligible", 1.03, "equal"), ("inconclusive", 1.1, "open"),
        ("not_about_the_services", 2.0, "refused"),
    ],
)  # fmt: skip
def test_a_row_supports_the_one_claim_that_it_says(verdict: str, value: float, expected: str) -> None:
    one = row(value, 0.01, verdict)
    assert says(one) == expected
    assert [claim for claim in ("higher", "lower", "equal", "open", "refused") if holds(one, claim)] == [
        expected
    ]
    assert holds(one, "differs") == (verdict == "different")


def test_a_bound_holds_only_where_the_whole_interval_does_and_never_of_a_refused_ratio() -> None:
    one = row(12.0, 3.0)
    assert holds(one, ">8") and not holds(one, ">10") and holds(one, "<16") and not holds(one, "<14")
    assert not holds(row(12.0, 3.0, "not_about_the_services"), ">8")
    with pytest.raises(InputError, match="no such claim"):
        holds(one, "faster")


def test_a_star_stands_for_a_part_of_a_key_and_never_for_a_dot() -> None:
    keys = ("q.a.ratio.java_x", "q.a.ratio.go", "q.a.ratio.off.java_x", "r.a.ratio.java_x")
    rows = dict.fromkeys(keys, row(1.0))
    assert matching(rows, "q.a.ratio.java_*") == [rows["q.a.ratio.java_x"]]
    assert len(matching(rows, "q.a.ratio.*, r.a.ratio.*")) == 3


def write(root: Path, text: str, rows: dict[str, Entry]) -> tuple[list[str], str]:
    """Publish rows, write a text, and return the problems and what LaTeX reads."""
    (root / "paper" / "text").mkdir(parents=True, exist_ok=True)
    (root / "paper" / "main.tex").write_text("")
    (root / "paper" / "text" / "a.tex").write_text(text, "utf-8")
    values = [("values", key, {**entry, "notebook": "31-a"}) for key, entry in rows.items()]
    update(root / GENERATED, "31-a", values)
    problems = write_macros(root)
    return problems, (root / GENERATED / MACROS).read_text("utf-8")


def test_an_untrue_sentence_on_bundled_sessions_is_named_with_its_place(tmp_path: Path) -> None:
    rows = {"q.a.ratio.java_x": row(1.3), "q.a.ratio.java_y": row(0.9, 0.2, "inconclusive", label="Jersey")}
    problems, tex = write(tmp_path, "one\n\\holds{q.a.ratio.java_*}{higher}{Java is ahead.}", rows)
    assert problems == ["text/a.tex:2: q.a.ratio.java_* is not higher: Jersey 0.9 (…), open"]
    assert r"rematch@untrue@q.a.ratio.java_*@higher" in tex
    problems, _ = write(tmp_path, "% \\holds{q.c}{higher}{x}\n\\holds{q.b.ratio.java_x}{higher}{x}", rows)
    assert problems == [
        "text/a.tex:2: q.b.ratio.java_x is not higher: no such row"
    ]  # a comment is no sentence
    true, tex = write(tmp_path, r"\holds{q.a.ratio.java_x}{higher}{Helidon is ahead.}", rows)
    assert true == [] and "untrue" not in tex and "rematch@checked@q.a.ratio.java_x@higher" in tex


def test_own_measurements_have_no_errors_but_grey_sentences_and_dashes(tmp_path: Path) -> None:
    own = {"q.a.ratio.java_x": row(0.7, inputs=["e/quick-local-1/0001-a"])}
    text = r"\holds{q.a.ratio.java_x}{higher}{x} \holds{q.b.ratio.*}{lower}{x} \valci{q.c.mean.go} \most{q.b.ratio.*}"
    problems, tex = write(tmp_path, text, own)
    assert problems == []
    assert "rematch@untrue@q.a.ratio.java_x@higher" in tex and "rematch@nothing@q.b.ratio.*@lower" in tex
    assert "rematch@absent@q.c.mean.go" in tex and r"rematch@most@q.b.ratio.*\endcsname{--}" in tex
    assert "rematch@own" in tex


def test_cited_values_are_written_and_one_without_a_number_is_marked(tmp_path: Path) -> None:
    rows = {key: row(1.3) for key in ("q.a.ratio.x", "q.a.ratio.y")}
    rows["q.a.ratio.z"] = row(None, reason="not measured", text="–")
    _, tex = write(tmp_path, r"\valci{q.a.ratio.x} \val{q.a.ratio.z}", rows)
    assert r"rematch@valci@q.a.ratio.x\endcsname{1.3 (?)}" in tex and "ratio.y" not in tex
    assert "rematch@absent@q.a.ratio.z" in tex and "rematch@own" not in tex


def test_the_ends_of_several_rows_leave_refused_ones_out(tmp_path: Path) -> None:
    rows = {
        "q.a.ratio.x": row(1.5, label="X"), "q.a.ratio.y": row(2.5, label="Y"),
        "q.a.ratio.z": row(9.0, 0.1, "not_about_the_services", label="Z"),
    }  # fmt: skip
    names = r"\least{q.a.ratio.*} \most{q.a.ratio.*} \leastname{q.a.ratio.*} \mostname{q.a.ratio.*}"
    _, tex = write(tmp_path, names, rows)
    ends = re.findall(r"rematch@(\w+)@q\.a\.ratio\.\*\\endcsname\{(.*)\}", tex)
    assert ends == [("least", "1.5"), ("most", "2.5"), ("leastname", "X"), ("mostname", "Y")]


def test_every_pattern_of_the_paper_matches_a_value_of_the_bundled_sessions() -> None:
    keys = dict.fromkeys(read_golden(), row(1.0))
    text = "".join(path.read_text("utf-8") for path in sorted((ROOT / "paper" / "text").glob("*.tex")))
    patterns = set(re.findall(r"\\(?:holds|least|most|leastname|mostname)\{([^}]*)\}", text))
    assert patterns
    assert [pattern for pattern in sorted(patterns) if not matching(keys, pattern)] == []


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
def test_a_sentence_is_supported_by_every_row_or_refused(patterns: str, claim: str, supported: bool) -> None:
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
