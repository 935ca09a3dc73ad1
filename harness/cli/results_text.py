# SPDX-License-Identifier: Apache-2.0
"""The results of a session for a person: who is ahead, by how much, how sure; then a table per metric."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from harness.analysis.stats.session_agreement import SessionAgreement
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.cli.lines import say, table, tally
from harness.compare.words import escaped, limit_words
from harness.evidence.results import (
    FLAG_WORDS,
    METRICS,
    PROPORTIONAL,
    CellResult,
    Metric,
    MetricResult,
    Results,
    VariantResult,
    counts_in_words,
)
from harness.model import Outcome, Verdict
from harness.model.age import with_age
from harness.model.digits import whole_percent
from harness.model.formatting import DASH, NOT_ABOUT, show
from harness.model.phrases import capital, counted

if TYPE_CHECKING:  # a duel loads all that measures
    from harness.duel import Agreement, Side
    from harness.report.limits import Checked

#: Exclusion reasons that are printed; all of them stand in the JSON.
REASONS_SHOWN = 3
_NAMES = {metric.column: metric.name for metric in (*METRICS, PROPORTIONAL)}
#: What stands above the columns of :func:`cells`.
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
    """Print all of it: the conclusion first, then the tables, then what there is to doubt."""
    print_conclusion(results)
    for item in results.metrics:
        print()
        print(_heading(item.metric))
        if _alone(item):
            _print_values(item)
            continue
        for cell in item.cells:
            _print_cell(cell, item.metric, conclusive=results.conclusive)
    if results.n_kept:
        print()
        _print_notes(results)


def print_agreement(session: str, agreement: SessionAgreement) -> None:
    """Print on how many verdicts two sessions agree, and each verdict on which they do not."""
    print()
    say(f"Against {session}: {counts_in_words(agreement)}.")
    if agreement.n(changed=True):
        text = counts_in_words(agreement, changed=True)
        say(f"Of programs built from other sources ({', '.join(agreement.changed)}): {text}.")
    shown = [
        level
        for level in _levels(agreement)
        if len({pair.first.levels.get(level) for pair in agreement.pairs}) > 1
    ]
    for kind in ("contradict", "one undecided"):
        rows = [
            (
                pair.first.variant,
                ", ".join((_NAMES[pair.first.metric], *(pair.first.levels[level] for level in shown))),
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


def _levels(agreement: SessionAgreement) -> list[str]:
    return list(dict.fromkeys(level for pair in agreement.pairs for level in pair.first.levels))


def print_conclusion(results: Results) -> None:
    """Print the trials, and who is ahead in the session's first metric; what fails or is flagged is counted."""
    print(f"{results.session}: {_trials(results)}")
    if not results.n_kept:
        say(f"No result: none of {counted(results.n_made, 'trial')} can be used ({tally(results.outcomes)}).")
        _print_reasons(results)
        return
    if not results.conclusive:
        blocks = counted(results.n_blocks, "block")
        say(
            f"No conclusion can be drawn: profile {results.profile} checks that everything works, and has {blocks}."
        )
    elif results.metrics:
        _print_winners(results)
    if results.n_made > results.n_kept:
        _print_reasons(results)
    if results.flags:
        text = "; ".join(f"{FLAG_WORDS.get(flag, flag)}: {n}" for flag, n in _flags(results))  # type: ignore[call-overload]
        say(f"Flagged trials of {results.n_made}: {text}.", hang="  ")


def _trials(results: Results) -> str:
    made = counted(results.n_made, "trial")
    if results.n_made < results.n_planned:
        made = f"{results.n_made} of {counted(results.n_planned, 'planned trial')}"
    if results.n_kept == results.n_made:
        return f"{made} in {counted(results.n_blocks, 'block')}"
    failed = f" ({tally(results.outcomes)})" if set(results.outcomes) - {Outcome.OK} else ""
    return f"{made}, {results.n_kept} kept{failed}"


def _flags(results: Results) -> list[tuple[str, int]]:
    return sorted(results.flags.items(), key=lambda pair: -pair[1])


