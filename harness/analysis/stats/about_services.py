# SPDX-License-Identifier: Apache-2.0
"""Whether the ratio of two arms speaks of the services: by what bounded their trials, and how much is the load tool's.

Throughput and the time of a fixed amount of work do where both arms were bound by the service in 80 % of their trials,
unless they used shares of their CPUs that differ by more than 5 % and at equal ones the order would turn. Latency and
CPU time do there too, and where both kept an offered rate and the rates are within 5 % of each other, whether one was
nearly busy with it or not; latency never where service and generator share CPUs (``docs/duet.md``). Memory and
start-up have no condition. CPU time per request does at equal rates of open loads whatever was busy beside the
services: equal work was done in equal time.

Of a latency the load tool has a part ``s``: what the echo service had under the same load, else the tool's known
lateness (``LoadTool.sends_late_s``; half of it at mean and median). Above a tenth nothing is called equivalent, above a
half the ratio is not about the services.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple, cast

import numpy as np
import pandas as pd

from harness.analysis.stats.quantiles import LATENCIES, MEAN
from harness.model import BOUND_WORDS, BoundBy
from harness.model.digits import percent, plain, whole_percent
from harness.model.load_tools import BY_NAME

#: Shares of the smaller latency: above the first nothing is equivalent, above the second the ratio is refused.
EQUIVALENT_UP_TO = 0.10
MOST = 0.50
GENERATOR = "generator"
#: Before the name of a latency: what the echo service had of it.
ECHO = "echo_"


class ToolPart(NamedTuple):
    """``share``: of the smaller of two latencies, and of more than all of it 1. ``words``: where it is known from."""

    share: float
    words: str

    @property
    def refused(self) -> bool:
        """Whether most of the smaller latency is the tool's."""
        return self.share > MOST

    @property
    def why_not_equivalent(self) -> str | None:
        """Why alike latencies do not say that the services are alike; ``None``: they may."""
        return self.words if self.share > EQUIVALENT_UP_TO else None


