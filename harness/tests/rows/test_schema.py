# SPDX-License-Identifier: Apache-2.0
"""Keys follow from columns, and a row that contradicts itself is refused."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.errors import InputError
from harness.rows import count, fact, notes, pivot, shown, stack, tidy
from harness.rows.schema import COLUMNS, empty, keyed, records


def ratio(
    value: float, half: float, verdict: str | None, variant: str = "java-a", **more: object
) -> dict[str, object]:
    """Return a ratio row of five blocks with a margin of 5 %."""
    about = {"name": "speed", "kind": "ratio", "variant": variant, "label": variant, "reference": "go"}
    numbers = {"value": value, "low": value - half, "high": value + half, "unit": "ratio", "margin": 0.05}
    return {**about, **numbers, "verdict": verdict, "n_blocks": 5, **more}


def test_a_key_is_made_of_question_name_kind_levels_and_variant() -> None:
    of_trials = count("trials", 5, "trials") | {"what": "all"}
    given = [ratio(1.3, 0.1, "different", logging="off", cores="2"), of_trials, fact("cpu", "a processor")]
    rows, keys = tidy(given), ["q.speed.ratio.2.off.java_a", "q.trials.count.all", "q.cpu.fact"]
    assert list(keyed("q", rows)["key"]) == list(keyed("q", rows[rows.columns[::-1]])["key"]) == keys


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([ratio(1.3, 0.1, "different")] * 2, "two rows with one key"),
        ([ratio(1.3, 0.4, "different")], "different, and the interval holds 1"),
        ([ratio(1.3, 0.1, "faster")], "verdict is none of"),
        ([ratio(1.3, 0.1, "equivalent")], "equivalent, and the value is outside the margin"),
        ([ratio(1.3, 0.1, "different", low=1.31)], "a value outside its interval"),
        ([ratio(1.3, 0.1, "different", n_blocks=None)], "a verdict without blocks"),
        ([ratio(1.3, 0.1, "different", reference=None)], "a ratio without its reference"),
        ([ratio(1.3, 0.1, "not_about_the_services")], "not about the services, without a reason"),
        ([{"name": "a", "kind": "mean"}], "neither value, text nor reason"),
        ([{"name": "a", "kind": "average", "value": 1.0}], "kind is none of"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(rows: list[dict[str, object]], problem: str) -> None:
    with pytest.raises(InputError, match=rf"q\.(speed\.ratio\.java_a|a\.\w+).*: {problem}"):
        keyed("q", tidy(rows))


def test_frames_without_rows_keep_their_columns_and_factors() -> None:
    assert list(empty("cores").columns) == [*COLUMNS, "cores"]
    both = stack(empty("cores"), tidy([ratio(1.3, 0.1, "different")]))
    assert len(both) == 1 and both["cores"].isna().all()
    assert empty("cores").query("cores == '2'").empty


def test_what_is_absent_is_none_in_a_record() -> None:
    (row,) = records(tidy([fact("cpu", "a processor")]))
    assert row["value"] is row["n_blocks"] is row["verdict"] is None and row["text"] == "a processor"


def test_a_column_of_a_table_is_in_one_unit_and_a_missing_cell_is_a_dash() -> None:
    mean = {"kind": "mean", "unit": "s", "name": "start"}
    rows = tidy(
        [
            mean | {"variant": "go", "label": "Go", "value": 0.006, "low": 0.005, "high": 0.007},
            mean | {"variant": "java-a", "label": "A", "value": 1.02, "low": 0.9, "high": 1.2},
            mean | {"variant": "java-b", "label": "B", "why": "it never answered"},
            ratio(2.0, 0.1, "not_about_the_services", label="A", why="bound by the generator"),
        ]
    )
    wide = pivot(rows, {"start.mean": "start", "speed.ratio": "speed", "speed.ratio:verdict": "verdict"})
    assert list(wide.columns) == ["start (ms)", "speed", "verdict"] and list(wide.index) == ["Go", "A", "B"]
    assert list(wide.loc["A"]) == ["1,020 (900 to 1,200)", "2.00 (1.90 to 2.10)", "no verdict"]
    assert list(wide.loc["B"]) == ["–", "–", "–"]
    assert notes(rows)[:2] == [
        "No verdict, since something else than the services decided: A (bound by the generator).",
        "– B: it never answered.",
    ]


def test_numbers_have_the_digits_that_their_interval_supports_and_ratios_say_what_they_say() -> None:
    rows = tidy(
        [
            {"name": "a", "kind": "mean", "value": 0.0123456, "low": 0.0119, "high": 0.0127, "unit": "s"},
            ratio(1.3572, 0.0182, "different"),
            ratio(1.3572, 0.0182, "different", "java-b", age="young", reference_age="aot-compiled"),
        ]
    )
    texts = shown(rows)
    assert list(texts["shown"]) == [
        "12.35\N{NARROW NO-BREAK SPACE}ms (11.90 to 12.70)", "1.357 (1.339 to 1.375)", "1.357 (1.339 to 1.375, young)",
    ]  # fmt: skip
    assert list(texts["says"]) == ["measured", "higher", "higher"]
    assert isinstance(texts, pd.DataFrame)