def _print_reasons(results: Results) -> None:
    n = results.n_made - results.n_kept
    print(f"{counted(n, 'trial')} left out:")
    alike: dict[str, tuple[str, int]] = {}
    for reason, count in results.exclusion_reasons.items():
        first, total = alike.get(_NUMBER.sub("#", reason), (reason, 0))
        alike[_NUMBER.sub("#", reason)] = (first, total + count)
    for reason, count in list(alike.values())[:REASONS_SHOWN]:
        say(
            f"{count} x {reason}" + (" (numbers vary)" if count > results.exclusion_reasons[reason] else ""),
            indent="  ",
            hang="      ",
        )
    if len(alike) > REASONS_SHOWN:
        print(f"  and {counted(len(alike) - REASONS_SHOWN, 'more reason')}: --json has them")


def _heading(metric: Metric) -> str:
    return f"{metric.words}, {metric.better} is better"


def _print_winners(results: Results) -> None:
    first = results.metrics[0]
    heading = _heading(first.metric)
    if _alone(first):
        say(f"Only {results.reference} has results: there is nothing to compare it with.")
        return
    say(f"{capital(heading)}; ratio to {results.reference} (95 % interval):")
    for cell in first.cells:
        say(_winner(cell, first.metric, results.reference), indent="  ", hang="    ")


def _alone(result: MetricResult) -> bool:
    """No variant but the reference has results."""
    return all(row.comparison is None for cell in result.cells for row in cell.variants)


def _winner(cell: CellResult, metric: Metric, reference: str) -> str:
    """One sentence per cell: which variants are better or worse than the reference, with ratio and interval."""
    undecided = [row for row in cell.variants if _is(row, Verdict.INCONCLUSIVE) and _has_ratio(row)]
    groups = (
        (
            f"better than {reference}",
            [row for row in cell.variants if row.sides_with(metric.better) == "better"],
        ),
        (
            f"worse than {reference}",
            [row for row in cell.variants if row.sides_with(metric.better) == "worse"],
        ),
        (
            f"negligibly different from {reference}",
            [row for row in cell.variants if _is(row, Verdict.DIFFERENT_BUT_NEGLIGIBLE)],
        ),
        (f"equivalent to {reference}", [row for row in cell.variants if _is(row, Verdict.EQUIVALENT)]),
        (
            f"not shown to differ from {reference}",
            [row for row in undecided if not _of_too_few(row)],
        ),
        (
            f"fewer than {FEWEST_FOR_P} blocks, so no verdict",
            [row for row in undecided if _of_too_few(row)],
        ),
        (
            NOT_ABOUT,
            [row for row in cell.variants if _is(row, Verdict.NOT_ABOUT_SERVICES) and _has_ratio(row)],
        ),
    )
    text = "; ".join(f"{head}: {_listed(rows)}" for head, rows in groups if rows)
    without = [row.variant for row in cell.variants if row.comparison is not None and not _has_ratio(row)]
    if without:
        text += ("; " if text else "") + f"no ratio: {', '.join(without)}"
    place = _place(cell)
    return (f"{place}: " if place else "") + (text or f"no variant to compare with {reference}") + "."


def _place(cell: CellResult) -> str:
    return ", ".join(f"{factor.removeprefix('factor_')}={level}" for factor, level in cell.levels.items())


def _is(row: VariantResult, verdict: Verdict) -> bool:
    return row.comparison is not None and row.comparison.verdict is verdict


def _of_too_few(row: VariantResult) -> bool:
    """Return whether a comparison has fewer blocks than any verdict needs."""
    return row.comparison is not None and row.comparison.n_blocks < FEWEST_FOR_P


def _has_ratio(row: VariantResult) -> bool:
    return row.comparison is not None and row.comparison.ratio.value is not None


def _listed(rows: Sequence[VariantResult]) -> str:
    return ", ".join(f"{row.variant} {_ratio(row)} ({with_age(_interval(row), row.young)})" for row in rows)


def _ratio(row: VariantResult) -> str:
    return DASH if row.comparison is None else show(row.comparison.ratio).text


def _interval(row: VariantResult) -> str:
    return (show(row.comparison.ratio).bounds if row.comparison else "") or DASH


def _print_cell(cell: CellResult, metric: Metric, *, conclusive: bool) -> None:
    if cell.levels:
        say(_place(cell), indent="  ", hang="    ")
    rows = cells(cell, metric, conclusive=conclusive)
    print(table(HEADS, rows, right=(1, 2), indent="  "))