def tool_part(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> ToolPart | None:
    """Return what part of the smaller latency of two arms is the tool's; ``None``: not known, or ``metric`` is none."""
    if metric != MEAN and metric not in LATENCIES:
        return None
    parts = [part for part in (_of(arm, metric) for arm in (a, b)) if part is not None]
    return max(parts, key=lambda part: part.share, default=None)


def _of(arm: pd.DataFrame, metric: str) -> ToolPart | None:
    typical_s = float(arm[metric].median()) if metric in arm else 0.0
    if not typical_s > 0:
        return None
    column = f"{ECHO}{metric}"
    part_s = float(arm[column].median()) if column in arm else np.nan
    words = "the echo service has {} ms under the same load"
    if np.isnan(part_s):
        names = map(str, arm[GENERATOR].dropna().unique()) if GENERATOR in arm else ()
        tools = [BY_NAME[name] for name in names if name in BY_NAME]
        in_middle = metric == MEAN or LATENCIES[metric] <= 0.5
        part_s = max((tool.sends_late_s for tool in tools), default=0.0) / (2 if in_middle else 1)
        words = f"{' and '.join(tool.title for tool in tools)} sends {'about' if in_middle else 'up to'} {{}} ms late"
    if part_s <= 0:
        return None
    share = min(1.0, part_s / typical_s)
    words = f"{words.format(plain(1e3 * part_s, 2))}, {whole_percent(share)} of the smaller latency"
    return ToolPart(share, words)


#: Of the trials of each arm.
BOUND_SHARE = 0.80
#: Rates within this of each other, as a share, are equal.
EQUAL_RATE = 0.05
#: Shares of the CPUs that a service may use, which were used, within this of each other are equal.
EQUAL_USE = 0.05
RATE, OFFERED, CPU = "throughput_per_s", "offered_per_s", "cpu_s_per_request"
#: A busy service that answers less of an offered rate has a queue that grows for as long as the load lasts.
STEADY_SHARE = 0.99
#: Of the load: ``open`` where requests are sent at a rate, whatever was answered.
MODEL = "load_model"
#: Whether a trial's service and generator do so by design.
SHARED = "shares_cpus"
#: Why latency is not compared then.
TURNS = "service and generator share CPUs, and their turns there decide how long a request waits"
_THROUGHPUT = (RATE, "sustained_per_s", "capacity_per_s", "serve_s")
_PARTS: dict[BoundBy, str] = {
    "service": "service_share", "generator": "generator_share", "backing": "backing_share", "machine": "machine_share",
}  # fmt: skip

Condition = Literal["throughput", "at a rate"]


def condition_of(metric: str) -> Condition | None:
    """Return which condition a metric has; ``None``: it speaks of the services whatever bounded the trials."""
    if metric in _THROUGHPUT:
        return "throughput"
    return "at a rate" if metric == CPU or _is_latency(metric) else None


def _is_latency(metric: str) -> bool:
    return metric.startswith("latency_") and metric.endswith("_s")


def bounds_of(a: pd.DataFrame, b: pd.DataFrame) -> dict[str, int]:
    """Return what bounded the trials of both arms -> how many, most first; empty: the tables do not say."""
    if not _says(a, b):
        return {}
    return dict(Counter(_bound_by(a) + _bound_by(b)).most_common())


def not_about_services(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> str | None:
    """Return why a ratio does not speak of the services; ``None``: it does, or no column says what bounded it."""
    condition = condition_of(metric)
    if condition is None or not _says(a, b) or a.empty or b.empty or _equal_work(a, b, metric):
        return None
    if _is_latency(metric) and any(SHARED in arm and arm[SHARED].any() for arm in (a, b)):
        return TURNS
    if _mostly("service", a, b):
        return _turned_by_use(a, b, metric)
    if condition == "throughput":
        return _by_what(a, b, {"service"})
    if _keep_rate(a, b):
        part = tool_part(a, b, metric)
        mostly = f"mostly not the services' own ({part.words})" if part is not None and part.refused else None
        return _rates_differ(a, b) or mostly
    why = _by_what(a, b, {"offered"} if _mostly("offered", a) or _mostly("offered", b) else {"service"})
    differ = _rates_differ(a, b)
    return why if differ is None else f"{why}; {differ}"


def latency_of_tool(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> ToolPart | None:
    """Return the load tool's part of the smaller latency at a rate that nothing limited; ``None``: not known."""
    return tool_part(a, b, metric) if _says(a, b) and _keep_rate(a, b) else None


def _equal_work(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> bool:
    is_open = all(MODEL in arm and arm[MODEL].eq("open").all() for arm in (a, b))
    return metric == CPU and is_open and _rates_differ(a, b) is None


def _says(*arms: pd.DataFrame) -> bool:
    return all("bound_by" in arm for arm in arms)


def _bound_by(arm: pd.DataFrame) -> list[str]:
    return [str(by) for by in arm["bound_by"].fillna("unknown")]


def _mostly(by: BoundBy, *arms: pd.DataFrame) -> bool:
    return all(len(arm) > 0 and _bound_by(arm).count(by) / len(arm) >= BOUND_SHARE for arm in arms)


def _keep_rate(*arms: pd.DataFrame) -> bool:
    """Tell whether a rate was the limit of these arms, or left a busy service no more than it could answer."""
    return all(_mostly("offered", arm.assign(bound_by=_busy_or_not(arm))) for arm in arms)


def _busy_or_not(arm: pd.DataFrame) -> pd.Series:
    """Return what bounded each trial, with the rate in place of a service that kept it."""
    rates = arm.reindex(columns=[RATE, OFFERED]).astype("float64")
    keeps = (arm["bound_by"] == "service") & (rates[RATE] >= STEADY_SHARE * rates[OFFERED])
    return arm["bound_by"].mask(keeps, "offered")


def _by_what(a: pd.DataFrame, b: pd.DataFrame, wanted: set[str]) -> str:
    """Return "bound by the generator (9 of 10 trials)", of the trials that were not bound as wanted."""
    pooled = pd.concat([a, b])
    bounds = _bound_by(pooled)
    notes = [
        f"{_words(cast(BoundBy, by), pooled[[name == by for name in bounds]])} ({n} of {len(pooled)} trials)"
        for by, n in Counter(bounds).most_common()
        if by not in wanted
    ]
    return f"bound by {' and '.join(notes)}"


def _turned_by_use(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> str | None:
    """Return that the services used unequal shares of their CPUs and the order depends on it; ``None``: it does not."""
    share = _PARTS["service"]
    if metric != RATE and not _is_latency(metric):
        return None
    if not all({metric, share} <= set(arm.columns) for arm in (a, b)):
        return None
    means = [_log_mean(arm[name]) for name in (metric, share) for arm in (a, b)]
    if any(np.isnan(mean) for mean in means):
        return None
    mean_a, mean_b, used_a, used_b = means
    faster, used = mean_a - mean_b if metric == RATE else mean_b - mean_a, used_a - used_b
    if abs(used) <= np.log1p(EQUAL_USE) or faster * (faster - used) >= 0:
        return None
    shares = " and ".join(whole_percent(float(np.exp(value))) for value in (used_a, used_b))
    return f"they used {shares} of their CPUs, and at equal shares the order is the other way round"


def _log_mean(values: pd.Series) -> float:
    """Return the mean of the logarithms; NaN: a value is not known, or not above 0."""
    array = values.to_numpy(dtype=np.float64)
    return float(np.log(array).mean()) if array.size and array.min() > 0 else float("nan")


def _words(by: BoundBy, trials: pd.DataFrame) -> str:
    """Return what bounded these trials; of CPUs that are shared also who used most of them."""
    columns = {part: column for part, column in _PARTS.items() if column in trials}
    if by != "machine" or len(columns) < len(_PARTS) - ("machine" not in columns):
        return BOUND_WORDS[by]
    used = {part: float(trials[column].fillna(0.0).mean()) for part, column in columns.items()}
    most = max(used, key=lambda part: used[part])
    return BOUND_WORDS[by] if most == "machine" else f"shared CPUs, most used by {BOUND_WORDS[most]}"


def _rates_differ(a: pd.DataFrame, b: pd.DataFrame) -> str | None:
    """Return by how much the rates of two arms differ; ``None``: by no more than the tolerance."""
    means = [_log_mean(arm[RATE]) if RATE in arm else np.nan for arm in (a, b)]
    if any(np.isnan(mean) for mean in means):
        return "the rates are not known"
    first, second = (float(np.exp(mean)) for mean in means)
    ratio = max(first, second) / min(first, second)
    if ratio <= 1 + EQUAL_RATE:
        return None
    return (
        f"rates differ by {percent(ratio - 1)} ({plain(first)} against {plain(second)}/s), "
        f"more than {whole_percent(EQUAL_RATE)}"
    )
