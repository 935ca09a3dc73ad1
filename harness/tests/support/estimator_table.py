# SPDX-License-Identifier: Apache-2.0
"""Every public estimator with data for it, and what must not change, or must change so, whatever the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from harness.analysis.attribution.event_matching import estimate_clock_offset
from harness.analysis.attribution.share_of_quantile import attributable_fractions
from harness.analysis.attribution.spans import attribute_latency
from harness.analysis.attribution.stalls import detect_stalls
from harness.analysis.load.coordinated_omission import coordinated_omission_check
from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.assumptions import check_assumptions
from harness.analysis.stats.comparisons import compare
from harness.analysis.stats.effects import Estimator, effect_size_ci, equivalence_interval
from harness.analysis.stats.factor_effects import interactions
from harness.analysis.stats.quantiles import batch_means_ci
from harness.analysis.stats.sample_size import detectable_ratio, plan_repetitions, power_curve
from harness.analysis.stats.scaling import fit_usl
from harness.analysis.stats.summaries import mean_ci, mean_within, summarise
from harness.analysis.stats.verdicts import adjust_pvalues, sign_flip_p
from harness.analysis.warmup.classify import classify_warmup, detect_changepoints
from harness.model import Estimate

Arrays = tuple[np.ndarray, ...]
Numbers = list[float | None]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One use of one public name."""

    name: str
    how: str
    make: Callable[[np.random.Generator], Arrays]
    call: Callable[..., Any]
    read: Callable[[Any], Numbers]
    scaled: tuple[int, ...] = ()
    unit: Literal["same", "times"] = "times"
    permuted: tuple[int, ...] = ()
    moved: tuple[int, ...] = ()
    swapped: Literal["inverts", "same"] | None = None
    bad: tuple[int, ...] = (0,)
    rel: float = 1e-6

    def __str__(self) -> str:
        return f"{self.name}-{self.how}".replace(" ", "-")


def bounds(estimate: Estimate) -> Numbers:
    """Value and interval."""
    return [estimate.value, estimate.low, estimate.high]


def _arms(rng: np.random.Generator) -> Arrays:
    return np.exp(rng.normal(0.1, 0.05, 8)), np.exp(rng.normal(0.0, 0.05, 8))


def _one_arm(rng: np.random.Generator) -> Arrays:
    return (np.exp(rng.normal(0.0, 0.05, 9)),)


def _requests(rng: np.random.Generator) -> Arrays:
    return (rng.gamma(4.0, 0.25, 1200),)


def _latencies(rng: np.random.Generator) -> Arrays:
    """Starts and latencies of an open loop, and three pauses at the end of which something is answered."""
    start = np.sort(rng.uniform(0, 8, 2400))
    latency = rng.gamma(4.0, 0.001, 2400)
    pauses = np.array([[1.0, 1.1], [2.0, 2.12], [3.3, 3.38], [4.1, 4.2], [5.6, 5.7], [6.5, 6.6]])
    for low, high in pauses:
        held = (start < high) & (start + latency > low)
        latency[held] = high + latency[held] - start[held]
    return start, latency, pauses


def _series(rng: np.random.Generator) -> Arrays:
    series = 5 + 0.1 * rng.standard_normal(320)
    series[:60] += 2.0
    return (series,)


def _pairs(spans: np.ndarray) -> list[tuple[float, float]]:
    return [(float(low), float(high)) for low, high in np.asarray(spans).reshape(-1, 2)]


def _frame(a: np.ndarray, b: np.ndarray) -> pd.DataFrame:
    """A table of trials: the reference, a variant, and the reference's duplicate in every block."""
    duplicate = np.roll(b, 1) if len(b) else b
    rows = [
        {
            "experiment": "toy", "source": "measured", "session_id": "s", "trial_id": f"{block}-{name}-{again}",
            "block": block, "position": 3 * block + place, "duplicate": again, "variant": name,
            "configuration": name, "excluded": False, "flags": "", "cost_s": value,
        }
        for block, values in enumerate(zip(a.tolist(), b.tolist(), duplicate.tolist(), strict=False))
        for place, (name, again, value) in enumerate(
            zip(("java", "go", "go"), (False, False, True), values, strict=True)
        )
    ]  # fmt: skip
    columns = "experiment source session_id trial_id block position duplicate variant configuration excluded flags cost_s"
    return pd.DataFrame(rows, columns=columns.split()).astype({"cost_s": "float64"})


