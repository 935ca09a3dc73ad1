# SPDX-License-Identifier: Apache-2.0
"""Every way of ``harness.rows`` to draw, from small data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.figures.style import PAGE_INCHES
from harness.figures.variant_style import variant_styles
from harness.rows import compare, dots, forest, latency_over_time, means, page
from harness.rows.timeline import CAUSES
from harness.tests.support.made_up_trials import made_up_trials


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


@cache
def drawn() -> dict[str, Callable[[], Figure]]:
    """Name -> what draws it."""
    return {"dots": trials_as_dots, "forest": ratios, "timeline": timeline}
