# SPDX-License-Identifier: Apache-2.0
"""From attributed trials to one row per variant: what pauses explain of the tail, with intervals over trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from harness.analysis.attribution.log_clock import SERVICE_CAUSES
from harness.analysis.attribution.share_of_quantile import Way, over_all_places, pooled_share
from harness.analysis.attribution.spans import CauseName
from harness.analysis.attribution.trial import QUANTILES, TrialAttribution
from harness.analysis.stats.intervals import nothing, withheld
from harness.analysis.stats.summaries import mean_within
from harness.errors import InputError
from harness.model import Estimate, Frozen, Support


class AttributionRow(Frozen):
    """One variant at one combination of levels; ``numbers``: of ``_NUMBERS`` and ``_SHARES``, over trials."""

    variant: str
    label: str
    levels: dict[str, str]
    n_trials: int
    memory: str | None  # what bounded it, in words; of several sessions the last one's
    numbers: dict[str, Estimate]  # value None: see its warnings


#: What the load tool itself tells of its requests.
_WITHOUT_CLOCKS = frozenset({"generator_stall", "connect"})
#: What a trial says at a quantile.
Quantity = Callable[[TrialAttribution, str], float | None]


def attribution_table(
    trials: Iterable[TrialAttribution], *, quantile: str = "p99", level: float = 0.95
) -> tuple[AttributionRow, ...]:
    """Return one row per variant and levels, in order of appearance. Raises InputError: not one of ``QUANTILES``."""
    if quantile not in QUANTILES:
        why, allowed = "these trials were not attributed at it", ", ".join(QUANTILES)
        raise InputError(why, place="quantile", found=quantile, allowed=allowed)
    groups: dict[tuple[str, ...], list[TrialAttribution]] = {}
    for trial in trials:
        groups.setdefault((trial.variant, *map("=".join, sorted(trial.levels.items()))), []).append(trial)
    return tuple(_row(group, quantile, level) for group in groups.values())


class _Number(NamedTuple):
    """A number of a row: the estimand in words, its unit, how it is read of a trial, and whose recording it needs."""

    what: str
    unit: str
    of: Quantity
    cause: tuple[str, ...] = ()
    of_log: bool = False  # read off the collector's log


def _tail(words: str, *causes: str, recorded: bool = False) -> _Number:
    """Return the share of a trial's tail that these causes took; ``recorded``: the first has to be recorded."""

    def of(trial: TrialAttribution, quantile: str) -> float | None:
        parts = trial.tail.get(quantile)
        if parts is None or (trial.refused and not _WITHOUT_CLOCKS.issuperset(causes)):
            return None
        if all(cause in trial.missing for cause in causes):
            return None
        return sum(share or 0.0 for cause, share in parts.items() if cause in causes)

    return _Number(f"share of the tail: {words}", "share", of, causes[:1] if recorded else ())


def _most(cause: CauseName, words: str) -> _Number:
    def of(trial: TrialAttribution, quantile: str) -> float | None:
        return trial.most_beside.get(quantile, {}).get(cause)

    return _Number(f"most of the tail: {words}", "share", of, (cause,))


def _in_window(amount: float | None, trial: TrialAttribution) -> float | None:
    return None if amount is None else amount / trial.window_s


#: ``*_tail``, ``*_most``: of the time beyond the median in the tail; the most is out of what is unexplained.
#: ``most_share``: what pauses can have taken, wherever they fell. ``_SHARES``: of the quantile of all trials' requests
#: together, what would vanish with the service's pauses.
_NUMBERS = {
    "rss_bytes": _Number("rss_after_bytes", "B", lambda t, _: t.rss_bytes),
    "latency_s": _Number("latency_{key}_s", "s", lambda t, q: t.latency_s.get(q)),
    "pauses_per_s": _Number("pauses per second", "1/s", lambda t, _: _in_window(t.n_pauses, t), of_log=True),
    "paused_share": _Number("share of time paused", "share", lambda t, _: _in_window(t.paused_s, t), of_log=True),
    "longest_pause_s": _Number("longest pause", "s", lambda t, _: t.longest_pause_s, of_log=True),
    "median_pause_s": _Number("median pause", "s", lambda t, _: t.median_pause_s, of_log=True),
    "collections": _Number("collections in a trial", "1", lambda t, _: t.n_collections, of_log=True),
    "detectability_s": _Number("shortest pause that latencies alone show", "s", lambda t, _: t.detectability_s),
    "most_share": _Number("most of {quantile} that pauses can have taken", "share", lambda t, q: t.most_share.get(q)),
    "service_tail": _tail("the service's pauses", *SERVICE_CAUSES),
    "generator_tail": _tail("the generator's pauses", "generator_stall", recorded=True),
    "connect_tail": _tail("connecting", "connect", recorded=True),
    "unexplained_tail": _tail("unexplained", "unexplained"),
    "throttle_most": _most("cgroup_throttle", "CPU denied by a quota"),
    "jit_most": _most("jit", "compilers at work"),
    "run_queue_most": _most("run_queue", "waiting for a CPU"),
    "cycles_per_s": _Number("collections at work beside the program", "1/s", lambda t, _: t.cycles_per_s, of_log=True),
    "cycle_excess": _Number(
        "share of requests beyond {quantile} that come with a collection at work", "share", lambda t, q: t.excess.get(q)
    ),
}  # fmt: skip
_SHARES: dict[str, tuple[Way, str]] = {
    "share": ("clear", "behind pauses and their queue drain"),
    "share_lower": ("unpaused", "in the pauses' own time"),
    "share_upper": ("drained", "with queue drains at the median"),
}


