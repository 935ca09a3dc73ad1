# SPDX-License-Identifier: Apache-2.0
"""What must be said beside the headline's numbers: the load, the generator's share of the CPU, and the warm-up."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.pairing import counting
from harness.analysis.stats.summaries import summarise
from harness.evidence import Evidence
from harness.evidence.load_course import COMPILING, FIRST, LAST, load_course
from harness.model import Estimate, Experiment
from harness.model.digits import percent, span
from harness.model.formatting import NOT_MEASURED
from harness.publish.load_sentence import load_sentence
from harness.publish.load_words import TOOL_NAMES, number
from harness.publish.results import Tree

#: Compiler threads at work for less than this share of the load are no warm-up any more.
STILL_WARMING_SHARE = 0.05
#: Service and generator together above this share of all CPUs: neither could have had more.
BUSY_SHARE = 0.8


def headline(evidence: Evidence, main: Mapping[str, str]) -> Tree:
    """Return ``cell``, ``load``, ``generator`` and ``warm_up``, sentences from the trials of the main cell.

    Also numbers in them: ``{generator_cores,service_cores,compiling_share}.<variant>``.
    """
    trials = load_course(evidence, evidence.cell(**main))
    return {
        "cell": cell_in_words(evidence.header.experiment, main),
        "load": load_sentence(evidence, trials),
        "generator": _generator_sentence(evidence, trials),
        "warm_up": _warm_up_sentence(evidence, trials),
        **{
            metric: _of_variants(trials.dropna(subset=[metric]), metric)
            for metric in ("generator_cores", "service_cores", COMPILING)
        },
    }


def cell_in_words(experiment: Experiment, cell: Mapping[str, str]) -> str:
    """Return a combination of levels as a reader says it: "no log line per request, 1,000 warm-up requests"."""
    said = []
    for factor, name in cell.items():
        level = experiment.factors.get(factor, {}).get(name)
        if level is not None and "logging" in level.settings:
            said.append(
                {"off": "no log line", "on": "one log line"}.get(str(level.settings["logging"]), name)
                + " per request"
            )
        elif level is not None and level.warm_up_requests is not None:
            n = level.warm_up_requests
            fresh = " on fresh connections" if level.warm_up_connections == "fresh" else ""
            said.append(f"{number(n)} warm-up requests{fresh}" if n else "no warm-up requests")
        else:
            said.append(f"{factor.replace('_', ' ')} {name}")
    return ", ".join(said) or "the one combination there is"


def _generator_sentence(evidence: Evidence, trials: pd.DataFrame) -> str:
    kept = trials.dropna(subset=["generator_cores", "service_cores"])
    kept = counting(kept)
    if kept.empty:
        return "How much of the CPU the load generator took was not recorded."
    names = " and ".join(TOOL_NAMES.get(str(tool), str(tool)) for tool in kept["generator"].unique())
    cores = {m: _of_variants(kept, m) for m in ("generator_cores", "service_cores")}
    n_cpus = evidence.machine.n_cpus
    said = (
        f"{names} made the load on the same {n_cpus} CPUs. It used {_range(cores['generator_cores'])} of them, "
        f"the service {_range(cores['service_cores'])} (lowest and highest of the variants)."
    )
    share = float(((kept["generator_cores"] + kept["service_cores"]) / n_cpus).mean())
    most = [
        name
        for name, cell in cores["generator_cores"].items()
        if _value(cell) > _value(cores["service_cores"][name])
    ]
    if most:
        labels = ", ".join(evidence.variants[name] for name in most)
        said += f" The generator used more CPU than the service for: {labels}."
    if share >= BUSY_SHARE:
        said += (
            f" Together they used {percent(share)} of the CPU, so throughput here depends on the generator as "
            "well as on the service."
        )
    return said


def _warm_up_sentence(evidence: Evidence, trials: pd.DataFrame) -> str:
    labels = evidence.variants
    compiled = _of_variants(trials.dropna(subset=[COMPILING]), COMPILING)
    warming = {name: share for name, share in compiled.items() if _value(share) >= STILL_WARMING_SHARE}
    jvms = [name for name in labels if name in set(trials[trials["language"] == "java"]["variant"])]
    said = ""
    if warming:
        shares = [_value(one) for one in warming.values()]
        said = (
            f"{len(warming)} of {len(jvms)} JVMs were still compiling: compiler threads worked for "
            f"{percent(min(shares))} to {percent(max(shares))} of the measurement."
        )
    elif jvms and not compiled:
        said = "Whether the JVMs were still compiling was not recorded."
    first, last = _ratios(evidence, trials, FIRST), _ratios(evidence, trials, LAST)
    both = [name for name in jvms if name in first and name in last]
    if both:
        early, late = (_range({name: found[name] for name in both}) for found in (first, last))
        said += (
            f" The ratios of their throughput to that of {labels[evidence.reference]} were {early} in the first "
            f"quarter of the requests and {late} in the last."
        )
    if warming or len(compiled) < len(jvms):
        said += " These are numbers of young processes, and no statement about services that have warmed up."
    return said.strip() or NOT_MEASURED


def _of_variants(trials: pd.DataFrame, metric: str) -> dict[str, Estimate]:
    if trials.empty:
        return {}
    found = summarise(trials, metric, unit="share" if metric == COMPILING else "")
    estimates = {str(row["variant"]): row["estimate"] for _, row in found.iterrows()}
    return {name: one for name, one in estimates.items() if one.value is not None}


def _ratios(evidence: Evidence, trials: pd.DataFrame, metric: str) -> dict[str, Estimate]:
    present = trials.dropna(subset=[metric])
    if evidence.reference not in set(present["variant"]):
        return {}
    return {
        c.variant: c.ratio
        for c in compare(present, metric, reference=evidence.reference)
        if c.ratio.value is not None
    }


def _range(found: Mapping[str, Estimate]) -> str:
    values = [_value(one) for one in found.values()]
    return span(min(values), max(values))


def _value(estimate: Estimate) -> float:
    return estimate.value if estimate.value is not None else 0.0
