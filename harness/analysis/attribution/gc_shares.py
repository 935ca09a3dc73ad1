# SPDX-License-Identifier: Apache-2.0
"""One variant's share of a quantile behind its pauses, pooled over its trials, wherever the pauses may have been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.analysis.attribution.placebo_shift import over_all_places
from harness.analysis.attribution.share_of_quantile import Way, pooled_share
from harness.analysis.attribution.trial import TrialAttribution
from harness.analysis.stats.estimates import withheld
from harness.model import Estimate


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
        return Estimate(
            value=None, level=level, unit="share", method="none", estimand=f"pooled {what}", n_trials=0, warnings=short
        )  # fmt: skip
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
