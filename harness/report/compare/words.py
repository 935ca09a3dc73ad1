# SPDX-License-Identifier: Apache-2.0
"""The sentences and tables that text, Markdown and page of a comparison share, and its Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.model import Verdict
from harness.model.digits import percent, plain, spoken
from harness.model.formatting import counted
from harness.report.compare.result import NAMES, Comparison, Row
from harness.report.limits import Checked
from harness.report.words import NOT_SAID, Table

PAGE = Path(__file__).with_name("templates") / "compare.html.jinja"
#: What stands above the columns of :func:`cells`.
HEADS = ("metric", "A", "B", "B over A (95 %)", "verdict", "why")
_UNITS = {"throughput": "throughput, 1/s", "errors": "errors"}
_MOST_ORDER = 40


def verdict(comparison: Comparison) -> str:
    """Return the verdict on all requests in one short line: which arm is better, and by how much in one metric."""
    rows = [row for row in comparison.rows if row.label is None]
    differ = [row for row in rows if row.verdict is Verdict.DIFFERENT]
    better = [row for row in differ if _is_better(row)]
    if not any(row.verdict is not None for row in rows):
        return f"No verdict: {', '.join(trap.name.replace('_', ' ') for trap in comparison.traps if trap.withholds)}"
    if not differ:
        same = {Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE}
        equal = all(row.verdict in same for row in rows if row.verdict is not None)
        return "A and B are equivalent" if equal else "No difference between A and B is shown"
    if 0 < len(better) < len(differ):
        worse = next(row for row in differ if row not in better)
        return f"B is better than A in {better[0].metric}, worse in {worse.metric}"
    row = differ[0]
    return f"B is {'better' if better else 'worse'} than A: {row.metric} {_ratio_words(row)}"


def _is_better(row: Row) -> bool:
    """Whether B's value is the better one: more throughput, or less of anything else."""
    more = (row.b or 0.0) > (row.a or 0.0)
    return more if row.metric == "throughput" else not more


def summary(comparison: Comparison) -> str:
    """Return the answer in one sentence: what differs, what is equal, what is open."""
    rows = [row for row in comparison.rows if row.label is None]
    n = [len(runs) for runs in comparison.arms]
    parts = [f"B against A, {n[1]} and {counted(n[0], 'run')}"]
    named = {verdict: [row for row in rows if row.verdict is verdict] for verdict in Verdict}
    differ = named[Verdict.DIFFERENT]
    if differ:
        parts.append("different: " + ", ".join(f"{row.metric} {_ratio_words(row)}" for row in differ))
    parts += [
        f"{verdict.words}: " + ", ".join(row.metric for row in named[verdict])
        for verdict in (Verdict.DIFFERENT_BUT_NEGLIGIBLE, Verdict.EQUIVALENT, Verdict.INCONCLUSIVE)
        if named[verdict]
    ]
    rest = [row for row in rows if row.verdict is None]
    if len(rest) == len(rows):
        parts.append(f"no verdict ({', '.join(trap.name for trap in comparison.traps if trap.withholds)})")
    elif rest:
        parts.append("no verdict: " + ", ".join(row.metric for row in rest))
    of_labels = [row for row in comparison.rows if row.label is not None and row.verdict is Verdict.DIFFERENT]
    if of_labels:
        parts.append(f"{counted(len(of_labels), 'row')} of single requests different")
    return "; ".join(parts) + "."


def cells(row: Row, *, units: bool = True) -> tuple[str, ...]:
    """Return a row under ``HEADS``: times in milliseconds, errors in percent; ``units``: beside the metric."""
    name = _UNITS.get(row.metric, f"{row.metric}, ms") if units else row.metric
    verdict = NOT_SAID if row.verdict is None else row.verdict.words
    return name, value(row, row.a), value(row, row.b), _ratio_words(row) or NOT_SAID, verdict, row.why


