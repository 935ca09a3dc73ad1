# SPDX-License-Identifier: Apache-2.0
"""Every public figure, drawn from small data: real where the project has some."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from matplotlib.figure import Figure

from harness.analysis.stats.comparisons import compare
from harness.figures import comparisons
from harness.tests.support.made_up_trials import made_up_trials

MODULES = (comparisons,)


def every_figure() -> dict[str, Callable[..., Figure]]:
    """Name -> function of every figure that this project draws outside of notebooks."""
    named = {name: getattr(module, name) for module in MODULES for name in vars(module) if name[0] != "_"}
    return {
        name: draw
        for name, draw in named.items()
        if getattr(draw, "__annotations__", {}).get("return") == "Figure"
    }


FIGURES = every_figure()


@cache
def drawn() -> dict[str, Callable[[], Figure]]:
    """Every public figure function, drawn from small data: real where the project has some."""
    trials = made_up_trials().query("language != 'rust'")
    ratios = compare(trials, "throughput_per_s", reference="go-nethttp", by=["logging"])
    return {
        "forest": lambda: comparisons.forest(ratios, trials, quantity="throughput"),
    }
