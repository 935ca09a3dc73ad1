# SPDX-License-Identifier: Apache-2.0
"""``--fail-if "p99 > 1.05"``: a limit on a ratio that a program watches, such as a check of a pull request.

A limit is exceeded where the whole 95 % interval lies beyond it: a ratio that is only measured beyond it may come
back below it with the next runs. Where there is no interval nothing can be told, and that is not a pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.compare.result import METRICS, Comparison, Row
from harness.errors import InputError
from harness.model.digits import spoken
from harness.report.limits import PLACE, Checked, Limit, Outcome, judged, limit_of

FORMS = "METRIC > RATIO, METRIC < RATIO or METRIC of LABEL > RATIO; metrics: "


def limit_named(text: str, metrics: Sequence[str] = METRICS) -> Limit:
    """Return the limit that a text such as ``p99 of GET /orders > 1.05`` means; ``metrics``: those that there are.

    Raises:
        InputError: it means none.
    """
    return limit_of(text, metrics, _ratio, f"{FORMS}{', '.join(metrics)}")


def _ratio(_metric: str, text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = float("nan")
    if not 0 < ratio < float("inf"):
        raise InputError("is no ratio", place=PLACE, found=text, allowed="a number above 0, such as 1.05")
    return ratio


def check_limit(limit: Limit, comparison: Comparison) -> Checked:
    """Return whether the ratio lies beyond the limit for sure.

    Raises:
        InputError: no run, or not every run, has such a label.
    """
    row = comparison.row(limit.metric, limit.label)
    if row is None:
        known = (
            ", ".join(label for label in comparison.labels if label is not None) or "none: all requests only"
        )
        raise InputError("no such label in every run", place=PLACE, found=limit.label, allowed=known)
    return check_row(limit, row)


def check_row(limit: Limit, row: Row) -> Checked:
    """Return whether the ratio of the limit's own row lies beyond it for sure."""
    outcome, why = _judged(limit, row)
    return Checked(limit=limit, outcome=outcome, text=f"{limit.text}: {outcome}: {why}")


def _judged(limit: Limit, row: Row) -> tuple[Outcome, str]:
    if row.verdict is None:
        return "cannot be told", row.why
    if row.metric == "errors" and row.a == 0:
        return _without_errors_in_a(limit, row)
    if row.ratio is None:
        return "cannot be told", row.why
    if row.low is None or row.high is None:
        retained = row.ratio <= limit.value if limit.sign == ">" else row.ratio >= limit.value
        return ("kept" if retained else "cannot be told"), row.why
    text = f"B over A {spoken(row.ratio, row.low, row.high)}"
    outcome = judged(limit, row.low, row.high)
    return ("not shown" if outcome == "cannot be told" else outcome), text


def _without_errors_in_a(limit: Limit, row: Row) -> tuple[Outcome, str]:
    """A ratio to nothing: none, or above any limit."""
    if row.b == 0:
        return "kept", "no request failed"
    if row.difference_low is None:
        return "cannot be told", row.why
    some = row.difference_low > 0 and limit.sign == ">"
    return ("exceeded" if some else "not shown"), "A has no errors, B has"
