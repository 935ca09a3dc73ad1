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
from harness.analysis.attribution.rows import AttributionRow
from harness.analysis.stats.comparisons import compare
from harness.analysis.warmup.curves import warm_up_curve
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.model import Estimate
from harness.questions import (
    clients,
    collectors,
    forms_load,
    gc_peaks,
    logging,
    pod_capacity,
    runtimes,
    strings_warm,
    warm_up,
)
from harness.questions.collectors.analysis import Point
from harness.questions.forms import forms
from harness.questions.gc_peaks.analysis import Timeline
from harness.questions.placement import places
from harness.questions.placement.analysis import place_rows
from harness.questions.scaling import against_cores
from harness.questions.scaling.analysis import scaling_rows
from harness.store import Store
from harness.tests.questions.test_scaling import place_trials, sweep_trials
from harness.tests.support.a_search import a_search
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


def estimate(value: float | None, unit: str = "share") -> Estimate:
    known = value is not None
    return Estimate(
        value=value, low=0.9 * value if known else None, high=1.1 * value if known else None,  # type: ignore[operator]  # known
        unit=unit, method="", estimand="", n_trials=5, warnings=() if known else ("cannot be said",),
    )  # fmt: skip


def attributed(label: str, *, service: float | None, generator: float | None) -> AttributionRow:
    unexplained = None if service is None or generator is None else 1 - service - generator
    plain = {
        name: estimate(0.01, "s")
        for name in ("latency_s", "longest_pause_s", "median_pause_s", "detectability_s")
    }
    plain |= {name: estimate(2.0, "1/s") for name in ("pauses_per_s", "cycles_per_s")}
    plain |= {name: estimate(0.1) for name in ("paused_share", "share_lower", "most_share", "cycle_excess")}
    plain |= {
        name: estimate(0.05) for name in ("connect_tail", "throttle_most", "jit_most", "run_queue_most")
    }
    return AttributionRow(
        variant=label, label=label, levels={}, collector=None, quantile="p99", n_trials=5, n_refused=0, why_refused=None,
        memory=None, collections=estimate(5, ""), rss_bytes=estimate(1e8, "B"), share=estimate(service), share_upper=estimate(0.6),
        service_tail=estimate(service), generator_tail=estimate(generator), unexplained_tail=estimate(unexplained),
        **plain,
    )  # fmt: skip


