# SPDX-License-Identifier: Apache-2.0
"""The results of a session for a person: the trials, then a table for each metric. And the rows of a question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pandas as pd

from harness.analysis.stats.session_agreement import SessionAgreement
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.cli.lines import say, table, tally
from harness.evidence.metrics import FLAG_WORDS, METRICS, PROPORTIONAL, Metric
from harness.model import Outcome, Verdict
from harness.model.age import with_age
from harness.model.digits import whole_percent
from harness.model.formatting import DASH, show
from harness.model.phrases import capital, counted
from harness.rows.schema import factors_of, records
from harness.rows.session_results import Cell, Line, Results
from harness.rows.text import estimate_of, shown

#: Exclusion reasons that are printed; all of them stand in the JSON.
REASONS_SHOWN = 3
_NAMES = {metric.column: metric.name for metric in (*METRICS, PROPORTIONAL)}
#: Heads of the columns of :func:`cells_of`.
HEADS = ("variant", "value", "ratio", "95 % interval", "verdict")
#: Verdicts where a column has little room.
_SHORT = {
    Verdict.DIFFERENT: "different",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.DIFFERENT_BUT_NEGLIGIBLE: "negligible",
    Verdict.INCONCLUSIVE: "undecided",
    Verdict.NOT_ABOUT_SERVICES: "not about them",
}
_NUMBER = re.compile(r"\d+(\.\d+)?")


def print_results(results: Results) -> None:
    """Print the trials, the table of each metric, and what there is to doubt."""
    _print_trials(results)
    for metric in results.metrics:
        print()
        _print_metric(results, metric)
    if results.n_kept:
        print()
        _print_notes(results)


def print_conclusion(results: Results) -> None:
    """Print the trials, and the table of the session's first metric where it can have verdicts."""
    _print_trials(results)
    if results.conclusive and results.n_kept and results.metrics:
        _print_metric(results, results.metrics[0])


def _print_trials(results: Results) -> None:
    """Print how many trials there are, why others were left out, and flags."""
    made = counted(results.n_made, "trial")
    if results.n_made < results.n_planned:
        made = f"{results.n_made} of {counted(results.n_planned, 'planned trial')}"
    failed = f" ({tally(results.outcomes)})" if set(results.outcomes) - {Outcome.OK} else ""
    every = results.n_kept == results.n_made
    end = f" in {counted(results.n_blocks, 'block')}" if every else f", {results.n_kept} kept{failed}"
    print(f"{results.session}: {made}{end}")
    if not results.n_kept:
        say(f"No result: none of {counted(results.n_made, 'trial')} can be used ({tally(results.outcomes)}).")
    elif not results.conclusive:
        blocks = counted(results.n_blocks, "block")
        say(
            f"No conclusion can be drawn: profile {results.profile} checks that everything works, and has {blocks}."
        )
    if not every:
        _print_reasons(results)
    if results.flags and results.n_kept:
        flags = sorted(results.flags.items(), key=lambda pair: -pair[1])
        text = "; ".join(f"{FLAG_WORDS.get(flag, flag)}: {n}" for flag, n in flags)  # type: ignore[call-overload]
        say(f"Flagged trials of {results.n_made}: {text}.", hang="  ")


def _print_reasons(results: Results) -> None:
    """Print the reasons of trials that were left out; those that differ in numbers are one."""
    print(f"{counted(results.n_made - results.n_kept, 'trial')} left out:")
    alike: dict[str, tuple[str, int]] = {}
    for reason, n in results.exclusion_reasons.items():
        first, total = alike.get(_NUMBER.sub("#", reason), (reason, 0))
        alike[_NUMBER.sub("#", reason)] = (first, total + n)
    for reason, n in list(alike.values())[:REASONS_SHOWN]:
        vary = " (numbers vary)" if n > results.exclusion_reasons[reason] else ""
        say(f"{n} x {reason}{vary}", indent="  ", hang="      ")
    if len(alike) > REASONS_SHOWN:
        print(f"  and {counted(len(alike) - REASONS_SHOWN, 'more reason')}: --json has them")


def heading(metric: Metric) -> str:
    """Return the name of a metric, and which way is better."""
    return f"{metric.words}, {metric.better} is better"


def _print_metric(results: Results, metric: Metric) -> None:
    print(heading(metric))
    cells = results.cells(metric)
    if all(line.ratio is None for cell in cells for line in cell.lines):
        print_values(cells)
        return
    for cell in cells:
        if cell.levels:
            levels = (f"{factor.removeprefix('factor_')}={level}" for factor, level in cell.levels.items())
            say(", ".join(levels), indent="  ", hang="    ")
        rows = cells_of(cell, metric, conclusive=results.conclusive)
        print(table(HEADS, rows, right=(1, 2), indent="  "))


def cells_of(cell: Cell, metric: Metric, *, conclusive: bool) -> list[tuple[str, ...]]:
    """Return the rows of one cell under ``HEADS``, a variant each."""
    like = _middle(cell.lines)
    rows: list[tuple[str, ...]] = []
    for line in cell.lines:
        ratio = None if line.ratio is None else show(estimate_of(line.ratio))
        rows.append(
            (
                line.variant,
                _plain(show(estimate_of(line.mean), like=like).text),
                "1" if ratio is None else ratio.text,
                "" if ratio is None else ratio.bounds or DASH,
                _verdict(line, metric, conclusive=conclusive),
            )
        )
    return rows