def _effects() -> list[Row]:
    rows = []
    for estimator in get_args(Estimator):
        for paired in (True, False):
            if estimator in (("welch_log_t", "fieller") if paired else ("log_t", "hodges_lehmann")):
                continue
            rows.append(Row(
                name="effect_size_ci", how=f"{estimator} {'paired' if paired else 'unpaired'}", make=_arms,
                call=lambda a, b, e=estimator, p=paired: effect_size_ci(a, b, paired=p, estimator=e), read=bounds,
                scaled=(0, 1), unit="same", permuted=(0, 1), swapped="inverts", bad=(0, 1),
            ))  # fmt: skip
    return rows


def _ratios() -> list[Row]:
    def ratio(name: str, call: Callable[..., Any], read: Callable[[Any], Numbers], **more: Any) -> Row:
        facts: dict[str, Any] = {
            "make": _arms, "scaled": (0, 1), "unit": "same", "permuted": (0, 1), "swapped": "inverts", "bad": (0, 1),
        }  # fmt: skip
        return Row(name=name, call=call, read=read, **(facts | more))

    return [
        ratio("equivalence_interval", lambda a, b: equivalence_interval(a, b, paired=True), bounds, how="paired"),
        ratio("equivalence_interval", lambda a, b: equivalence_interval(a, b, paired=False), bounds, how="unpaired"),
        ratio("sign_flip_p", sign_flip_p, lambda found: [found], how="paired", swapped="same"),
        ratio("compare", lambda a, b: compare(_frame(a, b), "cost_s", reference="go"),
              lambda found: bounds(found[0].ratio) if found else [], how="one variant", permuted=(), swapped=None),
        ratio("aa_noise", lambda a, b: aa_noise(_frame(a, b), "cost_s"),
              lambda found: bounds(found.ratio), how="duplicates", permuted=(), swapped=None),
        ratio("summarise", lambda a, b: summarise(_frame(a, b), "cost_s"),
              lambda found: [n for one in found["estimate"] for n in bounds(one)], how="two variants",
              unit="times", permuted=(0, 1), swapped=None),
        ratio("interactions", lambda a, b: interactions(_crossed(a, b), "cost_s", ("variant", "logging")),
              lambda found: [n for one in found for n in bounds(one.ratio)], how="two by two", permuted=(),
              swapped=None),
        ratio("plan_repetitions", plan_repetitions,
              lambda found: [float(found)], how="pilot of both", swapped="same"),
        ratio("detectable_ratio", lambda a, b: detectable_ratio(a, b, n_blocks=10), bounds,
              how="ten blocks", swapped="same"),
        ratio("power_curve", lambda a, b: power_curve(_frame(a, b), "cost_s", reference="go"),
              lambda found: [n for curve in found for one in curve.smallest for n in bounds(one.ratio)],
              how="one variant", permuted=(), swapped=None),
    ]  # fmt: skip


def _crossed(a: np.ndarray, b: np.ndarray) -> pd.DataFrame:
    """The table of trials with and without a log line, which costs the one arm more than the other."""
    plain, logged = _frame(a, b), _frame(1.3 * np.roll(a, 1), 1.1 * np.roll(b, 2))
    return pd.concat([plain.assign(logging="off"), logged.assign(logging="on")])


