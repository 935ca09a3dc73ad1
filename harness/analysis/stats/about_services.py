# SPDX-License-Identifier: Apache-2.0
"""Whether a ratio of two arms speaks of the services: by its metric, and by what bounded the trials of both.

Throughput, and the time that a fixed amount of work takes, speak of the services only where both arms were bound by
the service in 80 % of their trials or more; else they are those of the generator, the database, the machine or the
plan. There both may still have used unequal shares of their CPUs, because something else was near its limit too,
and what a service did not use it could have answered with: where those shares differ by more than 5 %, and the
ratio would be on the other side of 1 at equal ones, it has no verdict. At saturation latency and CPU time per request
speak of the services too. There the mean latency of a closed loop is its users over its throughput, so unequal shares
turn latency round as they do throughput, and never CPU time per request.
Where the service was not the limit they do at an equal rate: both arms kept
an offered rate in 80 % of their trials, nothing was at its limit, and the rates are within 5 % of each other. A
latency must then not be the load tool's for the most part (:mod:`harness.analysis.stats.tool_latency`). In a closed
loop that something else bounds, the rates differ with the services, so neither latency nor CPU time per request is
that of equal work. Memory and start-up have no condition.

Latency never does where service and generator share CPUs by design, as in a duet: the order in which the system lets
them run decides how long a request waits. On one CPU the generator often runs as soon as an answer is written; a
service that reads on finds the next request of the same connection and serves it first (``docs/duet.md``).

Whether processes had warmed up is not asked here: a comparison states the age of its arms
(:mod:`harness.analysis.stats.ages`).
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, cast

import numpy as np
import pandas as pd

from harness.analysis.stats import tool_latency
from harness.analysis.stats.tool_latency import ToolPart, tool_part
from harness.model import BOUND_WORDS, BoundBy
from harness.model.digits import percent, plain, whole_percent

#: Of the trials of each arm.
BOUND_SHARE = 0.80
#: Rates within this of each other, as a share, are equal.
EQUAL_RATE = 0.05
#: Shares of the CPUs that a service may use, which were used, within this of each other are equal.
EQUAL_USE = 0.05
RATE = "throughput_per_s"
#: Whether a trial's service and generator do so by design.
SHARED = "shares_cpus"
#: Why latency is not compared then.
TURNS = "service and generator share CPUs, and their turns there decide how long a request waits"
_THROUGHPUT = (RATE, "sustained_per_s", "capacity_per_s", "serve_s")
_PARTS: dict[BoundBy, str] = {
    "service": "service_share",
    "generator": "generator_share",
    "backing": "backing_share",
}

#: The columns that are asked for here, where a table has them.
COLUMNS = (
    "bound_by", RATE, *_PARTS.values(), "machine_share",
    SHARED, *tool_latency.COLUMNS,
)  # fmt: skip

Condition = Literal["throughput", "at a rate"]


def condition_of(metric: str) -> Condition | None:
    """Return which condition a metric has; ``None``: it speaks of the services whatever bounded the trials."""
    if metric in _THROUGHPUT:
        return "throughput"
    return "at a rate" if metric == "cpu_s_per_request" or _is_latency(metric) else None


def _is_latency(metric: str) -> bool:
    return metric.startswith("latency_") and metric.endswith("_s")


def bounds_of(a: pd.DataFrame, b: pd.DataFrame) -> dict[str, int]:
    """Return what bounded the trials of both arms -> how many, most first; empty: the tables do not say."""
    if not _told(a, b):
        return {}
    return dict(Counter(_bound_by(a) + _bound_by(b)).most_common())


def not_about_services(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> str | None:
    """Return why the ratio of two arms does not speak of the services, in words; ``None``: it does.

    Args:
        a, b: the trials of each arm that are compared, columns as in ``docs/data.md``. Tables without the column
            ``bound_by`` are no tables of trials, and nothing is asked of them.
    """
    condition = condition_of(metric)
    if condition is None or not _told(a, b) or a.empty or b.empty:
        return None
    whatever_bounded = _in_turns(a, b, metric)
    if whatever_bounded is not None:
        return whatever_bounded
    if _mostly(a, "service") and _mostly(b, "service"):
        return _turned_by_use(a, b, metric)
    if condition == "throughput":
        return _others(a, b, {"service"})
    if _mostly(a, "offered") and _mostly(b, "offered"):
        return _rates_differ(a, b) or _of_the_tool(a, b, metric)
    why = _others(a, b, {"offered"} if _mostly(a, "offered") or _mostly(b, "offered") else {"service"})
    differ = _rates_differ(a, b)
    return why if differ is None else f"{why}; {differ}"


def latency_of_tool(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> ToolPart | None:
    """Return what part of the smaller latency is the load tool's, of two arms at a rate that nothing limited.

    ``None``: they are not, the metric is no latency, or it is not known. At saturation requests wait for the service
    while the tool works, so its part is not on top of the service's.
    """
    if not _told(a, b) or not (_mostly(a, "offered") and _mostly(b, "offered")):
        return None
    return tool_part(a, b, metric)


def _of_the_tool(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> str | None:
    part = latency_of_tool(a, b, metric)
    return f"mostly not the services' own ({part.said})" if part is not None and part.refused else None


def _in_turns(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> str | None:
    """Return why latency on shared CPUs is not that of the services; ``None``: other metric, or not shared."""
    shared = any(SHARED in arm and arm[SHARED].any() for arm in (a, b))
    return TURNS if shared and _is_latency(metric) else None


def _told(*arms: pd.DataFrame) -> bool:
    return all("bound_by" in arm for arm in arms)


def _bound_by(arm: pd.DataFrame) -> list[str]:
    return [str(by) for by in arm["bound_by"].fillna("unknown")]


def _mostly(arm: pd.DataFrame, by: BoundBy) -> bool:
    return len(arm) > 0 and _bound_by(arm).count(by) / len(arm) >= BOUND_SHARE


def _others(a: pd.DataFrame, b: pd.DataFrame, wanted: set[str]) -> str:
    """Name what bounded the trials that were not bound as wanted: "bound by the generator (9 of 10 trials)"."""
    both = pd.concat([a, b])
    bounds = _bound_by(both)
    said = [
        f"{_words(cast(BoundBy, by), both[[one == by for one in bounds]])} ({n} of {len(both)} trials)"
        for by, n in Counter(bounds).most_common()
        if by not in wanted
    ]
    return f"bound by {' and '.join(said)}"


def _turned_by_use(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> str | None:
    """Say that two services used unequal shares of their CPUs, and which of them is faster depends on it.

    ``None``: they used equal shares, the order is the same at equal ones, or the shares are not known.
    """
    share = _PARTS["service"]
    if metric != RATE and not _is_latency(metric):
        return None
    if not all({metric, share} <= set(arm.columns) for arm in (a, b)):
        return None
    values = [arm[name].to_numpy(dtype=np.float64) for name in (metric, share) for arm in (a, b)]
    if any(np.isnan(one).any() or one.min() <= 0 for one in values):
        return None
    mean_a, mean_b, used_a, used_b = (float(np.log(one).mean()) for one in values)
    faster, used = mean_a - mean_b if metric == RATE else mean_b - mean_a, used_a - used_b
    if abs(used) <= np.log1p(EQUAL_USE) or faster * (faster - used) >= 0:
        return None
    shares = " and ".join(whole_percent(float(np.exp(one))) for one in (used_a, used_b))
    return f"they used {shares} of their CPUs, and at equal shares the order is the other way round"


def _words(by: BoundBy, trials: pd.DataFrame) -> str:
    """What bounded these trials; of CPUs that are shared also who used most of them."""
    if by != "machine" or not set(_PARTS.values()) <= set(trials.columns):
        return BOUND_WORDS[by]
    used = {part: float(trials[column].fillna(0.0).mean()) for part, column in _PARTS.items()}
    used["machine"] = float(trials["machine_share"].fillna(0.0).mean()) if "machine_share" in trials else 0.0
    most = max(used, key=lambda part: used[part])
    return BOUND_WORDS[by] if most == "machine" else f"shared CPUs, most used by {BOUND_WORDS[most]}"


def _rates_differ(a: pd.DataFrame, b: pd.DataFrame) -> str | None:
    """Say by how much the rates of two arms differ; ``None``: by no more than the tolerance."""
    rates = [arm[RATE].to_numpy(dtype=np.float64) if RATE in arm else np.array([np.nan]) for arm in (a, b)]
    if any(not rate.size or np.isnan(rate).any() or rate.min() <= 0 for rate in rates):
        return "the rates are not known"
    one, other = (float(np.exp(np.log(rate).mean())) for rate in rates)
    ratio = max(one, other) / min(one, other)
    if ratio <= 1 + EQUAL_RATE:
        return None
    return (
        f"rates differ by {percent(ratio - 1)} ({plain(one)} against {plain(other)}/s), "
        f"more than {whole_percent(EQUAL_RATE)}"
    )


__all__ = ["COLUMNS", "bounds_of", "condition_of", "latency_of_tool", "not_about_services"]
