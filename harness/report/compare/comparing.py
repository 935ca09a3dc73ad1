# SPDX-License-Identifier: Apache-2.0
"""The whole of a comparison: name the runs, read them, look for traps, judge; and limits on its ratios.

``--fail-if "p99 > 1.05"`` is what a program watches, such as a check of a pull request. A limit is exceeded where the
whole 95 % interval lies beyond it: a ratio that is only measured beyond it may come back below it with the next runs.
Where there is no interval nothing can be told, and that is not a pass.

B over A: Welch's t of the logarithms of one number a run. Shares of errors may be zero, so they are compared as they
are: Fieller's ratio, and Welch's t of the difference, which leaves out 0 exactly where that ratio leaves out 1.
The p-values of all rows together are adjusted by Benjamini and Hochberg: where the arms are alike, one comparison in
twenty at most says *different* of anything at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.effects import effect_size_ci, equivalence_interval
from harness.analysis.stats.inputs import Floats, judge_resolution
from harness.analysis.stats.verdicts import ALPHA, FEWEST_FOR_P, adjust_pvalues, decide, default_margin
from harness.errors import InputError
from harness.formats.jtl_units import NOTHING_SAID, NumberStyle
from harness.model import Estimate, Verdict
from harness.model.digits import plain, spoken, whole_percent
from harness.report.compare.reading import read_run, runs_named
from harness.report.compare.result import LATENCIES, METRICS, NAMES, QUANTILES, Arms, Comparison, Row, Trap
from harness.report.compare.traps import ACCEPTABLE, TRAPS, find_traps
from harness.report.limits import PLACE, Checked, Limit, Outcome, judged, limit_of
from harness.report.words import resolution

_FORMS = "METRIC > RATIO, METRIC < RATIO or METRIC of LABEL > RATIO; metrics: "


def compare_files(
    a: Sequence[str],
    b: Sequence[str],
    *,
    skip_s: float = 0.0,
    accept: Collection[str] = (),
    how: NumberStyle = NOTHING_SAID,
) -> Comparison:
    """Compare two arms of runs, B over A.

    ``a`` and ``b``: words that name runs (:mod:`harness.report.compare.reading`). ``skip_s``: what to leave out at the
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
        arms.append(tuple(read_run(file, skip_s=skip_s, how=how) for file in files))
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


LEVEL, LEVEL_OF_EQUIVALENCE = 0.95, 0.90
#: Shares of errors within this of each other count as equal: one request in a thousand.
ERRORS_MARGIN = 0.001
ERRORS_MARGIN_WORDS = "0.1 percentage points"


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A row before its family is known.

    ``judged``: what the verdict is read from, at both levels. ``seen``: traps in the files of the runs that have no
    value.
    """

    row: Row
    seen: frozenset[str] = frozenset()
    judged: tuple[Estimate, Estimate] | None = None
    p: float | None = None
    note: str | None = None


def judge(arms: Arms, traps: Sequence[Trap]) -> tuple[Row, ...]:
    """Return one row a metric, of all requests and then of each label that every run has.

    ``traps``: those found; they withhold verdicts.
    """
    drafts = [_draft(arms, label, metric) for label in _labels(arms) for metric in METRICS]
    adjusted = adjust_pvalues([draft.p for draft in drafts], method="bh")
    n_family = sum(draft.p is not None for draft in drafts)
    n_runs = min(len(runs) for runs in arms)
    return tuple(
        _decided(draft, p, n_family=n_family, n_runs=n_runs, traps=traps)
        for draft, p in zip(drafts, adjusted, strict=True)
    )


def _labels(arms: Arms) -> list[str | None]:
    """All requests first, then the names that every run has values of, in the order of A's first run."""
    in_every = set.intersection(*({label for label, _ in run.values} for runs in arms for run in runs))
    return [None, *(label for label in arms[0][0].labels if label in in_every)]


def _draft(arms: Arms, label: str | None, metric: str) -> _Draft:
    values = [[run.values.get((label, metric)) for run in runs] for runs in arms]
    row = Row(metric=metric, label=label, a=_middle(values[0], metric), b=_middle(values[1], metric))
    without = [run for runs in arms for run in runs if (label, metric) not in run.values]
    if without:
        n = sum(map(len, arms))
        why = without[0].reasons.get((label, metric), "not in the file")
        more = f" (missing in {len(without)} of {n} runs)" if len(without) < n else ""
        seen = frozenset(name for run in without for name in run.symptoms)
        return _Draft(row=row.model_copy(update={"why": why + more}), seen=seen)
    a, b = (np.array(arm, dtype=np.float64) for arm in values)
    if metric == "errors":
        return _errors(row, a, b)
    note = None
    if metric in LATENCIES:
        step_s = max(run.resolution_s for runs in arms for run in runs)
        typical = min(float(np.median(a)), float(np.median(b)))
        worth, steps, _ = judge_resolution(typical, step_s, "quantile" if metric in QUANTILES else "mean")
        clock = f"the tool's clock of {resolution(1e3 * step_s)}"
        if worth == "refused":
            return _Draft(row=row.model_copy(update={"why": f"below two steps of {clock}"}))
        if worth == "coarse":
            note = f"{plain(steps or 0.0, 2)} steps of {clock}: the ratio may be off"
    if min(a.min(), b.min()) <= 0:
        return _Draft(row=row.model_copy(update={"why": "zero in a run: no ratio"}))
    ratio = effect_size_ci(b, a, paired=False, estimator="welch_log_t", level=LEVEL)
    row = row.model_copy(update={"ratio": ratio.value, "low": ratio.low, "high": ratio.high})
    if ratio.low is None:
        return _Draft(row=row, note=note)
    within = equivalence_interval(b, a, paired=False)
    return _Draft(row=row, judged=(ratio, within), p=_p(np.log(b), np.log(a)), note=note)


