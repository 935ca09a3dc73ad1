# SPDX-License-Identifier: Apache-2.0
"""From attributed trials to one row per variant: what pauses explain of the tail, with intervals over trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from harness.analysis.attribution.evidence_sources import SERVICE_CAUSES
from harness.analysis.attribution.placebo_shift import over_all_places
from harness.analysis.attribution.rows import AttributionRow
from harness.analysis.attribution.share_of_quantile import Way, pooled_share
from harness.analysis.attribution.spans import CauseName
from harness.analysis.attribution.trial import TrialAttribution
from harness.analysis.stats.estimates import nothing, withheld
from harness.analysis.stats.means import mean_within
from harness.errors import InputError
from harness.model import Estimate, Support

#: What the load tool itself tells of its requests.
_WITHOUT_CLOCKS = frozenset({"generator_stall", "connect"})
_TOO_FEW_CLEAR = "too few requests clear of every pause"
Quantity = Callable[[TrialAttribution], float | None]


def attribution_table(
    trials: Iterable[TrialAttribution], *, quantile: str = "p99", level: float = 0.95
) -> tuple[AttributionRow, ...]:
    """Return one row per variant and combination of levels, in order of appearance.

    Args:
        quantile: a name that ``attribute_trial`` was asked for; trials with too few requests beyond it do
            not enter its shares, and the estimate says how many did.

    Raises:
        InputError: trials were not asked for that quantile.
    """
    groups: dict[tuple[str, ...], list[TrialAttribution]] = {}
    for trial in trials:
        if quantile not in trial.quantiles:
            raise InputError(
                "these trials were not attributed at it", place="quantile", found=quantile,
                allowed=", ".join(trial.quantiles),
            )  # fmt: skip
        groups.setdefault((trial.variant, *map("=".join, sorted(trial.levels.items()))), []).append(trial)
    return tuple(_row(group, quantile, level) for group in groups.values())


def _row(group: Sequence[TrialAttribution], quantile: str, level: float) -> AttributionRow:
    first = group[0]
    refusals = Counter(trial.refused for trial in group if trial.refused)

    def over(
        what: str,
        unit: str,
        of: Quantity,
        of_cause: CauseName | None = None,
        why: str | None = None,
        support: Support | None = None,
    ) -> Estimate:
        why = why or _not_recorded(group, of_cause) or _why_nothing(group, quantile)
        return _over(group, f"{what}, {first.label}", unit, of, level, why, support)

    def share(way: Way, what: str) -> Estimate:
        return share_over_trials(
            group,
            way,
            quantile,
            what=f"share of {quantile} {what}, {first.label}",
            level=level,
        )

    def tail(*causes: str) -> Quantity:
        def of(trial: TrialAttribution) -> float | None:
            parts = trial.whole.get(quantile)
            if parts is None or (trial.refused and not _WITHOUT_CLOCKS.issuperset(causes)):
                return None
            if not any(cause == "unexplained" or _recorded(trial, cause) for cause in causes):
                return None
            return sum(part.share_of_tail.value or 0.0 for part in parts.causes if part.cause in causes)

        return of

    def most(cause: CauseName) -> Quantity:
        return lambda trial: trial.most_beside.get(quantile, {}).get(cause)

    def excess(trial: TrialAttribution) -> float | None:
        met = trial.exposure.get(quantile)
        return None if met is None else met.excess.value

    log = _why_not_logged(group)
    return AttributionRow(
        variant=first.variant,
        label=first.label,
        levels=first.levels,
        collector=first.collector,
        quantile=quantile,
        n_trials=len(group),
        n_refused=sum(refusals.values()),
        why_refused=refusals.most_common(1)[0][0] if refusals else None,
        memory=group[-1].memory,
        rss_bytes=over("rss_after_bytes", "B", lambda t: t.rss_bytes, why="not read after the load"),
        latency_s=over(f"latency_{quantile.replace('.', '')}_s", "s", lambda t: t.latency_s.get(quantile)),
        pauses_per_s=over(
            "pauses per second",
            "1/s",
            lambda t: None if t.n_pauses is None else t.n_pauses / t.window_s,
            why=log,
        ),
        paused_share=over(
            "share of time paused",
            "share",
            lambda t: None if t.paused_s is None else t.paused_s / t.window_s,
            why=log,
        ),
        longest_pause_s=over("longest pause", "s", lambda t: t.longest_pause_s, why=log),
        median_pause_s=_of_pauses(group, over("median pause", "s", lambda t: t.median_pause_s, why=log)),
        collections=over("collections in a trial", "1", lambda t: t.n_collections, why=log),
        detectability_s=over("shortest pause that latencies alone show", "s", lambda t: t.detectability_s),
        share=share("clear", "behind pauses and their queue drain"),
        share_lower=share("unpaused", "in the pauses' own time"),
        share_upper=share("drained", "with queue drains at the median"),
        most_share=over(
            f"most of {quantile} that pauses can have taken", "share", lambda t: t.most_share.get(quantile)
        ),
        service_tail=over("share of the tail: the service's pauses", "share", tail(*SERVICE_CAUSES)),
        generator_tail=over(
            "share of the tail: the generator's pauses",
            "share",
            tail("generator_stall"),
            of_cause="generator_stall",
        ),
        connect_tail=over("share of the tail: connecting", "share", tail("connect"), of_cause="connect"),
        unexplained_tail=over("share of the tail: unexplained", "share", tail("unexplained")),
        throttle_most=over(
            "most of the tail: CPU denied by a quota",
            "share",
            most("cgroup_throttle"),
            of_cause="cgroup_throttle",
        ),
        jit_most=over("most of the tail: compilers at work", "share", most("jit"), of_cause="jit"),
        run_queue_most=over(
            "most of the tail: waiting for a CPU", "share", most("run_queue"), of_cause="run_queue"
        ),
        cycles_per_s=over("collections at work beside the program", "1/s", lambda t: t.cycles_per_s, why=log),
        cycle_excess=over(
            f"share of requests beyond {quantile} that come with a collection at work",
            "share",
            excess,
            support=Support.REDUCTION,
            why=_why_no_excess(group, quantile),
        ),
    )


def _of_pauses(group: Sequence[TrialAttribution], estimate: Estimate) -> Estimate:
    """What is said of pauses where no trial had any: that, and not that something could not be placed."""
    if estimate.value is None and all(trial.n_pauses == 0 for trial in group):
        return estimate.model_copy(update={"warnings": ("no pause under load in any trial",)})
    return estimate


def _over(
    group: Sequence[TrialAttribution],
    what: str,
    unit: str,
    of: Quantity,
    level: float,
    why_nothing: str,
    support: Support | None,
) -> Estimate:
    found = [(trial, value) for trial in group if (value := of(trial)) is not None]
    if not found:
        return nothing(why_nothing, estimand=what, unit=unit, level=level)
    estimate = mean_within(
        [value for _, value in found],
        support=support,
        level=level,
        unit=unit,
        what=what,
        inputs=tuple(trial.trial for trial, _ in found),
    )
    if len(found) == 1 and len(group) > 1:
        why = f"one trial of {len(group)} speaks ({found[0][1]:.3g}), the others: {why_nothing}"
        return estimate.model_copy(update={"value": None, "low": None, "high": None, "warnings": (why,)})
    if len(found) < len(group):
        short = f"{len(group) - len(found)} of {len(group)} trials cannot say: {why_nothing}"
        return estimate.model_copy(update={"warnings": (*estimate.warnings, short)})
    return estimate


def _recorded(trial: TrialAttribution, cause: str) -> bool:
    return any(cause == name and source.recorded for name, source in trial.sources.items())


def _not_recorded(group: Sequence[TrialAttribution], cause: CauseName | None) -> str | None:
    """Return why a cause is not known of a group's trials, the commonest reason; ``None``: it is, of all."""
    if cause is None:
        return None
    why = Counter(trial.sources[cause].words for trial in group if not trial.sources[cause].recorded)
    return why.most_common(1)[0][0] if why else None


