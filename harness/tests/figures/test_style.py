# SPDX-License-Identifier: Apache-2.0
"""Figures: the same bytes every time, one look per variant, every trial a dot, errors instead of empty axes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from harness import figures
from harness.errors import InputError, NothingToDraw
from harness.figures.style import apart, canvas, log_scale
from harness.figures.variant_style import ordered, variant_styles
from harness.model import Estimate
from harness.questions import bank, validity
from harness.tests.support.made_up_trials import made_up_trials
from harness.verify.simulated.stall_curves import CurvePoint, PrecisionRecall


@pytest.fixture
def trials() -> pd.DataFrame:
    return made_up_trials()


def curves() -> list[PrecisionRecall]:
    points = tuple(
        CurvePoint(threshold=t, precision=p, recall=r)
        for t, p, r in ((3.0, None, 0.0), (2.0, 1.0, 0.5), (1.0, 0.8, 0.9))
    )
    return [
        PrecisionRecall(finder=name, swept="x", used=2.0, points=points, n_pauses=9, seed=1)
        for name in ("ours", "theirs", "others'")
    ]


def test_a_variant_looks_the_same_whoever_stands_beside_it(trials: pd.DataFrame) -> None:
    alone = variant_styles(trials[trials["variant"] == "java-helidon"])
    among = variant_styles(trials)
    assert alone["java-helidon"] == among["java-helidon"]


def test_colour_is_the_language_and_shape_the_implementation(trials: pd.DataFrame) -> None:
    look = variant_styles(trials)
    assert look["go-kit"].colour == look["go-nethttp"].colour != look["java-helidon"].colour
    assert look["java-helidon"].marker == look["java-helidon-aot"].marker
    assert look["java-helidon"].face != look["java-helidon-aot"].face
    assert look["go-kit"].marker != look["go-nethttp"].marker


def test_languages_stay_apart_in_grey(trials: pd.DataFrame) -> None:
    look = variant_styles(trials)
    grey = {
        name: float(np.dot(mpl.colors.to_rgb(look[name].colour), (0.299, 0.587, 0.114)))
        for name in ("go-kit", "java-helidon")
    }
    assert abs(grey["go-kit"] - grey["java-helidon"]) > 0.2


def test_go_comes_first_in_every_figure(trials: pd.DataFrame) -> None:
    assert ordered(trials)[:2] == ["go-kit", "go-nethttp"]


def dots_of(figure: Figure) -> int:
    """Count the points that are drawn as trials."""
    return sum(len(dots) for axes in figure.axes for dots in offsets(axes))


def offsets(axes: Axes, *, crosses: bool = False) -> list[list[tuple[float, float]]]:
    """Return the places of all dots by collection: filled or hollow markers, or crosses."""
    return [
        [(float(x), float(y)) for x, y in np.asarray(dots.get_offsets())]
        for dots in axes.collections
        if isinstance(dots, PathCollection) and (dots.get_alpha() is None) == crosses
    ]


def test_every_trial_is_a_dot(trials: pd.DataFrame) -> None:
    figure = figures.by_cell(trials, "throughput_per_s", by=["logging"], label="1/s")
    assert dots_of(figure) == len(trials)


def test_an_excluded_trial_is_no_dot_but_is_counted_in_the_caption(trials: pd.DataFrame) -> None:
    trials.loc[0, "excluded"] = True
    figure = figures.by_cell(trials, "throughput_per_s", by=["logging"], label="1/s")
    assert dots_of(figure) == len(trials) - 1
    assert "1 excluded and counted" in figures.describe(trials)


def test_a_caption_says_which_trials_are_the_reference_once_more(trials: pd.DataFrame) -> None:
    trials["duplicate"] = False
    assert "second time" not in figures.describe(trials)
    trials.loc[1, "duplicate"] = True
    assert f"{len(trials)} trials (1 of them the reference a second time)" in figures.describe(trials)


def test_the_stamp_is_put_once(trials: pd.DataFrame) -> None:
    figure = figures.pareto(trials)
    figures.stamp(figure, "draft measurement: quick")
    figures.stamp(figure, "draft measurement: smoke")
    assert [text.get_text() for text in figure.texts] == ["draft measurement: smoke"]


def test_curves_differ_in_marker_and_line_and_the_threshold_in_use_is_filled() -> None:
    lines = validity.precision_recall(curves()).axes[0].lines
    swept, used = lines[::2], lines[1::2]
    assert len({line.get_marker() for line in swept}) == len({line.get_linestyle() for line in swept}) == 3
    assert all(
        np.size(line.get_xdata()) == 2 for line in swept
    )  # where nothing was found there is no precision
    assert [np.asarray(line.get_xdata()).tolist() for line in used] == [[0.5]] * 3
    assert {line.get_markerfacecolor() for line in swept} == {"white"}


def test_nothing_to_draw_is_an_error_not_an_empty_axis(trials: pd.DataFrame) -> None:
    trials["excluded"] = True
    draws: tuple[Callable[[], Figure], ...] = (
        lambda: figures.pareto(trials),
        lambda: figures.ecdf({}, trials),
        lambda: figures.percentiles({"go-kit": []}, trials),
        lambda: figures.forest((), trials, quantity="throughput"),
        lambda: validity.precision_recall([]),
        lambda: figures.run_order(trials, "throughput_per_s", label="x"),
    )
    for draw in draws:
        with pytest.raises(InputError):
            draw()


def under_growing_load() -> pd.DataFrame:
    """Two banks at six loads in five blocks; the second knee and capacity lie at half as much again."""
    rng = np.random.default_rng(5)
    rows: list[dict[str, object]] = []
    for block in range(1, 6):
        for offered in (40.0, 70.0, 100.0, 140.0, 200.0, 280.0):
            for variant, capacity in (("go-gorilla", 100.0), ("java-spring", 150.0)):
                late = max(0.0, offered - capacity)
                rows.append({
                    "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block, "duplicate": False,
                    "variant": variant, "label": variant.upper(), "implementation": variant,
                    "language": variant.partition("-")[0], "excluded": late > 100, "users": f"{offered:g}",
                    "outcome": "overloaded" if late > 100 else "ok", "offered_per_s": offered,
                    "sustained_per_s": min(offered, capacity) * rng.normal(1, 0.01), "measurement_s": 5.0 + rng.normal(0, 0.1),
                    "right_share": min(1, capacity / offered),
                    "latency_p99_s": 0.02 * 2 ** (late / 30) * rng.normal(1, 0.05), "error_share": 0.0,
                })  # fmt: skip
    return pd.DataFrame(rows)


def knee_at(value: float, low: float | None, high: float | None) -> Estimate:
    return Estimate(value=value, low=low, high=high, unit="1/s", method="", estimand="knee", n_trials=30)


def test_throughput_stands_against_p99_with_the_knee_on_the_curve() -> None:
    table = under_growing_load()
    knees = {"go-gorilla": knee_at(100, 95, 110), "java-spring": knee_at(150, 140, None)}
    axes = bank.throughput_latency(table, knees).axes[0]
    assert sum(np.size(line.get_xdata()) for line in axes.lines if line.get_alpha() == 0.85) == len(table)
    marks = {tuple(np.ravel(line.get_xydata())) for line in axes.lines if line.get_markersize() == 10}
    assert sorted(x for x, _ in marks) == [pytest.approx(100, abs=3), pytest.approx(141.7, abs=3)]
    thick = [line for line in axes.lines if line.get_linewidth() == 6]
    assert len(thick) == 2
    ends = [line for line in axes.lines if line.get_marker() == "+"]
    assert [np.size(line.get_xdata()) for line in ends] == [2, 1]  # an open end has no mark
    most = (
        table[table["variant"] == "java-spring"].groupby("offered_per_s")["latency_p99_s"].median().max()
        * 1e3
    )
    assert max(np.max(line.get_ydata()) for line in thick) == pytest.approx(most)  # open: to the curve's end
    without = bank.throughput_latency(table, {}).axes[0]
    assert not [line for line in without.lines if line.get_markersize() == 10]
    with pytest.raises(NothingToDraw, match="no trial has a p99"):
        bank.throughput_latency(table.assign(latency_p99_s=np.nan), {})


@pytest.mark.parametrize("overloaded", [("go-gorilla", "java-spring"), ("java-spring",)], ids=["both", "one"])
def test_what_was_borne_shows_every_trial_and_crosses_the_overloaded_ones(
    overloaded: tuple[str, ...],
) -> None:
    table = under_growing_load()
    table.loc[~table["variant"].isin(overloaded), "outcome"] = "ok"
    for axes in bank.completed_passes(table, factor="users").axes:
        dots = list(chain.from_iterable(offsets(axes)))
        crosses = list(chain.from_iterable(offsets(axes, crosses=True)))
        assert len(set(dots)) == len(table)
        assert len(crosses) == (table["outcome"] == "overloaded").sum()
        assert set(crosses) <= set(dots)


def test_ticks_of_a_log_scale_are_short_and_of_one_kind() -> None:
    axes = canvas(1, 1, width=6, height=2)[1][0, 0]
    axes.plot([1, 10_000_000], [1, 1])
    log_scale(axes, "x")
    said = axes.xaxis.get_major_formatter()
    assert [said(value) for value in (0.5, 100, 1000, 10_000, 1_000_000)] == [
        "0.5",
        "100",
        "1,000",
        "10 k",
        "1 M",
    ]


def test_labels_are_as_near_to_their_lines_as_the_gaps_between_them_allow() -> None:
    assert apart(np.array([0.1, 0.12, 0.9]), 0.1) == pytest.approx([0.06, 0.16, 0.9])
    assert apart(np.array([0.0, 0.97, 0.99]), 0.1) == pytest.approx([0.0, 0.9, 1.0])
    assert apart(np.array([]), 0.1).size == 0


def test_a_log_axis_with_room_for_one_number_has_the_two_that_lie_furthest_apart() -> None:
    axes = canvas(1, 3, height=1.0)[1][0, 0]
    axes.plot([12.5, 308.0], [0, 1])
    log_scale(axes, "x")
    low, high = axes.get_xlim()
    assert [at for at in axes.get_xticks() if low <= at <= high] == [20.0, 200.0]
