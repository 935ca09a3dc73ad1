# SPDX-License-Identifier: Apache-2.0
"""Figures: the same bytes every time, one look per variant, every trial a dot, errors instead of empty axes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from harness import figures
from harness.analysis.comparisons import compare
from harness.analysis.verify.stall_curves import CurvePoint, PrecisionRecall
from harness.errors import InputError
from harness.figures.looks import looks, ordered

VARIANTS = {
    "go-kit": "go",
    "go-nethttp": "go",
    "java-helidon": "java",
    "java-helidon-aot": "java",
    "rust-x": "rust",
}


@pytest.fixture
def trials() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows: list[dict[str, object]] = []
    for block in range(1, 6):
        for logging in ("off", "on"):
            for number, (variant, language) in enumerate(VARIANTS.items()):
                rate = 1000 * (number + 2) * rng.normal(1, 0.02)
                rows.append({
                    "experiment": "e", "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block,
                    "position": len(rows) + 1, "duplicate": False, "variant": variant, "label": variant.upper(),
                    "implementation": variant.removesuffix("-aot"), "language": language, "excluded": False,
                    "flags": "", "configuration": f"{variant},{logging}", "logging": logging, "measurement_s": 3.0,
                    "throughput_per_s": rate, "latency_mean_s": 50 / rate, "rss_after_bytes": 2e7 * (number + 1),
                    "time_to_first_response_s": 0.02 * (number + 1), "n_requests": 1000.0, "n_errors": 0.0,
                })  # fmt: skip
    return pd.DataFrame(rows)


def curves() -> list[PrecisionRecall]:
    points = tuple(
        CurvePoint(threshold=t, precision=p, recall=r)
        for t, p, r in ((3.0, None, 0.0), (2.0, 1.0, 0.5), (1.0, 0.8, 0.9))
    )
    return [
        PrecisionRecall(finder=name, swept="x", used=2.0, points=points, n_pauses=9, seed=1)
        for name in ("ours", "theirs", "others'")
    ]


def all_figures(trials: pd.DataFrame) -> dict[str, Callable[[], Figure]]:
    rng = np.random.default_rng(2)
    latencies = {name: [rng.lognormal(-6, 0.5, 2000) for _ in range(3)] for name in VARIANTS}
    samples = {
        "go-kit": pd.DataFrame(
            {"since_launch_s": [0.0, 1.0, 2.0], "role": "service", "rss_bytes": [1e7, 2e7, 2e7]}
        )
    }
    ratios = compare(trials, "throughput_per_s", reference="go-nethttp", by=["logging"])
    return {
        "forest": lambda: figures.forest(ratios, trials, quantity="throughput"),
        "by_cell": lambda: figures.by_cell(
            trials, "throughput_per_s", by=["logging"], label="1/s", errors=True
        ),
        "run_order": lambda: figures.run_order(trials, "throughput_per_s", label="throughput"),
        "percentiles": lambda: figures.percentiles(latencies, trials, resolution_s=0.001),
        "ecdf": lambda: figures.ecdf(latencies, trials),
        "pareto": lambda: figures.pareto(trials),
        "startup": lambda: figures.startup(trials),
        "precision_recall": lambda: figures.precision_recall(curves()),
        "memory": lambda: figures.memory_timeline(samples, trials, phases=[("start-up", 0.0, 0.5)]),
    }


def test_every_figure_has_the_same_bytes_every_time(trials: pd.DataFrame, tmp_path: Path) -> None:
    for name, draw in all_figures(trials).items():
        first = [path.read_bytes() for path in figures.save(draw(), tmp_path / "a" / name)]
        with mpl.rc_context(
            {"font.size": 20, "svg.hashsalt": None}
        ):  # a notebook's own settings leave no trace
            again = [path.read_bytes() for path in figures.save(draw(), tmp_path / "b" / name)]
        assert first == again, name
        assert b"CreationDate" not in first[0], name


def test_a_variant_looks_the_same_whoever_stands_beside_it(trials: pd.DataFrame) -> None:
    alone = looks(trials[trials["variant"] == "java-helidon"])
    among = looks(trials)
    assert alone["java-helidon"] == among["java-helidon"]


def test_colour_is_the_language_and_shape_the_implementation(trials: pd.DataFrame) -> None:
    look = looks(trials)
    assert look["go-kit"].colour == look["go-nethttp"].colour != look["java-helidon"].colour
    assert look["java-helidon"].marker == look["java-helidon-aot"].marker
    assert look["java-helidon"].face != look["java-helidon-aot"].face
    assert look["go-kit"].marker != look["go-nethttp"].marker


def test_languages_stay_apart_in_grey(trials: pd.DataFrame) -> None:
    look = looks(trials)
    grey = {
        name: float(np.dot(mpl.colors.to_rgb(look[name].colour), (0.299, 0.587, 0.114)))
        for name in ("go-kit", "java-helidon")
    }
    assert abs(grey["go-kit"] - grey["java-helidon"]) > 0.2


def test_go_comes_first_in_every_figure(trials: pd.DataFrame) -> None:
    assert ordered(trials)[:2] == ["go-kit", "go-nethttp"]


def dots_of(figure: Figure) -> int:
    """Count the points drawn with a marker."""
    lines = [line for axes in figure.axes for line in axes.lines if line.get_marker() != "None"]
    return sum(np.size(line.get_xdata()) for line in lines)


def test_every_trial_is_a_dot(trials: pd.DataFrame) -> None:
    figure = figures.by_cell(trials, "throughput_per_s", by=["logging"], label="1/s")
    assert dots_of(figure) == len(trials)


def test_an_excluded_trial_is_no_dot_but_is_counted_in_the_caption(trials: pd.DataFrame) -> None:
    trials.loc[0, "excluded"] = True
    figure = figures.startup(trials)
    assert dots_of(figure) == len(trials) - 1
    assert "1 excluded and counted" in figures.describe(trials)


def test_the_stamp_is_put_once(trials: pd.DataFrame) -> None:
    figure = figures.startup(trials)
    figures.stamp(figure, "draft measurement: quick")
    figures.stamp(figure, "draft measurement: smoke")
    assert [text.get_text() for text in figure.texts] == ["draft measurement: smoke"]


def test_curves_differ_in_marker_and_line_and_the_threshold_in_use_is_filled() -> None:
    lines = figures.precision_recall(curves()).axes[0].lines
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
        lambda: figures.startup(trials),
        lambda: figures.pareto(trials),
        lambda: figures.ecdf({}, trials),
        lambda: figures.percentiles({"go-kit": []}, trials),
        lambda: figures.memory_timeline({}, trials),
        lambda: figures.forest((), trials, quantity="throughput"),
        lambda: figures.precision_recall([]),
        lambda: figures.run_order(trials, "throughput_per_s", label="x"),
    )
    for draw in draws:
        with pytest.raises(InputError):
            draw()
