# SPDX-License-Identifier: Apache-2.0
"""Rules for the README's headline: only published numbers, only between its markers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.errors import InputError, UnknownKey
from harness.model.formatting import DASH, NOT_MEASURED
from harness.model.naming import UNOFFICIAL, UNOFFICIAL_NOTE
from harness.publish import headline_rounds as rounds
from harness.publish import headline_warm as warm
from harness.publish import readme
from harness.tests.support.synthetic import ROOT


def a_project(
    root: Path, *, missing: str | None = None, also: dict[str, dict[str, str]] | None = None
) -> Path:
    generated = root / "paper" / "generated"
    (generated / "figures").mkdir(parents=True)
    (root / "docs").mkdir()
    (generated / "figures" / "forest.png").write_bytes(b"a picture")
    figure = {"alt": "a forest", "caption": "Ratios.", "files": ["figures/forest.pdf", "figures/forest.png"]}
    (generated / "figures.json").write_text(json.dumps({rounds.FIGURE: figure, warm.FIGURE: figure}))
    keys = [f"{ratio}.{row}" for ratio, _ in rounds.COLUMNS.values() for row in rounds.ROWS]
    keys += [f"{value}.{rounds.REFERENCE}" for _, value in rounds.COLUMNS.values()]
    keys += [f"{rounds.VERDICT}.{row}" for row in rounds.ROWS]
    keys += [f"headline.{name}" for name in ("cell", "load", "generator", "warm_up")]
    keys += [
        "machine.cores",
        "machine.memory",
        "strings_rounds.blocks",
        "status",
        "tool.jdk",
    ]
    keys += ["tool.go", "strings_rounds.day", "strings.throughput.aa", "strings.throughput.noise_cell"]
    keys += ["strings.throughput.margin"]
    values = {
        key: {"text": f"<{key}>", "interval_text": f"<{key}> (a to b)"} for key in keys if key != missing
    }
    (generated / "values.json").write_text(json.dumps(values | (also or {})))
    (root / "README.md").write_text(f"before\n{readme.BEGIN}\nyesterday\n{readme.END}\nafter\n")
    return root


def test_the_headline_shows_the_published_texts_and_leaves_the_rest_alone(tmp_path: Path) -> None:
    text = readme.write_headline(a_project(tmp_path)).read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "yesterday" not in text
    assert "<strings.throughput.ratio.java_helidon> (a to b)" in text and "<status>" in text
    assert "![a forest](docs/headline.png)" in text
    assert (tmp_path / "docs" / "headline.png").read_bytes() == b"a picture"


def test_writing_it_twice_changes_nothing(tmp_path: Path) -> None:
    root = a_project(tmp_path)
    once = readme.write_headline(root).read_text()
    assert readme.write_headline(root).read_text() == once


def test_a_number_that_no_notebook_published_is_named(tmp_path: Path) -> None:
    root = a_project(tmp_path, missing="strings.cpu.ratio.java_jaxrs")
    before = (root / "README.md").read_text()
    with pytest.raises(UnknownKey, match=r"strings\.cpu\.ratio\.java_jaxrs"):
        readme.write_headline(root)
    assert (root / "README.md").read_text() == before


def test_a_readme_without_markers_is_refused(tmp_path: Path) -> None:
    root = a_project(tmp_path)
    (root / "README.md").write_text("nothing here\n")
    with pytest.raises(InputError, match="markers are missing"):
        readme.write_headline(root)


def test_the_headline_says_load_generator_and_warm_up_and_gives_the_reference_in_absolute_values(
    tmp_path: Path,
) -> None:
    text = readme.write_headline(a_project(tmp_path)).read_text()
    for key in ("headline.cell", "headline.load", "headline.generator", "headline.warm_up"):
        assert f"<{key}>" in text
    (row,) = (line for line in text.splitlines() if line.startswith("| Go, `net/http`"))
    for _, value in rounds.COLUMNS.values():
        assert f"<{value}.{rounds.REFERENCE}> (a to b)" in row
    assert "<strings.throughput.verdict.java_helidon> Go's" in text


def test_every_column_says_which_direction_is_better() -> None:
    better = {head.split()[0]: head[-1] for head in rounds.COLUMNS}
    assert better == {"throughput": "\N{UPWARDS ARROW}"} | dict.fromkeys(
        ("CPU", "time", "memory"), "\N{DOWNWARDS ARROW}"
    )


def warm_values(**said: str) -> dict[str, dict[str, str]]:
    """What ``29-strings-warm`` publishes for the headline; ``said``: other texts, by the last words of their keys."""
    keys = [
        warm.MEASURED,
        *(key for keys in warm.ANSWERS.values() for key in keys if key not in warm.OPTIONAL),
        "strings_warm.unavailable",
        "strings_warm.load",
        "strings_warm.blocks",
        "strings_warm.agreement",
    ]
    keys += [f"strings_warm.{name}" for name in said if name.startswith(("name.", "settings."))]
    keys += ["strings_warm.day", "strings_warm.throughput.aa", "strings_warm.throughput.margin"]
    keys += [f"{column}.{row}" for column in warm.COLUMNS.values() for row in warm.ROWS]
    keys += [
        f"{path}.{what}.{row}"
        for path in warm.COMPARED.values()
        for what in ("ratio", "verdict")
        for row in warm.ROWS
    ]
    texts = {key: said.get(key.removeprefix("strings_warm."), f"<{key}>") for key in keys}
    return {key: {"text": text, "interval_text": text} for key, text in texts.items()}


def test_where_warm_services_were_measured_the_headline_is_theirs(tmp_path: Path) -> None:
    text = readme.write_headline(a_project(tmp_path, also=warm_values())).read_text()
    lines = text.splitlines()
    assert "<strings.throughput.ratio.java_helidon>" not in text and "<headline.load>" not in text
    assert "Not measured:** <strings_warm.unavailable>." in text
    (row,) = (line for line in lines if line.startswith("| Java, Helidon SE |"))
    assert row.count("<strings_warm.") == len(warm.COLUMNS) + 2 * len(warm.COMPARED)
    (first,) = (line for line in lines if line.startswith("| Go, `net/http` |"))
    assert first.count("<strings_warm.") == len(warm.COLUMNS)


def test_the_answer_stands_above_the_figure_a_line_for_what_a_reader_asks(tmp_path: Path) -> None:
    lines = readme.write_headline(a_project(tmp_path, also=warm_values())).read_text().splitlines()
    begin, picture = (
        lines.index(readme.BEGIN),
        next(i for i, line in enumerate(lines) if line.startswith("![")),
    )
    told = [line for line in lines[begin + 1 : picture] if line]
    assert [line.split("** ")[0].removeprefix("- **") for line in told] == [
        "As fast when warm?", "From a cold start?", "At what memory?", "How sure?",
    ]  # fmt: skip
    assert told[0].endswith("<strings_warm.brief.warm>")
    for key in ("bounded", "detectable.short", "throughput.aa", "throughput.margin"):
        assert f"<strings_warm.{key}>" in told[-1]


def test_what_a_question_has_no_sentence_for_is_not_asked(tmp_path: Path) -> None:
    values = warm_values(**{"brief.cold": NOT_MEASURED})
    text = readme.write_headline(a_project(tmp_path, also=values)).read_text()
    assert "From a cold start?" not in text and "At what memory?" in text


@pytest.mark.parametrize(
    ("branch", "words", "told"),
    [
        ("throughput", "higher than", "better"), ("throughput", "lower than", "worse"),
        ("cpu", "higher than", "worse"), ("cpu", "lower than", "better"),
        ("cpu", "not shown to differ from", "not shown to differ from Go's"),
    ],
)  # fmt: skip
def test_a_ratio_is_called_better_or_worse_as_its_verdict_and_the_direction_of_its_column_say(
    branch: str, words: str, told: str, tmp_path: Path
) -> None:
    values = warm_values(**{f"{branch}.verdict.java_helidon": words, f"{branch}.ratio.java_helidon": "1.5"})
    text = readme.write_headline(a_project(tmp_path, also=values)).read_text()
    (row,) = (line for line in text.splitlines() if line.startswith("| Java, Helidon SE |"))
    assert f"<br>×1.5, {told} |" in row


def test_where_collectors_were_measured_what_is_enough_memory_is_said_beside_what_a_heap_came_to(
    tmp_path: Path,
) -> None:
    key = warm.ENOUGH_SENTENCE
    values = warm_values() | {key: {"text": f"<{key}>", "interval_text": f"<{key}>"}}
    lines = readme.write_headline(a_project(tmp_path, also=values)).read_text().splitlines()
    assert "- **With just enough memory?** <collectors.answer_memory>" in lines
    assert any("memory after the load" in line for line in lines)


def test_a_native_image_says_who_built_it_and_a_small_heap_stands_beside_the_large_one(
    tmp_path: Path,
) -> None:
    values = warm_values(
        **{"name.helidon_native": f"Helidon native {UNOFFICIAL}", "settings.small": "A small heap."}
    )
    lines = readme.write_headline(a_project(tmp_path, also=values)).read_text().splitlines()
    assert [line for line in lines if line.startswith(f"| Java, Helidon SE, native image {UNOFFICIAL} |")]
    assert f"- **Builds:** {UNOFFICIAL_NOTE}" in lines
    (memory,) = (line for line in lines if line.startswith("- **At what memory?**"))
    assert memory.endswith("<strings_warm.brief.memory> A small heap.")
    (tmp_path / "plain").mkdir()
    text = readme.write_headline(a_project(tmp_path / "plain", also=warm_values())).read_text()
    assert UNOFFICIAL not in text and "- **Builds:**" not in text


def test_what_ran_side_by_side_is_said_where_it_was_measured(tmp_path: Path) -> None:
    key = "strings_warm.duet.short"
    assert key in warm.OPTIONAL
    for text, n_lines in (("<beside>", 1), (DASH, 0), (NOT_MEASURED, 0)):
        values = warm_values() | {key: {"text": text, "interval_text": text}}
        lines = readme.write_headline(a_project(tmp_path / text, also=values)).read_text().splitlines()
        assert lines.count("- **Side by side:** <beside>") == n_lines


def test_where_ratios_are_without_trials_of_another_age_they_are_not_said_to_be_over_all_blocks(
    tmp_path: Path,
) -> None:
    for text, n_lines in (("Left out for their age: 3.", 1), (NOT_MEASURED, 0)):
        values = warm_values() | {warm.LEFT_OUT: {"text": text, "interval_text": text}}
        lines = readme.write_headline(a_project(tmp_path / text, also=values)).read_text().splitlines()
        assert lines.count(f"- **Ratios:** {text}") == n_lines
        fewer = "blocks of fresh processes (fewer where trials were left out for their age)"
        assert sum(fewer in line for line in lines) == 2 * n_lines  # how sure, and what the table has


def test_a_variant_that_was_not_measured_has_no_row_and_a_sentence_without_words_is_left_out(
    tmp_path: Path,
) -> None:
    values = warm_values(bounded=NOT_MEASURED, unavailable="none")
    values["strings_warm.throughput.mean.helidon_native"]["reason"] = NOT_MEASURED
    text = readme.write_headline(a_project(tmp_path, also=values)).read_text()
    assert "native image" not in text and NOT_MEASURED not in text and "Not measured:**" not in text
    assert "| Java, Helidon SE |" in text


def test_the_readme_states_no_count_of_tests_and_no_time_outside_what_commands_write() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for begin, end in ((readme.BEGIN, readme.END), ("<!-- costs:", "<!-- /costs -->")):
        head, rest = text.split(begin, 1)
        text = head + rest.split(end, 1)[1]
    assert not re.findall(r"\d+ passed|\d+(?:\.\d+)? s\b|\d+ min\b|20\d\d-\d\d-\d\d", text)
