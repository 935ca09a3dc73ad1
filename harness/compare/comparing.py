# SPDX-License-Identifier: Apache-2.0
"""The whole of a comparison: name the runs, read them, look for traps, judge; and limits on its ratios.

``--fail-if "p99 > 1.05"`` is what a program watches, such as a check of a pull request. A limit is exceeded where the
whole 95 % interval lies beyond it: a ratio that is only measured beyond it may come back below it with the next runs.
Where there is no interval nothing can be told, and that is not a pass.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.compare.judge import judge
from harness.compare.reading import read_run, runs_named
from harness.compare.result import METRICS, NAMES, Arms, Comparison, Row
from harness.compare.traps import ACCEPTABLE, TRAPS, find_traps
from harness.errors import InputError
from harness.formats.jtl_units import Decimal, LatencyUnit
from harness.model.digits import spoken
from harness.report.limits import PLACE, Checked, Limit, Outcome, judged, limit_of


_FORMS = "METRIC > RATIO, METRIC < RATIO or METRIC of LABEL > RATIO; metrics: "


def compare_files(
    a: Sequence[str],
    b: Sequence[str],
    *,
    skip_s: float = 0.0,
    accept: Collection[str] = (),
    latency_unit: LatencyUnit | None = None,
    decimal: Decimal | None = None,
) -> Comparison:
    """Compare two arms of runs, B over A.

    ``a`` and ``b``: words that name runs (:mod:`harness.compare.reading`). ``skip_s``: what to leave out at the
    beginning of each run. accept: traps that withhold nothing. Raises InputError: a word names nothing, a file
    cannot be read, or there is no such trap.
    """
    for name in accept:
        if name not in ACCEPTABLE:
            raise InputError(
                "leaves nothing to say" if name in TRAPS else "no such trap",
                place="--accept", found=name, allowed=", ".join(ACCEPTABLE),
            )  # fmt: skip
    left_out: list[str] = []
    arms = []
    for name, words in zip(NAMES, (a, b), strict=True):
        files, rest = runs_named(words, name)
        left_out += rest
        arms.append(
            tuple(read_run(file, skip_s=skip_s, latency_unit=latency_unit, decimal=decimal) for file in files)
        )
    return compare_runs((arms[0], arms[1]), accept=accept, remarks=left_out)


def compare_runs(arms: Arms, *, accept: Collection[str] = (), remarks: Sequence[str] = ()) -> Comparison:
    """Compare two arms of runs that were read already."""
    traps = find_traps(arms, accept=accept)
    warnings = [*remarks, *_about(arms)]
    return Comparison(
        arms=(tuple(arms[0]), tuple(arms[1])),
        rows=judge(arms, traps),
        traps=traps,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _about(arms: Arms) -> list[str]:
    runs = [run for some in arms for run in some]
    notes: dict[str, list[str]] = {}
    for run in runs:
        for warning in run.warnings:
            notes.setdefault(warning, []).append(run.name)
    remarks = [
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {note}"
        for note, names in notes.items()
    ]
    steps = {run.resolution_s for run in runs}
    if len(steps) > 1:
        remarks.append(
            "the tools' clocks have different steps; percentiles near them differ for that reason alone"
        )
    if len({source for run in runs for source in run.sources}) > 1:
        remarks.append("the runs are of different load tools, which measure time at different places")
    if any(run.start_epoch_s is None for run in runs):
        remarks.append("not every run says when it began, so their order is unknown")
    return remarks


def limit_named(text: str, metrics: Sequence[str] = METRICS) -> Limit:
    """Return the limit that a text such as ``p99 of GET /orders > 1.05`` means; ``metrics``: those that there are;
    raises InputError: it means none."""
    return limit_of(text, metrics, _ratio, _FORMS + ", ".join(metrics))


def _ratio(_metric: str, text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = float("nan")
    if not 0 < ratio < float("inf"):
        raise InputError("is no ratio", place=PLACE, found=text, allowed="a number above 0, such as 1.05")
    return ratio


def check_limit(limit: Limit, comparison: Comparison) -> Checked:
    """Return whether the ratio lies beyond the limit for sure; raises InputError: no run, or not every run, has such a
    label."""
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
