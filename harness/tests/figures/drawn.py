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
from harness.analysis.audit.speed_response import SpeedResponse, speed_response
from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.detectable import power_curve
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.model import Estimate
from harness.questions import (
    bank,
    clients,
    collectors,
    pod_capacity,
    runtimes,
    strings,
    validity,
)
from harness.questions.collectors.analysis import Point
from harness.store import Store
from harness.tests.figures.test_style import curves, knee_at, under_growing_load
from harness.tests.rows.test_usl import sweep_trials
from harness.tests.support.a_search import a_search
from harness.tests.support.made_up_trials import made_up_trials
from harness.tests.support.named_effects import named_effects
from harness.tests.support.synthetic import ROOT
from harness.tests.support.uneven_speeds import uneven_speeds
from harness.verify.simulated import run_verify


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


def estimate(value: float | None, unit: str = "share") -> Estimate:
    known = value is not None
    return Estimate(
        value=value, low=0.9 * value if known else None, high=1.1 * value if known else None,  # type: ignore[operator]  # known
        unit=unit, method="", estimand="", n_trials=5, warnings=() if known else ("cannot be said",),
    )  # fmt: skip


def parts() -> pd.DataFrame:
    rows = [
        {
            "session_id": "s", "trial_id": f"{block}{variant}", "block": block, "duplicate": False, "variant": variant,
            "label": variant, "implementation": variant, "language": variant.partition("-")[0], "part": part,
            "latency_mean_s": (4 - number) * (1 + 0.02 * block) * (3 if variant == "java-vertx" else 1) / 1e3,
        }
        for block in range(3)
        for variant in ("go-nethttp", "java-vertx")
        for number, part in enumerate(("1", "2", "3"))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def uneven_response() -> SpeedResponse:
    """A machine whose CPUs were slower in some trials."""
    found = speed_response(uneven_speeds(), "throughput_per_s")
    assert found is not None
    return found


def collector_points() -> list[Point]:
    """Two sizes of each of three collectors, in both languages; one of them is not about the service."""
    return [
        Point(
            variant=f"{family}-{size}", family=family, language=language, memory=estimate(size * 2.0**20, "B"),
            throughput=estimate(1e4 * size / (size + 30), "1/s"), cpu=estimate(1e-4 * (size + 30) / size, "s/request"),
            about="bound by the generator" if (family, size) == ("G1", 90) else None,
        )
        for family, language in (("GOGC", "go"), ("Serial", "java"), ("G1", "java"))
        for size in (30, 90)
    ]  # fmt: skip


def loops() -> dict[str, dict[str, list[np.ndarray]]]:
    slow, quick = real_latencies()["java-helidon"], real_latencies()["go-kit"]
    return {"java-helidon": {"open": slow, "closed": quick}}


@cache
def drawn() -> dict[str, Callable[[], Figure]]:
    """Every public figure function, drawn from small data: real where the project has some."""
    trials, load = made_up_trials().query("language != 'rust'"), under_growing_load()
    ratios = compare(trials, "throughput_per_s", reference="go-nethttp", by=["logging"])
    knees = {"go-gorilla": knee_at(100, 95, 110), "java-spring": knee_at(150, 140, None)}
    sweep = sweep_trials((1, 2, 4, 8), shared=(8,))
    plain = trials[trials["logging"] == "off"]
    told = {"strings-rounds": estimate(1.02, "ratio"), "aa": estimate(None, "ratio")}
    return {
        "against_pods": lambda: pod_capacity.against_pods(
            sweep.query("logging == 'off' and cores != '8'").assign(
                capacity_per_s=lambda frame: frame["throughput_per_s"],
                pods=lambda frame: frame["cores"].map({"1": "one", "2": "two", "4": "three"}),
            )
        ),
        "completed_passes": lambda: bank.completed_passes(load, factor="users"),
        "by_cell": lambda: figures.by_cell(
            trials, "throughput_per_s", by=["logging"], label="1/s", errors=True
        ),
        "by_part": lambda: clients.by_part(parts(), "latency_mean_s", label="mean latency / ms", factor=1e3),
        "capacity_trials": lambda: figures.capacity_trials({"Go": a_search(), "Java": a_search()}),
        "cost": lambda: collectors.cost(collector_points()),
        "coverage": lambda: validity.coverage(run_verify("tost", 40)),
        "ecdf": lambda: figures.ecdf(real_latencies(), trials),
        "factor_ratios": lambda: validity.factor_ratios({"strings-rounds": named_effects()}),
        "forest": lambda: figures.forest(ratios, trials, quantity="throughput"),
        "method_cells": lambda: validity.method_cells(
            [run_verify(name, 100) for name in ("tost", "multiplicity")]
        ),
        "open_and_closed": lambda: figures.open_and_closed(loops(), {"java-helidon": "Helidon"}),
        "pareto": lambda: figures.pareto(trials),
        "percentiles": lambda: figures.percentiles(real_latencies(), trials, resolution_s=0.001),
        "power": lambda: validity.power(
            {
                metric: power_curve(plain, metric, reference="go-nethttp")
                for metric in validity.METRICS
                if metric in plain
            },
            plain,
            names=validity.METRICS,
        ),
        "precision_recall": lambda: validity.precision_recall(curves()),
        "published_arithmetic": lambda: strings.published_arithmetic(
            strings.published_rounds(), strings.published_round3()
        ),
        "ratios": lambda: validity.ratios(told, label="last trial over first (log)"),
        "releases": lambda: runtimes.releases(
            trials.query("logging == 'off'").assign(cpu_s_per_request=lambda t: 1 / t["throughput_per_s"]),
            list(dict.fromkeys(trials["variant"])),
        ),
        "run_order": lambda: figures.run_order(trials, "throughput_per_s", label="throughput"),
        "throughput_by_speed": lambda: validity.throughput_by_speed(uneven_response()),
        "throughput_latency": lambda: bank.throughput_latency(load, knees),
        "under_load": lambda: bank.under_load(load, knees),
    }
