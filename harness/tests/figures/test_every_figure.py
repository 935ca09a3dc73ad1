# SPDX-License-Identifier: Apache-2.0
"""Every figure there is: drawn from small data, the same bytes each time, readable in grey, nothing cut off or
written over, and described in words wherever a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from harness.publish.figures.style import (
    COLUMN_INCHES,
    PAGE_INCHES,
    canvas,
    describe,
    log_scale,
    save,
    variant_styles,
)
from harness.rows import compare, dots, forest, latency_over_time, means, page
from harness.rows.latency_peaks import CAUSES
from harness.tests.support.available import some_in_every_run
from harness.tests.support.kept import fonts_cut_once
from harness.tests.support.made_up_trials import made_up_trials

#: In grey two series of one shape must differ by this much of white.
LIGHTNESS_APART = 0.1
#: What hinting and antialiasing may add to the extent of a text, in pixels.
SLACK_PIXELS = 1.5


#: The least height of a text on paper.
LEAST_POINTS = 8.0
_TEX_POINTS_PER_INCH = 72.27
#: Width as drawn -> the least width as printed: in the appendix a figure of one column has .485 of a page's 516 points.
PRINTED_INCHES = {COLUMN_INCHES: 0.485 * 516 / _TEX_POINTS_PER_INCH, PAGE_INCHES: 516 / _TEX_POINTS_PER_INCH}


def ratios() -> Figure:
    trials = made_up_trials().query("logging == 'off' and language != 'rust'")
    figure, axes = page(height=1.6)
    forest(axes, compare(trials, "throughput_per_s", "rate", reference="go-nethttp"), variant_styles(trials))
    axes.set_xlabel("throughput, ratio to Go net/http (log)")
    return figure


def trials_as_dots() -> Figure:
    trials = made_up_trials().query("logging == 'off' and language != 'rust'")
    figure, axes = page(width=PAGE_INCHES, height=1.8)
    palette = {look.label: look.colour for look in variant_styles(trials).values()}
    dots(axes, trials, means(trials, rate="throughput_per_s"), palette)
    axes.set_xlabel("answers per second (log)")
    return figure


def timeline() -> Figure:
    rng = np.random.default_rng(5)
    start = np.sort(rng.uniform(0, 5, 900))
    latency = np.exp(rng.normal(-6, 0.4, 900))
    cause = [list(CAUSES)[place % len(CAUSES)] if place % 90 == 0 else "" for place in range(900)]
    latency[[one != "" for one in cause]] *= 20
    requests = pd.DataFrame({"start_s": start, "latency_s": latency, "cause": cause})
    pauses = pd.DataFrame({"cause": list(CAUSES)[:4], "start_s": range(4), "end_s": np.arange(4) + 0.02})
    labels = ("Java, G1", "Go")
    return latency_over_time(
        *(pd.concat([frame.assign(label=label) for label in labels]) for frame in (requests, pauses))
    )


#: Name -> what draws it.
DRAWN = {"dots": trials_as_dots, "forest": ratios, "timeline": timeline}


@pytest.fixture(scope="module", params=sorted(DRAWN))
def figure(request: pytest.FixtureRequest) -> Figure:
    made = DRAWN[request.param]()
    made.canvas.draw()
    return made


@pytest.fixture(scope="module")
def _fonts_cut_once() -> Iterator[None]:
    with fonts_cut_once():
        yield


@pytest.mark.usefixtures("_fonts_cut_once")  # what a font is cut down to follows from the glyphs alone
@pytest.mark.parametrize(
    "name", some_in_every_run(sorted(DRAWN), ["forest"], "a figure of each kind saved twice")
)
def test_the_same_data_give_the_same_bytes_whatever_a_notebook_has_set(name: str, tmp_path: Path) -> None:
    first = [path.read_bytes() for path in save(DRAWN[name](), tmp_path / "a")]
    with mpl.rc_context({"font.size": 20, "svg.hashsalt": None}):
        again = [path.read_bytes() for path in save(DRAWN[name](), tmp_path / "b")]
    assert first == again
    assert b"CreationDate" not in first[0]


def texts_of(figure: Figure) -> list[Text]:
    found = [one for one in figure.findobj(Text) if isinstance(one, Text)]
    return [one for one in found if one.get_visible() and one.get_text().strip()]


def test_no_text_reaches_over_the_edge_of_the_figure_or_is_written_over_another(figure: Figure) -> None:
    edge = figure.bbox.padded(SLACK_PIXELS)
    boxes = [(text.get_text(), text.get_window_extent()) for text in ticks_in_view(figure)]
    for text, box in boxes:
        inside = edge.x0 <= box.x0 and edge.y0 <= box.y0 and box.x1 <= edge.x1 and box.y1 <= edge.y1
        assert inside, (text, box.extents, edge.extents)
    for (one, first), (other, second) in combinations(boxes, 2):
        width = min(first.x1, second.x1) - max(first.x0, second.x0)
        height = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert width <= SLACK_PIXELS or height <= SLACK_PIXELS, (one, other)


def test_every_text_is_eight_points_high_where_the_paper_prints_it(figure: Figure) -> None:
    drawn = figure.get_figwidth()
    assert drawn in PRINTED_INCHES
    for text in texts_of(figure):
        printed = float(text.get_fontsize()) * PRINTED_INCHES[drawn] / drawn
        assert printed >= LEAST_POINTS, (text.get_text(), printed)


def ticks_in_view(figure: Figure) -> list[Text]:
    """Texts that are drawn: a tick outside of its axis has a label too, which is not."""
    hidden: set[int] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            drawn_labels = {id(tick.label1) for tick in axis._update_ticks()}  # type: ignore[union-attr]  # what matplotlib itself draws
            ticks = (*axis.get_major_ticks(), *axis.get_minor_ticks())
            hidden |= {id(tick.label1) for tick in ticks} - drawn_labels
            hidden |= {id(tick.label2) for tick in ticks}
        if not axes.get_visible():
            hidden |= {id(text) for text in axes.findobj(Text)}
    return [text for text in texts_of(figure) if id(text) not in hidden]


def lightness(colour: object) -> float:
    return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)))  # type: ignore[arg-type]  # any colour that matplotlib takes


def test_series_of_one_shape_stay_apart_in_grey(figure: Figure) -> None:
    for axes in figure.axes:
        by_shape: dict[tuple[object, ...], set[str]] = {}
        for line in axes.lines:
            marker, style = str(line.get_marker()), str(line.get_linestyle())
            filled = marker not in ("None", "") and to_hex(line.get_markerfacecolor()) != "#ffffff"
            colour = line.get_color() if style not in ("None", "") else line.get_markeredgecolor()
            by_shape.setdefault((marker, style, filled, line.get_linewidth()), set()).add(to_hex(colour))
        for shape, colours in by_shape.items():
            for one, other in combinations(sorted(colours), 2):
                assert abs(lightness(one) - lightness(other)) > LIGHTNESS_APART, (shape, one, other)


@pytest.fixture
def trials() -> pd.DataFrame:
    return made_up_trials()


def test_colour_is_the_language_and_shape_the_implementation_everywhere(trials: pd.DataFrame) -> None:
    look = variant_styles(trials)
    assert variant_styles(trials[trials["variant"] == "java-helidon"])["java-helidon"] == look["java-helidon"]
    assert look["go-kit"].colour == look["go-nethttp"].colour != look["java-helidon"].colour
    assert look["java-helidon"].marker == look["java-helidon-aot"].marker
    assert look["java-helidon"].face != look["java-helidon-aot"].face
    assert look["go-kit"].marker != look["go-nethttp"].marker


def test_a_caption_counts_excluded_trials_and_names_young_services(trials: pd.DataFrame) -> None:
    trials["duplicate"] = False
    assert "second time" not in describe(trials)
    trials.loc[1, "duplicate"] = True
    assert f"{len(trials)} trials (1 of them the reference a second time)" in describe(trials)
    trials.loc[0, "excluded"] = True
    assert "1 excluded and counted" in describe(trials)
    cells = (("Go", "a", "aot-compiled"), ("A", "a", "young"), ("A", "b", "warm"), ("B", "a", "young"))
    aged = pd.DataFrame(cells, columns=["label", "cell", "age"]).assign(
        session_id="s", block=1, excluded=False, measurement_s=5.0
    )
    aged["configuration"] = aged["label"] + "," + aged["cell"]
    assert describe(aged).endswith(" Young processes: A (in 1 of 2 cells) and B.")
    assert describe(aged[aged["label"] == "Go"]).endswith("measured for 5.00 s each.")


def test_ticks_of_a_log_scale_are_short_and_the_two_furthest_apart_stand_where_room_is_little() -> None:
    axes = canvas(1, 1, width=6, height=2)[1][0, 0]
    axes.plot([1, 10_000_000], [1, 1])
    log_scale(axes, "x")
    said = axes.xaxis.get_major_formatter()
    ticks = ["0.5", "100", "1,000", "10 k", "1 M"]
    assert [said(value) for value in (0.5, 100, 1000, 10_000, 1_000_000)] == ticks
    axes = canvas(1, 3, height=1.0)[1][0, 0]
    axes.plot([12.5, 308.0], [0, 1])
    log_scale(axes, "x")
    low, high = axes.get_xlim()
    assert [at for at in axes.get_xticks() if low <= at <= high] == [20.0, 200.0]