def value(row: Row, number: float | None) -> str:
    """Return one arm's value in the unit of its metric; a dash for what cannot be said."""
    if number is None:
        return NOT_SAID
    if row.metric == "errors":
        return "none" if number == 0 else percent(number)
    return plain(number if row.metric == "throughput" else 1e3 * number)


def _ratio_words(row: Row) -> str:
    if row.ratio is not None:
        return spoken(row.ratio, row.low, row.high)
    if row.metric == "errors" and row.b and row.difference is not None:
        low, high = (None if end is None else 100 * end for end in (row.difference_low, row.difference_high))
        return spoken(100 * row.difference, low, high) + " points"
    return ""


def order(comparison: Comparison) -> str | None:
    """Return the arms in the order in which their runs began, such as ``A B B A``; ``None``: unknown."""
    if comparison.order is None:
        return None
    names = [name for name, _ in comparison.order]
    return " ".join(names[:_MOST_ORDER]) + (" ..." if len(names) > _MOST_ORDER else "")


def arm(comparison: Comparison, place: int) -> str:
    """Return what one arm is: its runs, requests and tools."""
    runs = comparison.arms[place]
    tools = ", ".join(dict.fromkeys(source for run in runs for source in run.sources))
    requests = counted(sum(run.n_requests for run in runs), "request")
    kinds = {(run.loop, run.users) for run in runs}
    loop = ""
    if len(kinds) == 1:
        kind, users = kinds.pop()
        loop = (
            ""
            if kind == "cannot say"
            else f", {kind} loop" + (f" of {counted(users, 'user')}" if users else "")
        )
    shown = runs[0].name if len(runs) == 1 else f"{runs[0].name} ... {runs[-1].name}"
    return f"{NAMES[place]}: {counted(len(runs), 'run')}, {requests}, {tools}{loop}: {shown}"


def label_name(label: str | None) -> str:
    """Return the heading of a label's rows."""
    return "all requests" if label is None else label or "(no name)"


def limit_words(checked: Checked) -> str:
    """Return one limit of ``--fail-if`` with its outcome."""
    return f"limit {checked.text}"


_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|~"} | {"\n": " ", "\r": " "})


def tables(comparison: Comparison) -> list[Table]:
    """Return the table of all requests, and one of each name."""
    return [
        Table(
            label_name(label),
            HEADS,
            [cells(row) for row in comparison.rows if row.label == label],
            texts=(0, 4, 5),
        )
        for label in comparison.labels
    ]


def render_markdown(comparison: Comparison, checked: Sequence[Checked] = ()) -> str:
    """Return the comparison: its summary, limits and traps, then a table; those of labels are folded."""
    lines = [f"**{escaped(summary(comparison))}**", ""]
    lines += [f"- {escaped(limit_words(item))}" for item in checked]
    lines += [f"- trap `{trap.name}`: {escaped(trap.text)}" for trap in comparison.traps]
    if checked or comparison.traps:
        lines.append("")
    overall, *labels = tables(comparison)
    lines += _markdown(overall)
    if labels:
        lines += ["", "<details><summary>By request</summary>", ""]
        for shown in labels:
            lines += [f"**{escaped(shown.title)}**", "", *_markdown(shown), ""]
        lines.append("</details>")
    in_order = order(comparison)
    lines += ["", *(f"- {escaped(arm(comparison, place))}" for place in (0, 1))]
    lines += [f"- order of the runs: {in_order}"] if in_order else []
    lines += [f"- {escaped(warning)}" for warning in comparison.warnings]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return text that Markdown and its HTML show as it is: names of requests come from files."""
    return text.replace("&", "&amp;").translate(_SPECIAL).replace("@", "@\u200b")


def _markdown(table: Table) -> list[str]:
    aligned = ["---" if place in table.texts else "--:" for place in range(len(table.heads))]
    return [
        "| " + " | ".join(table.heads) + " |",
        "|" + "|".join(aligned) + "|",
        *("| " + " | ".join(map(escaped, row)) + " |" for row in table.rows),
    ]
