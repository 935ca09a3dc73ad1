# SPDX-License-Identifier: Apache-2.0
"""What the paper says of log lines: their cost by logger and sink, and how many are lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pandas as pd

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.pairing import counting, inputs_of
from harness.model import BOUND_WORDS, BoundBy
from harness.model.digits import percent, plain
from harness.publish.bounds import bounded
from harness.publish.comparisons import comparison_notes
from harness.publish.findings import FINDING, Phrase, comparisons_in, finding
from harness.publish.load_sentence import load_sentence
from harness.publish.results import (
    NO_COMPARISON,
    NO_TEXT,
    Absent,
    Leaf,
    Tree,
    Words,
    for_each,
    means,
)
from harness.questions.logging.analysis import CPU, SILENT, SINK, SINKS, THROUGHPUT, Logged, Lost

_UNITS = {CPU: "s/request", THROUGHPUT: "1/s"}
PIPE = "pipe"
_PHRASE = Phrase(
    who="loggers in a pipe",
    more="make a request cost more CPU time",
    less="make a request cost less CPU time",
    more_short="it cost more",
    less_short="it cost less",
)
_NO_LOG = Absent(kind="comparison", why="it writes no log")


def results(logged: Logged | None, variants: Mapping[str, str]) -> Tree:
    """Return what is said of every variant of the definition in every sink, measured or not.

    ``cpu.{mean,cost}.<sink>.<variant>`` and ``throughput.{mean,cost}.<sink>.<variant>``: ``cost`` is the ratio to the
    same program without a log; ``lost.<sink>.<variant>`` and ``bound.<sink>.<variant>`` in words; ``sinks``,
    ``bounded``, ``load`` and ``unavailable``; ``finding``: title, take-away and how sure, of CPU time per request in a
    pipe.
    """
    cpu = _metric(logged, variants, CPU)
    return {
        "name": variants,
        FINDING: finding(_in_a_pipe(cpu), _PHRASE),
        "cpu": cpu,
        "throughput": _metric(logged, variants, THROUGHPUT),
        "lost": {
            sink: for_each(
                variants,
                {} if logged is None else {name: _lost(one) for name, one in logged.lost[sink].items()},
                Absent(kind="text", why="its lines were not counted"),
            )
            for sink in SINKS
        },
        "bound": {sink: _bound(logged, variants, sink) for sink in SINKS},
        "bounded": bounded(None if logged is None else logged.trials),
        **_sentences(logged, variants),
    }


def _in_a_pipe(metric: Tree) -> list[Comparison]:
    cost = metric["cost"]
    return comparisons_in(cost[PIPE]) if isinstance(cost, Mapping) else []


def _metric(logged: Logged | None, variants: Mapping[str, str], metric: str) -> Tree:
    return {
        "mean": {
            sink: for_each(variants, {}, Absent(unit=_UNITS[metric]))
            if logged is None
            else means(_at(logged.trials, sink), variants, metric)
            for sink in SINKS
        },
        "cost": {
            sink: {
                **for_each(variants, {} if logged is None else logged.cost[metric][sink], NO_COMPARISON),
                **dict.fromkeys((name for name in SILENT if name in variants), _NO_LOG),
            }
            for sink in SINKS
        },
    }


def _at(trials: pd.DataFrame, sink: str) -> pd.DataFrame:
    return trials[trials[SINK] == sink]


def _lost(found: Lost) -> Words:
    if not found.n_lost:
        return Words(f"none of {plain(found.n_requests)}", found.inputs)
    said = f"{percent(found.n_lost / found.n_requests)} of {plain(found.n_requests)}"
    least, most = percent(found.least_share), percent(found.most_share)
    if found.n_trials > 1 and least != most:
        said = f"{said} ({least} to {most} by process)"
    return Words(said, found.inputs)


def _bound(logged: Logged | None, variants: Mapping[str, str], sink: str) -> Mapping[str, Leaf]:
    if logged is None:
        return for_each(variants, {}, NO_TEXT)
    trials = _at(logged.trials, sink)
    kept = counting(trials)
    said: dict[str, Leaf | None] = {}
    for name, mine in kept.groupby("variant", sort=False):
        told = mine["bound_by"].fillna("unknown").astype(str).value_counts()
        words = [f"{BOUND_WORDS[cast(BoundBy, by)]} ({n} of {len(mine)})" for by, n in told.items()]
        said[str(name)] = Words(", ".join(words), inputs_of(mine))
    return for_each(variants, said, NO_TEXT)


def _sentences(logged: Logged | None, variants: Mapping[str, str]) -> Mapping[str, Leaf]:
    if logged is None:
        return dict.fromkeys(("sinks", "load", "unavailable"), NO_TEXT)
    gone = [one for one in logged.evidence.header.unavailable if one.variant in variants]
    load = load_sentence(logged.evidence, logged.trials)
    return {
        "sinks": ", ".join(logged.sinks),
        "load": Words(load, inputs_of(logged.trials)) if load else NO_TEXT,
        "unavailable": "; ".join(f"{variants[one.variant]}: {one.reason}" for one in gone) or "none",
    }


def notes(logged: Logged | None) -> list[str]:
    """Return the notes on the ratios: what is not about the services, p-values and margin."""
    if logged is None:
        return []
    found = [
        one for metric in (CPU, THROUGHPUT) for sink in SINKS for one in logged.cost[metric][sink].values()
    ]
    return comparison_notes(found, logged.evidence.variants) if found else []


__all__ = ["notes", "results"]
