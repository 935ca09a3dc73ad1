# SPDX-License-Identifier: Apache-2.0
"""Every public figure, drawn from small data: real where the project has some."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.analysis.stats.comparisons import compare
from harness.figures import comparisons, curves
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.store import Store
from harness.tests.support.made_up_trials import made_up_trials
from harness.tests.support.synthetic import ROOT

MODULES = (comparisons, curves)


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
def real_requests(trial: str) -> pd.DataFrame:
    """Single requests of a trial that comes with the project."""
    session = Store(ROOT).sessions("gc-peaks", bundled=True)[0]
    name = next(one for one in sorted(session.finished()) if one.endswith(trial))
    table = read_any(session.path(name, "load/samples.jtl"))
    assert isinstance(table, RequestTable)
    return pd.DataFrame({"start_epoch_s": table.start_epoch_s, "latency_s": table.latency_s, "ok": table.ok})


def real_latencies() -> dict[str, list[np.ndarray]]:
    return {
        "go-kit": [real_requests("go-as-g1-3x")["latency_s"].to_numpy()],
        "java-helidon": [real_requests("serial-3x")["latency_s"].to_numpy()],
    }


def loops() -> dict[str, dict[str, list[np.ndarray]]]:
    slow, quick = real_latencies()["java-helidon"], real_latencies()["go-kit"]
    return {"java-helidon": {"open": slow, "closed": quick}}


def windows() -> pd.DataFrame:
    """Windows of the warm-up of two processes of two variants each."""
    rows = [
        {
            "session_id": "s", "trial_id": f"{variant}-{block}", "variant": variant, "label": variant, "block": block,
            "implementation": variant, "language": variant.partition("-")[0], "window": window, "at_s": window - 0.5,
            "per_s": rate * (1 - 0.5 / window) * (1 + 0.02 * block), "cpu_s_per_request": (1 + 1 / window) / rate,
        }
        for variant, rate in (("go-kit", 900.0), ("java-helidon", 1100.0))
        for block in (1, 2)
        for window in range(1, 9)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@cache
def drawn() -> dict[str, Callable[[], Figure]]:
    """Every public figure function, drawn from small data: real where the project has some."""
    trials = made_up_trials().query("language != 'rust'")
    ratios = compare(trials, "throughput_per_s", reference="go-nethttp", by=["logging"])
    off = [one for one in ratios if one.levels == {"logging": "off"}]
    side_by_side = {"throughput": off, "throughput again": off}
    return {
        "cold_curves": lambda: curves.cold_curves(windows()),
        "forest": lambda: comparisons.forest(ratios, trials, quantity="throughput"),
        "forests": lambda: comparisons.forests(side_by_side, trials),
        "open_and_closed": lambda: curves.open_and_closed(loops(), {"java-helidon": "Helidon"}),
        "percentiles": lambda: curves.percentiles(real_latencies(), trials),
    }