def timeline() -> Timeline:
    """A real trial; the causes of its slowest requests are made up, one of each kind."""
    requests = real_requests("serial-3x").sort_values("start_epoch_s")
    start = requests["start_epoch_s"].to_numpy() - float(requests["start_epoch_s"].min())
    latency = requests["latency_s"].to_numpy()
    slow = np.flatnonzero(latency >= np.quantile(latency, 0.99))
    kinds = ("gc_pause", "generator_stall", "unexplained")
    causes: list[str | None] = [None] * len(latency)
    for number, at in enumerate(slow):
        causes[at] = kinds[number % len(kinds)]
    return Timeline(
        label="Serial, 3x", trial="t", start_s=start, latency_s=latency, causes=tuple(causes),
        events={"gc_pause": ((1.0, 1.03), (4.0, 4.02)), "generator_stall": ((2.0, 2.05),)}, placed=True,
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


def warming() -> list[object]:
    names = {"serial-3x": "Serial", "go-as-g1-3x": "Go, as G1 3x"}
    return [
        warm_up_curve(real_requests(trial), trial=f"e/s/{trial}", variant=trial, label=label, block=1)
        for trial, label in names.items()
    ]


def warming_windows() -> pd.DataFrame:
    """Two processes of each of three variants: two programs in one language, and one of them in another form."""
    rows = [
        {
            "session_id": "s", "trial_id": f"{variant}{block}", "block": block, "variant": variant, "label": variant,
            "implementation": variant.removesuffix("-native"), "language": variant.partition("-")[0], "window": window,
            "at_s": 1.1 * window - 0.5 + 0.01 * block, "per_s": warm * (1 - cold / window) * (1 + 0.02 * block),
            "cpu_s_per_request": 1 / (warm * (1 - cold / window)),
        }
        for variant, warm, cold in (("go-kit", 9e3, 0.0), ("java-helidon", 1e4, 0.8), ("java-helidon-native", 7e3, 0.0))
        for block in (1, 2)
        for window in range(1, 12 + block)
    ]  # fmt: skip
    return pd.DataFrame(rows)


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


def form_leads() -> pd.DataFrame:
    """Two forms of one program ahead of its whole JDK, in time and CPU time, in three blocks."""
    rows = [
        {
            "variant": f"java-helidon-{form}", "plain": "java-helidon", "spent": spent, "block": block,
            "n_requests": 10.0**place, "lead": gain * (4 - place) + 0.1 * block,
        }
        for form, gain in (("aot", 0.5), ("jlink", 0.1))
        for spent in ("time", "cpu")
        for block in range(3)
        for place in range(1, 6)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def forms_of(trials: pd.DataFrame) -> pd.DataFrame:
    return trials.assign(idle_rss_bytes=trials["rss_after_bytes"], artifact_bytes=8e6, runtime_bytes=5e7)


def loops() -> dict[str, dict[str, list[np.ndarray]]]:
    slow, quick = real_latencies()["java-helidon"], real_latencies()["go-kit"]
    return {"java-helidon": {"open": slow, "closed": quick}}


@cache
def drawn() -> dict[str, Callable[[], Figure]]:
    """Every public figure function, drawn from small data: real where the project has some."""
    trials = made_up_trials().query("language != 'rust'")
    ratios = compare(trials, "throughput_per_s", reference="go-nethttp", by=["logging"])
    by_metric = {
        name: compare(trials[trials["logging"] == "off"], metric, reference="go-nethttp")
        for name, metric in (("throughput per core", "throughput_per_s"), ("memory", "rss_after_bytes"))
    }
    sweep, sessions = sweep_trials((1, 2, 4, 8), shared=(8,)), place_trials()
    first = str(sessions["session_id"].iloc[0])
    rows = [
        attributed("Serial", service=0.4, generator=0.2),
        attributed("Go", service=None, generator=0.3),
        attributed("ZGC", service=None, generator=None),
    ]
    return {
        "against_cores": lambda: against_cores(sweep, scaling_rows(sweep, by=["logging"], n_resamples=20)),
        "against_pods": lambda: pod_capacity.against_pods(
            sweep.query("logging == 'off' and cores != '8'").assign(
                capacity_per_s=lambda frame: frame["throughput_per_s"],
                pods=lambda frame: frame["cores"].map({"1": "one", "2": "two", "4": "three"}),
            )
        ),
        "by_cell": lambda: figures.by_cell(
            trials, "throughput_per_s", by=["logging"], label="1/s", errors=True
        ),
        "by_part": lambda: clients.by_part(parts(), "latency_mean_s", label="mean latency / ms", factor=1e3),
        "cost_by_logger": lambda: logging.cost_by_logger(
            pd.concat([trials.assign(sink=sink, cpu_s_per_request=2e-5) for sink in ("null", "pipe")])
        ),
        "capacity_trials": lambda: figures.capacity_trials({"Go": a_search(), "Java": a_search()}),
        "cold_curves": lambda: strings_warm.cold_curves(warming_windows()),
        "cost": lambda: collectors.cost(collector_points()),
        "ecdf": lambda: figures.ecdf(real_latencies(), trials),
        "explained": lambda: gc_peaks.explained(rows),
        "forest": lambda: figures.forest(ratios, trials, quantity="throughput"),
        "forests": lambda: figures.forests(by_metric, trials[trials["logging"] == "off"]),
        "forms": lambda: forms(forms_of(trials)),
        "leads_of_forms": lambda: forms_load.leads_of_forms(form_leads(), {"java-helidon-aot": "AOT cache"}),
        "open_and_closed": lambda: figures.open_and_closed(loops(), {"java-helidon": "Helidon"}),
        "pareto": lambda: figures.pareto(trials),
        "peaks": lambda: gc_peaks.peaks([timeline()]),
        "percentiles": lambda: figures.percentiles(real_latencies(), trials, resolution_s=0.001),
        "places": lambda: places(
            place_rows(sessions, "throughput_per_s", base_session=first), quantity="throughput"
        ),
        "releases": lambda: runtimes.releases(
            trials.query("logging == 'off'").assign(cpu_s_per_request=lambda t: 1 / t["throughput_per_s"]),
            list(dict.fromkeys(trials["variant"])),
        ),
        "run_order": lambda: figures.run_order(trials, "throughput_per_s", label="throughput"),
        "warm_up": lambda: warm_up.warm_up(warming()),  # type: ignore[arg-type]  # curves, read from real files
    }
