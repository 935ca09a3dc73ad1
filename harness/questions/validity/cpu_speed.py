# SPDX-License-Identifier: Apache-2.0
"""How fast the machine's CPUs were during the headline's session, and whether throughput followed."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from harness.analysis.audit.speed_response import SpeedResponse, speed_response
from harness.analysis.tables.speed_columns import SPEED_DIFFERS
from harness.evidence.warm import Warm
from harness.figures.marks import name_last
from harness.figures.style import INK, canvas, legend_below, styled
from harness.figures.variant_style import ordered, variant_styles
from harness.model.digits import plain
from harness.publish.results import Absent, Tree, as_is


def throughput_and_speed(warm: Warm | None) -> SpeedResponse | None:
    """Return the throughput at saturation against the speed of the service's CPUs; ``None``: not measured."""
    return None if warm is None else speed_response(warm.saturation, "throughput_per_s")


def speed_results(found: SpeedResponse | None) -> Tree:
    """Return ``speed.{least,most}``, the calculation's CPU time over that of the faster trials, how many trials and how
    many ``excluded``, and ``speed.elasticity``: by how much throughput followed. Measured or not."""
    if found is None:
        units = {"least": "ratio", "most": "ratio", "trials": "1", "excluded": "1", "elasticity": "1"}
        return {"speed": {name: Absent(unit=unit) for name, unit in units.items()}}
    slower = found.trials["slower"]
    what = "CPU time of the fixed calculation over that of the session's faster trials, the lower quartile"
    return {
        "speed": {
            "least": as_is(float(slower.min()), "ratio", f"least {what}"),
            "most": as_is(float(slower.max()), "ratio", f"most {what}"),
            "trials": as_is(len(found.trials), "1", "trials at saturation whose CPUs were read"),
            "excluded": as_is(
                found.n_excluded, "1", "of these excluded because their CPUs were slower or faster"
            ),
            "elasticity": found.elasticity,
        }
    }


@styled
def throughput_by_speed(found: SpeedResponse) -> Figure:
    """Return how far each trial's throughput is from its variant's median, against how much slower its CPUs were.

    Dotted: the limits of what counts, the upper one always in view. Crossed: left out. The line is that of a throughput
    that falls as much as the calculation is slower.
    """
    trials = found.trials.assign(
        slower=100 * (found.trials["slower"] - 1), relative=100 * (found.trials["relative"] - 1)
    )
    styles = variant_styles(trials)
    figure, panels = canvas(height=2.8)
    axes = panels[0, 0]
    limits = 100 * (1 / (1 + SPEED_DIFFERS) - 1), 100 * SPEED_DIFFERS
    view = float(trials["slower"].min()) - 1, max(float(trials["slower"].max()), limits[1]) + 1
    across = np.linspace(*view, 50)
    axes.plot(across, 100 * (1 / (1 + across / 100) - 1), color=INK, linewidth=0.8)
    for limit in limits:
        axes.axvline(limit, color=INK, linewidth=0.8, linestyle=":")
    for name in ordered(trials):
        mine = trials[trials["variant"] == name]
        axes.plot(mine["slower"], mine["relative"], **styles[name].dots)
        notes = [
            f"trial {row['trial_id']}: CPUs slower by {plain(row['slower'])} %, throughput {plain(row['relative'])} %"
            for _, row in mine.iterrows()
        ]
        name_last(axes, styles[name].label, notes)
    out = trials[trials["excluded"].astype(bool)]
    axes.plot(out["slower"], out["relative"], "x", color=INK, markersize=7)
    axes.set_xlim(*view)
    axes.set_xlabel("fixed calculation, above lower quartile / %")
    axes.set_ylabel("throughput, from median\nof its variant / %")
    legend_below(figure, ordered(trials), styles, lines=False)
    return figure


__all__ = ["speed_results", "throughput_and_speed", "throughput_by_speed"]
