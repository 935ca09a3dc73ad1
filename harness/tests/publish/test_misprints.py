# SPDX-License-Identifier: Apache-2.0
"""A paper with a sentence that cannot be true, or that keeps back what decides its numbers, is not built."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from harness.errors import RematchError
from harness.figures.style import coding_words, describe
from harness.model.formatting import DASH
from harness.model.naming import UNOFFICIAL, UNOFFICIAL_NOTE
from harness.publish import Publisher, read_values
from harness.publish.build import build_paper
from harness.publish.misprints import UNOFFICIAL_KEY, misprints

NOTE = "5 blocks, 10 trials, measured for 5 s each; coding: tuned."


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    return Publisher("99-test", root=tmp_path, publish=True)


def labelled(text: str) -> Figure:
    figure = Figure()
    figure.subplots().set_yticks([0], [text])
    return figure


def test_texts_that_can_stand_are_let_through(publisher: Publisher) -> None:
    publisher.text("a.one", "2 are not shown to differ (0.93 to 1.05 times).")
    publisher.text("a.two", "1 is not shown to differ (0.98 times, 0.95 to 1.02).")
    publisher.text("a.three", "1 of 2 has too few blocks for a verdict (0.25 times, 0.19 to 0.33).")
    publisher.text(UNOFFICIAL_KEY, "Helidon native")
    publisher.text("a.four", f"least: Helidon native {UNOFFICIAL}")
    caption = f"Ratios. Margin of equivalence: 15 % (A); 5 % (B, C). {NOTE}"
    publisher.table("a.table", {"v": "variant", "x": "x"}, [{"v": "Go", "x": None}], caption=caption)
    assert misprints(publisher.root) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"It begins to grow at {DASH} (no bend) and at {DASH} (no bend).", "a hole"),
        (
            "3 of 4 take less time; 1 is not shown to differ (0.25 times, 0.19 to 0.33).",
            "not shown to differ, with",
        ),
        ("The mean is not shown to be higher or lower than Go's (4.3 times, 2.7 to 6.8).", "from 2.7 to 6.8"),
        ("Margin of equivalence: 15 % (all trials); 5 % (all trials).", "two margins"),
        ("least: Helidon native; most: Helidon", f"Helidon native without {UNOFFICIAL}"),
    ],
)
def test_a_sentence_that_cannot_stand_is_named_and_stops_the_paper(
    publisher: Publisher, text: str, why: str
) -> None:
    publisher.text(UNOFFICIAL_KEY, "Helidon native")
    publisher.text("a.sentence", text)
    found = misprints(publisher.root)
    assert len(found) == 1 and found[0].startswith("values a.sentence: ") and why in found[0]
    with pytest.raises(RematchError, match="a text that cannot stand: values a.sentence"):
        build_paper(publisher.root)


def test_what_a_variant_without_any_number_is_called_says_nothing_of_a_build(publisher: Publisher) -> None:
    publisher.text(UNOFFICIAL_KEY, "Helidon native")
    publisher.text("pods.name.native", "Helidon native")
    assert misprints(publisher.root) == ()
    publisher.value("pods.rate.native", 1.0, "1/s", "a rate")
    (found,) = misprints(publisher.root)
    assert found.startswith("values pods.name.native")


def test_a_table_with_a_label_that_hides_an_unofficial_build_is_named(publisher: Publisher) -> None:
    publisher.text(UNOFFICIAL_KEY, "Helidon native")
    publisher.table("a.table", {"v": "variant"}, [{"v": "Helidon native"}], caption=NOTE)
    assert [one for one in misprints(publisher.root) if one.startswith("tables a.table")]


def test_a_table_or_figure_of_trials_says_how_its_programs_are_written(publisher: Publisher) -> None:
    caption = "Ratios. 5 blocks, 10 trials."
    publisher.table("a.table", {"v": "variant"}, [{"v": "Go"}], caption=caption)
    publisher.figure("a.figure", labelled("Go"), alt="a dot", caption=caption)
    assert [one.partition(":")[0] for one in misprints(publisher.root)] == [
        "tables a.table",
        "figures a.figure",
    ]


def test_a_label_of_an_unofficial_build_brings_its_note_into_the_caption(publisher: Publisher) -> None:
    row = [{"v": f"Helidon native {UNOFFICIAL}"}]
    publisher.table("a.table", {"v": "variant"}, row, caption=NOTE)
    wrapped = f"Helidon native\n{UNOFFICIAL.replace(' ', chr(10))}"
    publisher.figure("a.figure", labelled(wrapped), alt="a dot", caption=NOTE)
    publisher.figure("a.other", labelled("Go"), alt="a dot", caption=NOTE)
    text = (publisher.root / "paper/generated/tables/a-table.tex").read_text("utf-8")
    assert UNOFFICIAL_NOTE in text
    assert read_values(publisher.root) == {}
    figures = (publisher.root / "paper/generated/figures.json").read_text("utf-8")
    assert figures.count(UNOFFICIAL_NOTE) == 1


def test_a_caption_counts_trials_and_says_the_coding() -> None:
    trials = pd.DataFrame(
        [
            {"session_id": "s", "block": 1, "excluded": False, "label": label, "coding": coding}
            for label, coding in (("Go", "tuned"), ("Java", "tuned"), ("Go kit", "as published"))
        ]
    )
    assert describe(trials) == "1 block, 3 trials; coding: tuned (Go kit: as published)."
    assert coding_words(trials[trials["label"] != "Go kit"]) == "coding: tuned"
    both = pd.concat([trials, trials.assign(coding="idiomatic")])
    assert coding_words(both[both["label"] == "Go"]) == "coding: tuned and idiomatic"
    assert coding_words(trials.assign(coding=None)) == coding_words(trials.drop(columns="coding")) == ""
    assert coding_words(None) == ""