def _why_nothing(group: Sequence[TrialAttribution], quantile: str) -> str:
    if any(quantile not in trial.latency_s for trial in group):
        return f"too few requests beyond {quantile}"
    if any(trial.refused for trial in group):
        return "pauses too short to be placed, or clocks that do not allow it"
    return _TOO_FEW_CLEAR


def _why_no_excess(group: Sequence[TrialAttribution], quantile: str) -> str:
    """Return why nothing is said of collections beside the program: most collectors never work there."""
    why = _why_nothing(group, quantile)
    if why != _TOO_FEW_CLEAR:
        return why
    if not any(trial.exposure for trial in group):
        return "no collection at work beside the program"
    return "too few requests that met a collection at work, or too few that met none"


def _why_not_logged(group: Sequence[TrialAttribution]) -> str:
    """Return why a number that is read off the collector's log is missing."""
    why = Counter(trial.refused for trial in group if trial.n_pauses is None and trial.refused)
    return why.most_common(1)[0][0] if why else "no pause under load"


def share_over_trials(
    group: Sequence[TrialAttribution], way: Way, quantile: str, *, what: str, level: float
) -> Estimate:
    """Return the pooled share of the trials whose pauses could be laid over their requests.

    Where pauses are shorter than what their place is known to, the interval covers those with the pauses as far
    off as they may be, to the same side in all trials.

    Args:
        quantile: a name that ``attribute_trial`` was asked for. what: the estimand in words, and whose.
    """
    laid = [trial for trial in group if trial.without_pauses]
    short = _short(group, len(laid))
    if not laid:
        return nothing(*short, estimand=f"pooled {what}", unit="share", level=level)
    places = max(len(trial.without_pauses) for trial in laid)
    at_each = [
        pooled_share(
            # a trial whose pauses are long against what their place is known to has one place for all
            [trial.without_pauses[place % len(trial.without_pauses)] for trial in laid],
            way,
            laid[0].quantiles[quantile],
            what=what,
            level=level,
            inputs=tuple(trial.trial for trial in laid),
        )
        for place in range(places)
    ]
    refused = next((one for one in at_each if one.value is None), None)
    found = refused or (over_all_places(at_each[0], at_each[1:]) if places > 1 else at_each[0])
    if len(laid) == 1 < len(group):  # one trial does not speak for all
        return found.model_copy(update={"value": None, "warnings": short})
    return withheld(found.model_copy(update={"warnings": (*found.warnings, *short)}))


def _short(group: Sequence[TrialAttribution], n_laid: int) -> tuple[str, ...]:
    """How many trials are not among those pooled, and the commonest reason; nothing where all are."""
    if n_laid == len(group):
        return ()
    why, _ = Counter(trial.refused for trial in group if trial.refused).most_common(1)[0]
    return (f"{len(group) - n_laid} of {len(group)} trials cannot say: {why}",)
