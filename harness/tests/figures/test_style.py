# SPDX-License-Identifier: Apache-2.0
"""Figures: one look per variant, captions that say what was left out, a stamp, and ticks."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.figures.style import canvas, describe, log_scale, variant_styles
from harness.tests.support.made_up_trials import made_up_trials


@pytest.fixture
def trials() -> pd.DataFrame:
    return made_up_trials()


def test_colour_is_the_language_and_shape_the_implementation_whoever_stands_beside(
    trials: pd.DataFrame,
) -> None:
    look = variant_styles(trials)
    assert variant_styles(trials[trials["variant"] == "java-helidon"])["java-helidon"] == look["java-helidon"]
    assert look["go-kit"].colour == look["go-nethttp"].colour != look["java-helidon"].colour
    assert look["java-helidon"].marker == look["java-helidon-aot"].marker
    assert look["java-helidon"].face != look["java-helidon-aot"].face
    assert look["go-kit"].marker != look["go-nethttp"].marker


def test_a_caption_counts_excluded_trials_and_names_the_services_that_were_young(trials: pd.DataFrame) -> None:
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


def test_ticks_of_a_log_scale_are_short_and_one_with_little_room_has_the_two_that_lie_furthest_apart() -> (
    None
):
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