def _middle(values: Sequence[float | None], metric: str) -> float | None:
    """The middle of an arm: geometric mean over runs, of shares of errors the arithmetic one."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(known) or len(known) < len(values):
        return None
    if metric == "errors" or (known <= 0).any():
        return float(known.mean())
    return float(np.exp(np.log(known).mean()))


def _errors(row: Row, a: Floats, b: Floats) -> _Draft:
    """Shares: the difference decides, the ratio is shown where A has errors."""
    changes: dict[str, float | None] = {"difference": float(b.mean() - a.mean())}
    if a.mean() > 0:
        ratio = effect_size_ci(b, a, paired=False, estimator="fieller", level=LEVEL)
        changes |= {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
    if min(len(a), len(b)) < 2 or (intervals.is_constant(a) and intervals.is_constant(b)):
        return _Draft(row=row.model_copy(update=changes))
    wide, narrow = (_shifted(a, b, level) for level in (LEVEL, LEVEL_OF_EQUIVALENCE))
    assert wide.low is not None and wide.high is not None  # there is variation
    changes |= {"difference_low": wide.low - 1, "difference_high": wide.high - 1}
    return _Draft(row=row.model_copy(update=changes), judged=(wide, narrow), p=_p(b, a))


def _shifted(a: Floats, b: Floats, level: float) -> Estimate:
    """1 + the difference of shares, so that the rule of ratios reads it: near 1 both have the same margins."""
    bounds = intervals.two_sample(b, a, level)
    return Estimate(
        value=1 + float(bounds.centre), low=1 + float(bounds.low), high=1 + float(bounds.high), level=level,
        unit="", method="Welch t over runs", estimand="1 + difference of shares of errors", n_trials=a.size + b.size,
    )  # fmt: skip


def _p(x: Floats, y: Floats) -> float | None:
    """Welch's two-sided p; ``None``: fewer runs than a p-value needs."""
    if min(len(x), len(y)) < FEWEST_FOR_P:
        return None
    error, degrees = intervals.two_sample_error(x, y)
    return float(intervals.t_two_sided_p((x.mean() - y.mean()) / error, degrees))


def _decided(draft: _Draft, p: float | None, *, n_family: int, n_runs: int, traps: Sequence[Trap]) -> Row:
    row = draft.row
    stops = [t for t in traps if row.metric in t.withholds and not (t.totals_only and row.label is not None)]
    if row.why:  # no value: a trap withholds it only where the files without it show that trap
        stop = next((t for t in stops if t.name in draft.seen), None)
        return row if stop is None else row.model_copy(update={"why": f"no verdict: {stop.name}, {row.why}"})
    margin = ERRORS_MARGIN if row.metric == "errors" else default_margin(row.metric)
    row = row.model_copy(update={"margin": margin})
    if stops:
        stop = stops[0]
        why = stop.text.split(";")[0] if stop.name == "one_run" else f"no verdict: {stop.name}"
        return row.model_copy(update={"why": why})
    if draft.judged is None:
        if row.metric == "errors" and row.a == row.b == 0:
            return row.model_copy(update={"verdict": Verdict.EQUIVALENT, "why": "no request failed"})
        return row.model_copy(update={"verdict": Verdict.INCONCLUSIVE, "why": "all runs have the same value"})
    text = decide(*draft.judged, n_blocks=n_runs, margin=margin, p_adjusted=p, p_has_least=False)
    why = _why(draft, text.verdict, p, margin=margin, n_family=n_family, n_runs=n_runs)
    if draft.note is not None:
        why += f"; {draft.note}"
    return row.model_copy(update={"verdict": text.verdict, "p_adjusted": p, "why": why})


def _why(
    draft: _Draft, verdict: Verdict, p: float | None, *, margin: float, n_family: int, n_runs: int
) -> str:
    if p is None:
        return f"{n_runs} runs in an arm, fewer than {FEWEST_FOR_P}"
    of_errors = draft.row.metric == "errors"
    within = ERRORS_MARGIN_WORDS if of_errors else whole_percent(margin)
    interval, none = ("the interval of the difference", "0") if of_errors else ("the interval", "1")
    adjusted = f"adjusted p {'< 0.001' if p < 1e-3 else '= ' + plain(p, 2)}"
    if verdict is Verdict.DIFFERENT:
        return f"{interval} leaves out {none}, {adjusted}"
    if verdict is Verdict.EQUIVALENT:
        return f"equal within {within}"
    if verdict is Verdict.DIFFERENT_BUT_NEGLIGIBLE:
        return f"{interval} leaves out {none}, {adjusted}, but lies within {within}"
    if draft.p is not None and draft.p <= ALPHA:
        return f"different by itself, not among {n_family} rows ({adjusted})"
    return f"{interval} holds {none} and reaches beyond {within}"
