# SPDX-License-Identifier: Apache-2.0
"""Numbers on their way to the paper: rounding, escaping, one key for one notebook, no trace of the order."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from harness.errors import InputError
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.publish.display import cell_texts
from harness.publish.generated import clear, read_values
from harness.publish.latex import escape, render_table
from harness.publish.publisher import Publisher
from harness.tests.support.published_rows import entry, publish


def estimate(
    value: float | None, low: float | None = None, high: float | None = None, unit: str = "s"
) -> Estimate:
    return Estimate(
        value=value, low=low, high=high, unit=unit, method="log-t", estimand="mean", n_trials=5,
        inputs=("e/s/0001-a", "e/s/0002-a"),
    )  # fmt: skip


def test_below_a_table_stands_why_a_number_has_no_interval() -> None:
    why = "no variation between trials: no interval"
    alone = estimate(0.0, unit="share").model_copy(update={"warnings": ("rounded", why)})
    cells = (alone, alone, estimate(0.1, 0.0, 0.2, "share"), estimate(0.3, unit="share"))
    _, _, reasons = cell_texts({"a": "A"}, [{"a": cell} for cell in cells])
    assert reasons == [f"A number alone: {why}."]


def test_the_order_of_notebooks_and_of_cells_leaves_no_trace(tmp_path: Path) -> None:
    def published(root: Path, order: list[tuple[str, str, float]]) -> dict[str, bytes]:
        for notebook, key, value in order:
            publish(root, notebook, {key: estimate(value)})
        folder = root / "paper/generated"
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    cells = [("30-a", "a.x", 1.0), ("30-a", "a.y", 2.0), ("31-b", "b.x", 3.0)]
    forward = published(tmp_path / "forward", cells)
    assert published(tmp_path / "backward", cells[::-1]) == forward
    assert published(tmp_path / "twice", cells + cells) == forward


def test_a_key_has_one_notebook_and_clearing_one_leaves_the_others(tmp_path: Path) -> None:
    publish(tmp_path, "30-a", {"a.x": estimate(1.0)})
    with pytest.raises(InputError, match="30-a already"):
        publish(tmp_path, "31-b", {"a.x": estimate(2.0)})
    publish(tmp_path, "31-b", {"b.x": estimate(2.0)})
    clear(tmp_path, "30-a")
    assert set(read_values(tmp_path)) == {"b.x"}


@pytest.mark.parametrize("key", ["", "A.b", "a b", "a..b", "a{b}", "a\\b", "a.b."])
def test_a_key_that_latex_could_stumble_over_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(InputError, match="not a key"):
        Publisher("30-a", root=tmp_path, publish=True).values({key: entry(estimate(1.0))})


def test_text_prints_as_itself_in_latex() -> None:
    assert escape("50 % of $a_b & {c}~^\\#") == (
        r"50\,\% of \$a\_b \& \{c\}\textasciitilde{}\textasciicircum{}\textbackslash{}\#"
    )
    assert escape("12 µs × 3 – 1") == r"12 \textmu{}s \(\times\) 3 -- 1"


def test_a_table_shows_a_dash_and_says_why_below(tmp_path: Path) -> None:
    publisher = Publisher("30-a", root=tmp_path, publish=True)
    nothing = estimate(None).model_copy(update={"warnings": ("below resolution",)})
    publisher.table(
        "a.table", {"v": "variant", "t": "time"},
        [{"v": "x_1", "t": estimate(0.012, 0.011, 0.013)}, {"v": "y", "t": nothing}], caption="Times & more",
    )  # fmt: skip
    text = (tmp_path / "paper/generated/tables/a-table.tex").read_text()
    assert r"x\_1 & \rematchci{12.0}{11.0 to 13.0} \\" in text
    assert "{variant & time (ms)}" in text
    assert "--: below resolution." in text
    assert r"\begin{rematchtab}{*}{a.table}{Times \& more}" in text
    assert publisher.table("a.none", {"a": "a"}, [], caption="A caption.").text == NOT_MEASURED
    assert not list(tmp_path.rglob("a-none*"))


def test_a_figure_is_saved_with_its_stamp_and_needs_an_alternative_text(tmp_path: Path) -> None:
    publisher = Publisher("30-strings", root=tmp_path, draft="draft measurement: quick", publish=True)
    figure = Figure()
    figure.add_subplot().plot([1.0, 2.0])
    assert publisher.figure("x.y", figure, alt="A line.", caption="A caption.").text == "A line."
    assert (tmp_path / "paper/generated/figures/x-y.pdf").is_file()
    assert [text.get_text() for text in figure.texts] == ["draft measurement: quick"]
    with pytest.raises(InputError, match="needs an alternative text"):
        publisher.figure("x.y", figure, alt=" ", caption="A caption.")


def test_a_table_that_is_too_wide_can_be_set_in_lines() -> None:
    text = render_table(
        notebook="n", key="k", header=["throughput per core (1/s)", "a", "b"],
        rows=[["1.20 (1.10 to 1.30)", "the service (9 of 10), the generator (1 of 10)", "a long text"]], caption="c",
        notes=["50 %"], numeric=[True, False, False], widths=[None, None, 0.25],
    )  # fmt: skip
    assert r"\begin{rematchfit}{rl>{\raggedright\arraybackslash}p{0.25\linewidth}}" in text
    assert r"\rematchhead{throughput per core (1/s)}{throughput\\per core\\(1/s)} & a" in text
    assert r"\rematchci{1.20}{1.10 to 1.30} & \rematchlong{the service" in text
    assert r"\rematchnotes{50\,\%}" in text