def _one_sample() -> list[Row]:
    def of(name: str, how: str, call: Callable[..., Any], read: Callable[[Any], Numbers], **more: Any) -> Row:
        facts: dict[str, Any] = {"make": _requests, "scaled": (0,)}
        return Row(name=name, how=how, call=call, read=read, **(facts | more))

    return [
        *(
            of("mean_ci", scale, lambda x, s=scale: mean_ci(x, scale=s), bounds, make=_one_arm, permuted=(0,))
            for scale in ("log", "linear")
        ),
        of("mean_within", "s", lambda x: mean_within(x, unit="s"), bounds, make=_one_arm, permuted=(0,)),
        of("batch_means_ci", "mean", batch_means_ci, lambda found: list(found or (None, None))),
        of("check_assumptions", "outliers and modes", check_assumptions,
           lambda found: [float(len(found))],
           unit="same", make=_one_arm),
        of("detect_changepoints", "a step", detect_changepoints,
           lambda found: [float(i) for i in found], unit="same", make=_series),
        of("classify_warmup", "a step", classify_warmup,
           lambda found: [float(found.steady_from if found.steady_from is not None else -1),
                          *(one.level for one in found.segments[:0])], unit="same", make=_series),
        of("adjust_pvalues", "holm", lambda p: adjust_pvalues(np.clip(p, -1, 2).tolist()), _p_values,
           make=lambda rng: (rng.uniform(0, 1, 7),), scaled=()),
        of("adjust_pvalues", "bh", lambda p: adjust_pvalues(p.tolist(), method="bh"), _p_values,
           make=lambda rng: (rng.uniform(0, 1, 7),), scaled=()),
    ]  # fmt: skip


def _p_values(found: Sequence[float | None]) -> Numbers:
    return list(found)


def _over_time() -> list[Row]:
    def of(name: str, how: str, call: Callable[..., Any], read: Callable[[Any], Numbers], **more: Any) -> Row:
        facts: dict[str, Any] = {"make": _latencies, "permuted": (0, 1), "moved": (0, 2), "bad": (0, 1)}
        return Row(name=name, how=how, call=call, read=read, **(facts | more))

    def shares(start: np.ndarray, latency: np.ndarray, pauses: np.ndarray) -> Any:
        return attributable_fractions(start, latency, {"gc_pause": _pairs(pauses)}, resamples=50)[0]

    return [
        of("detect_stalls", "open", lambda start, latency, _: detect_stalls(start, latency),
           lambda found: [one.duration_s for one in found]),
        of("coordinated_omission_check", "rhythm",
           lambda start, latency, _: coordinated_omission_check(start, latency),
           lambda found: [*found.measured_s.values(), float(found.flagged)], scaled=()),
        of("coordinated_omission_check", "users",
           lambda start, latency, _: coordinated_omission_check(start, latency, users=4, stalls=()),
           lambda found: [found.interval_s, *(found.corrected_s or {}).values()], scaled=(0, 1)),
        of("attribute_latency", "one cause",
           lambda start, latency, pauses: attribute_latency(start, latency, {"gc_pause": _pairs(pauses)}),
           lambda found: [float(one.sum()) for one in found.values()], scaled=(0, 1, 2), bad=(0, 1, 2)),
        of("attributable_fractions", "p99", shares,
           lambda found: [*found.quantile_share, found.latency_s], bad=(0, 1, 2), rel=1e-4),
        of("estimate_clock_offset", "six pauses",
           lambda start, latency, pauses: estimate_clock_offset(
               start[: len(latency)] + latency[: len(start)], _pairs(pauses), median_service_s=0.004),
           lambda found: [found.offset_s], permuted=(), rel=1e-4),
    ]  # fmt: skip


def _fits() -> list[Row]:
    def fit(cores: np.ndarray, rate: np.ndarray, block: np.ndarray) -> Any:
        return fit_usl(cores, rate, block, n_resamples=20)

    def laws(rng: np.random.Generator) -> Arrays:
        cores = np.tile([1.0, 2.0, 4.0, 8.0], 4)
        rate = 100 * cores / (1 + 0.05 * (cores - 1) + 0.001 * cores * (cores - 1))
        return cores, rate * np.exp(rng.normal(0, 0.01, 16)), np.repeat(np.arange(4.0), 4)

    return [
        Row(name="fit_usl", how="sixteen trials", make=laws, call=fit, permuted=(), scaled=(1,),
            read=lambda found: bounds(found.per_core_per_s), bad=(0, 1), rel=1e-3),
        Row(name="fit_usl", how="shares", make=laws, call=fit, permuted=(), scaled=(1,), unit="same",
            read=lambda found: [found.contention.value], bad=(0, 1), rel=2e-2),
    ]  # fmt: skip


TABLE: tuple[Row, ...] = (*_effects(), *_ratios(), *_one_sample(), *_over_time(), *_fits())