def print_values(cells: Sequence[Cell]) -> None:
    """Print a table of the reference alone, a row per cell, under the names of the factors."""
    factors = [name.removeprefix("factor_") for name in cells[0].levels] or ["variant"]
    lines = [(tuple(cell.levels.values()) or (line.variant,), line) for cell in cells for line in cell.lines]
    like = _middle([line for _, line in lines])
    body = [(*levels, _plain(show(estimate_of(line.mean), like=like).interval)) for levels, line in lines]
    print(table((*factors, "value (95 % interval)"), body, indent="  "))


def _middle(lines: Sequence[Line]) -> float | None:
    """The magnitude in whose unit a column is printed."""
    sizes = sorted(abs(line.mean["value"]) for line in lines if line.mean["value"])
    return sizes[len(sizes) // 2] if sizes else None


def _plain(text: str) -> str:
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def _verdict(line: Line, metric: Metric, *, conclusive: bool) -> str:
    ratio = line.ratio
    if ratio is None:
        return "reference"
    if ratio["value"] is None:
        return "cannot be said"
    if not conclusive or ratio["n_blocks"] < FEWEST_FOR_P:
        return with_age(f"none ({counted(ratio['n_blocks'], 'block')})", line.young)
    margin = whole_percent(ratio["margin"] or 0)
    words = {
        Verdict.EQUIVALENT: f"equivalent (within {margin})",
        Verdict.DIFFERENT_BUT_NEGLIGIBLE: f"differs by less than {margin}",
        Verdict.NOT_ABOUT_SERVICES: "no verdict",
    }.get(Verdict(ratio["verdict"]), "not shown to differ")
    return with_age(line.sides_with(metric.better) or words, line.young)


def _print_notes(results: Results) -> None:
    say(
        f"value: mean over trials. ratio: variant over {results.reference}, paired by block, with its 95 % interval."
    )
    if results.draft:
        say(f"{capital(results.draft)}.")
    for variant, cells in results.runtime_cpus.items():
        say(f"CPUs that the runtime of {variant} goes by: {_in_cells(cells)}.", hang="  ")
    for line in _notes(results):
        say(f"- {line}", hang="  ")


def _in_cells(cells: Mapping[str, str]) -> str:
    """What is the same in every cell is said once."""
    if len(set(cells.values())) == 1:
        return next(iter(cells.values()))
    return "; ".join(f"{text} ({cell})" for cell, text in cells.items())


def _notes(results: Results) -> list[str]:
    """Return warnings of the comparisons; of several that differ in numbers and variants alone the first."""
    notes: dict[str, tuple[str, dict[str, None], dict[str, None]]] = {}
    for row in records(results.rows[results.rows["kind"] == "ratio"]):
        for warning in row["warnings"]:
            if "flagged" in warning or warning.endswith("trials excluded"):
                continue  # counted above
            alike = _NUMBER.sub("#", warning.removeprefix(f"{row['variant']}: "))
            _, metrics, texts = notes.setdefault(alike, (warning, {}, {}))
            metrics[row["name"]] = None
            texts[warning] = None
    return [
        f"{', '.join(metrics)}: {first}" + (f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else "")
        for first, metrics, texts in notes.values()
    ]


def print_agreement(session: str, agreement: SessionAgreement) -> None:
    """Print on how many verdicts two sessions agree, and each verdict on which they do not."""
    print()
    say(f"Against {session}: {agreement_words(agreement)}.")
    if agreement.n(changed=True):
        text = agreement_words(agreement, changed=True)
        say(f"Of programs built from other sources ({', '.join(agreement.changed)}): {text}.")
    levels = [pair.first.levels for pair in agreement.pairs]
    varying = [name for name in (levels[0] if levels else ()) if len({each.get(name) for each in levels}) > 1]
    for kind in ("contradict", "one undecided"):
        rows = [
            (
                pair.first.variant,
                ", ".join((_NAMES[pair.first.metric], *(pair.first.levels[name] for name in varying))),
                *(
                    with_age(f"{show(item.ratio).text} {_SHORT[item.verdict]}", item.young)
                    for item in (pair.first, pair.second)
                ),
            )
            for pair in agreement.pairs
            if pair.kind == kind
        ]
        if rows:
            print(f"{kind}:")
            print(table(("variant", "metric", "here", "there"), rows, indent="  "))


def agreement_words(agreement: SessionAgreement, *, changed: bool = False) -> str:
    """Return how many verdicts agree, contradict, and are decided by one session or none; kinds without pairs
    omitted."""
    counts = agreement.counts(changed=changed)
    words = [f"{counts['agree']} of {sum(counts.values())} verdicts agree"]
    if counts["contradict"] or counts["one undecided"]:
        words.append(f"{counts['contradict'] or 'none'} contradict")
    if counts["one undecided"]:
        words.append(f"in {counts['one undecided']} at most one session decides")
    if n_neither := agreement.n_undecided_in_both(changed=changed):
        words.append(f"in {n_neither} of those that agree neither session decides")
    return ", ".join(words)


def print_rows(rows: pd.DataFrame) -> None:
    """Print the rows of a question, a table for each result."""
    for place, (result, group) in enumerate(rows.groupby(["name", "kind"], sort=False)):
        print(*[""] * bool(place), ", ".join(map(str, result)), sep="\n")
        compared = bool(group["verdict"].notna().any())
        factors = [name for name in factors_of(group) if group[name].notna().any()]
        columns = ["label"] * bool(group["label"].notna().any()) + factors + ["shown"]
        renamed = {"label": "variant", "shown": "value"}
        heads = [renamed.get(name, name) for name in columns] + ["says", "blocks", "over"] * compared
        lines = []
        for row in records(shown(group)):
            says = [row["says"] if row["verdict"] else None, row["n_blocks"], row["reference"]] * compared
            lines.append([str(value or DASH) for value in (*(row[name] for name in columns), *says)])
        print(table(heads, lines, indent="  "))