def _row(group: Sequence[TrialAttribution], quantile: str, level: float) -> AttributionRow:
    first = group[0]
    estimates = {}
    for name, number in _NUMBERS.items():
        what = number.what.format(quantile=quantile, key=quantile.replace(".", ""))
        support = Support.REDUCTION if name == "cycle_excess" else None
        values = [number.of(trial, quantile) for trial in group]
        why = _why_nothing(group, quantile, name)
        estimates[name] = _over(group, values, f"{what}, {first.label}", number.unit, level, why, support)
    for name, (way, words) in _SHARES.items():
        what = f"share of {quantile} {words}, {first.label}"
        estimates[name] = share_over_trials(group, way, quantile, what=what, level=level)
    if estimates["median_pause_s"].value is None and all(trial.n_pauses == 0 for trial in group):
        why_none = {"warnings": ("no pause under load in any trial",)}
        estimates["median_pause_s"] = estimates["median_pause_s"].model_copy(update=why_none)
    return AttributionRow(
        variant=first.variant, label=first.label, levels=first.levels, n_trials=len(group),
        memory=group[-1].memory, numbers=estimates,
    )  # fmt: skip


def _over(
    group: Sequence[TrialAttribution], values: Sequence[float | None], what: str, unit: str, level: float,
    why_nothing: str, support: Support | None,
) -> Estimate:  # fmt: skip
    known = [(trial, value) for trial, value in zip(group, values, strict=True) if value is not None]
    if not known:
        return nothing(why_nothing, estimand=what, unit=unit, level=level)
    estimate = mean_within(
        [value for _, value in known], support=support, level=level, unit=unit, what=what,
        inputs=tuple(trial.trial for trial, _ in known),
    )  # fmt: skip
    if len(known) == 1 and len(group) > 1:
        why = f"one trial of {len(group)} speaks ({known[0][1]:.3g}), the others: {why_nothing}"
        return estimate.model_copy(update={"value": None, "low": None, "high": None, "warnings": (why,)})
    if len(known) < len(group):
        short = f"{len(group) - len(known)} of {len(group)} trials cannot say: {why_nothing}"
        return estimate.model_copy(update={"warnings": (*estimate.warnings, short)})
    return estimate


def _why_nothing(group: Sequence[TrialAttribution], quantile: str, name: str) -> str:
    number = _NUMBERS[name]
    if name == "rss_bytes":
        return "not read after the load"
    if number.of_log:
        return _commonest(t.refused for t in group if t.n_pauses is None) or "no pause under load"
    if why := _commonest(w for trial in group for cause, w in trial.missing.items() if cause in number.cause):
        return why
    reasons = (
        (any(quantile not in trial.latency_s for trial in group), f"too few requests beyond {quantile}"),
        (
            any(trial.refused for trial in group),
            "pauses too short to be placed, or clocks that do not allow it",
        ),
        (name != "cycle_excess", "too few requests clear of every pause"),
        # most collectors never work there
        (not any(trial.excess for trial in group), "no collection at work beside the program"),
        (True, "too few requests that met a collection at work, or too few that met none"),
    )
    return next(why for holds, why in reasons if holds)


def _commonest(reasons: Iterable[str | None]) -> str | None:
    return next((why for why, _ in Counter(filter(None, reasons)).most_common(1)), None)


def share_over_trials(
    group: Sequence[TrialAttribution], way: Way, quantile: str, *, what: str, level: float
) -> Estimate:
    """Return the pooled share of the trials whose pauses could be laid over their requests. The interval covers all
    places that short pauses may have, to the same side in all trials."""
    laid = [trial for trial in group if trial.without_pauses]
    short: tuple[str, ...] = ()
    if len(laid) < len(group):
        why = _commonest(trial.refused for trial in group)
        short = (f"{len(group) - len(laid)} of {len(group)} trials cannot say: {why}",)
    if not laid:
        return nothing(*short, estimand=f"pooled {what}", unit="share", level=level)
    at, inputs = QUANTILES[quantile], tuple(trial.trial for trial in laid)
    at_each = [
        # a trial whose pauses are long against what their place is known to has one place for all
        pooled_share(
            [trial.without_pauses[place % len(trial.without_pauses)] for trial in laid],
            way, at, what=what, level=level, inputs=inputs,
        )
        for place in range(max(len(trial.without_pauses) for trial in laid))
    ]  # fmt: skip
    refused = next((estimate for estimate in at_each if estimate.value is None), None)
    result = refused or (over_all_places(at_each[0], at_each[1:]) if at_each[1:] else at_each[0])
    if len(laid) == 1 < len(group):  # one trial does not speak for all
        return result.model_copy(update={"value": None, "warnings": short})
    return withheld(result.model_copy(update={"warnings": (*result.warnings, *short)}))
