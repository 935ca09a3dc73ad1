# SPDX-License-Identifier: Apache-2.0
"""Every public figure, drawn from small data: real where the project has some."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness import figures, questions
from harness.analysis.stats.comparisons import compare
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.store import Store
from harness.tests.support.made_up_trials import made_up_trials
from harness.tests.support.synthetic import ROOT


def every_figure() -> dict[str, Callable[..., Figure]]:
    """Name -> function of every public figure, of the general ones and of the faces of the questions."""
    asked = [one.name for one in iter_modules(questions.__path__)]
    # what a participant draws has no notebook that publishes it; questions/test_workshop.py draws it
    faces = [import_module(f"harness.questions.{name}") for name in asked if name != "workshop"]
    named = {name: getattr(face, name) for face in (figures, *faces) for name in getattr(face, "__all__", ())}
    return {
        name: one
        for name, one in named.items()
        if getattr(one, "__annotations__", {}).get("return") == "Figure"
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


@cache
def drawn() -> dict[str, Callable[[], Figure]]:
    """Every public figure function, drawn from small data: real where the project has some."""
    trials = made_up_trials().query("language != 'rust'")
    ratios = compare(trials, "throughput_per_s", reference="go-nethttp", by=["logging"])
    return {
        "forest": lambda: figures.forest(ratios, trials, quantity="throughput"),
        "open_and_closed": lambda: figures.open_and_closed(loops(), {"java-helidon": "Helidon"}),
        "percentiles": lambda: figures.percentiles(real_latencies(), trials, resolution_s=0.001),
    }
