# SPDX-License-Identifier: Apache-2.0
"""Figures within a page: two of them never get into each other's way, and series are told with their axes."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from harness.errors import InputError
from harness.figures.marks import marks_of, name_last
from harness.figures.style import canvas, save
from harness.site.svg import inline_svg


def test_numbers_are_short_colours_those_of_the_page_and_the_title_is_escaped(tmp_path: Path) -> None:
    path = '<path d="M 0.123456 1 L 2 3" style="fill: #222222; opacity: .5"/>'
    (tmp_path / "a.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">{path}</svg>'
    )
    drawn = str(inline_svg(tmp_path / "a.svg", prefix="f0-", title='a "title" <b>'))
    assert Xml.fromstring(drawn).get("aria-label") == 'a "title" <b>' and "<b>" not in drawn
    assert 'd="M 0.12 1 L 2 3"' in drawn and 'style="fill:var(--ink);opacity:.5"' in drawn


@pytest.mark.parametrize("text", ["<html/>", "<svg", '<svg xmlns="http://www.w3.org/2000/svg"/>'])
def test_what_is_no_drawing_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "figure.svg").write_text(text)
    with pytest.raises(InputError, match=r"figure\.svg") as refused:
        inline_svg(tmp_path / "figure.svg", prefix="f0-", title="x")
    assert "\n" not in str(refused.value)


def test_two_figures_have_no_id_in_common_and_their_labels_are_text(tmp_path: Path) -> None:
    figure, panels = canvas()
    panels[0, 0].plot([1, 2], [1, 2], "o-")
    panels[0, 0].set_xlabel("a label & more")
    svg = save(figure, tmp_path / "a")[1]
    first, second = (str(inline_svg(svg, prefix=prefix, title="x")) for prefix in ("f0-", "f1-"))
    labels = [one for one in Xml.fromstring(first).iter("text") if one.text == "a label & more"]
    assert len(labels) == 1 and "font-size" in labels[0].get("style", "") and "font-family" not in first
    ids = [set(_attributes(one, "id")) for one in (first, second)]
    assert ids[0] and not ids[0] & ids[1]
    used = {link.removeprefix("#") for link in _attributes(first, "href")}
    assert used and used <= ids[0]


def test_named_series_are_told_with_the_places_of_their_axes(tmp_path: Path) -> None:
    figure, panels = canvas()
    axes = panels[0, 0]
    axes.plot([1.0, 10.0, 100.0], [1.0, float("nan"), 3.0], color="#0072B2")
    name_last(axes, "a line", ["first", "none", "last"])
    axes.plot([5], [2], "s")
    axes.set_xscale("log")
    axes.set_xlim(1, 100)
    axes.set_xlabel("across / s")
    save(figure, tmp_path / "a")
    found = marks_of(figure)
    assert found is not None
    assert [(one["name"], one["x"], one["y"], one["notes"]) for one in found["series"]] == [
        ("a line", [1.0, 100.0], [1.0, 3.0], ["first", "last"])
    ]
    box, x = found["axes"][0]["box"], found["axes"][0]["x"]
    assert x == {"scale": "log", "limits": [1.0, 100.0], "label": "across / s"}
    # the box is that to which the SVG clips what is drawn in the axes
    clip = next(Xml.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}rect"))
    assert box == pytest.approx(
        [float(clip.get(name, "")) for name in ("x", "y", "width", "height")], abs=0.02
    )


def test_a_figure_without_names_has_no_series() -> None:
    figure, panels = canvas()
    panels[0, 0].plot([1, 2], [1, 2])
    assert marks_of(figure) is None


def _attributes(markup: str, name: str) -> list[str]:
    return [value for one in Xml.fromstring(markup).iter() if (value := one.get(name)) is not None]