def cells(cell: CellResult, metric: Metric, *, conclusive: bool) -> list[tuple[str, ...]]:
    """Return the rows of one cell under ``HEADS``, a variant each."""
    like = _middle(cell.variants)
    return [
        (
            row.variant,
            _plain(show(row.estimate, like=like).text),
            _ratio(row) if row.comparison else "1",
            _interval(row) if row.comparison else "",
            _verdict(row, metric, conclusive=conclusive),
        )
        for row in cell.variants
    ]


def _print_values(result: MetricResult) -> None:
    """Print a table of the reference alone, a row per cell, under the names of the factors."""
    rows = [
        (tuple(cell.levels.values()) or (row.variant,), row) for cell in result.cells for row in cell.variants
    ]
    like = _middle([row for _, row in rows])
    print(table(values_heads(result), [(*levels, _value(row, like)) for levels, row in rows], indent="  "))


def values_heads(result: MetricResult) -> tuple[str, ...]:
    """Return what stands above a table of the reference alone: the name of each factor, then the value."""
    factors = tuple(result.cells[0].levels) if result.cells else ()
    return (*(name.removeprefix("factor_") for name in factors or ("variant",)), "value (95 % interval)")


def _value(row: VariantResult, like: float | None) -> str:
    return _plain(show(row.estimate, like=like).interval)


def _middle(rows: Sequence[VariantResult]) -> float | None:
    """The magnitude in whose unit a column is printed."""
    sizes = sorted(abs(row.estimate.value) for row in rows if row.estimate.value)
    return sizes[len(sizes) // 2] if sizes else None


def _plain(text: str) -> str:
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def _verdict(row: VariantResult, metric: Metric, *, conclusive: bool) -> str:
    result = row.comparison
    if result is None:
        return "reference"
    if result.ratio.value is None:
        return "cannot be said"
    if not conclusive or _of_too_few(row):
        return with_age(f"none ({counted(result.n_blocks, 'block')})", result.young)
    side = row.sides_with(metric.better)
    words = {
        Verdict.EQUIVALENT: f"equivalent (within {whole_percent(result.margin or 0)})",
        Verdict.DIFFERENT_BUT_NEGLIGIBLE: f"differs by less than {whole_percent(result.margin or 0)}",
        Verdict.NOT_ABOUT_SERVICES: "no verdict",
    }.get(result.verdict, "not shown to differ")
    return with_age(side or words, result.young)


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
    for item in results.metrics:
        for cell in item.cells:
            for row in cell.variants:
                for warning in row.comparison.warnings if row.comparison else ():
                    if "flagged" in warning or warning.endswith("trials excluded"):
                        continue  # counted above
                    alike = _NUMBER.sub("#", warning.removeprefix(f"{row.variant}: "))
                    _, metrics, texts = notes.setdefault(alike, (warning, {}, {}))
                    metrics[item.metric.name] = None
                    texts[warning] = None
    return [
        f"{', '.join(metrics)}: {first}" + (f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else "")
        for first, metrics, texts in notes.values()
    ]


def duel_markdown(
    sides: tuple[Side, Side], agreed: Agreement, results: Results | None, checked: Sequence[Checked]
) -> str:
    """Return what both versions are, where their answers differ, limits, and a table of all metrics."""
    before, after = sides
    lines = [f"**{escaped(after.label)} against {escaped(before.label)}**", ""]
    lines += [
        f"- `{side.label}`: {escaped(', '.join(filter(None, (side.what, side.remark))))}" for side in sides
    ]
    n_alike = agreed.n_cases - len(agreed.cases)
    lines.append(f"- answers: {n_alike} of {agreed.n_cases} cases as recorded")
    for label, faults in agreed.differences.items():
        lines += [f"- {escaped(label)}: {escaped(case)}: {escaped(text)}" for case, text in faults.items()]
    lines += [f"- {escaped(limit_words(item))}" for item in checked]
    if results is None:
        return "\n".join([*lines, "- not measured"]) + "\n"
    lines += ["", "| metric | " + " | ".join(HEADS) + " |", "|---|---|--:|--:|---|---|"]
    for item in results.metrics:
        for cell in item.cells:
            for row in cells(cell, item.metric, conclusive=results.conclusive):
                name = f"{item.metric.words}, {item.metric.better} is better"
                lines.append("| " + " | ".join(map(escaped, (name, *row))) + " |")
    retained = f"{results.n_kept} of {results.n_made} trials in {results.n_blocks} blocks"
    return "\n".join([*lines, "", f"- session {escaped(results.session)}: {retained}"]) + "\n"
