# SPDX-License-Identifier: Apache-2.0
"""The results of a session for a person: who is ahead, by how much, how sure; then a table per metric. And the rows of
a question."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from harness.analysis.stats.session_agreement import SessionAgreement
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.cli.lines import say, table, tally
from harness.errors import InputError
from harness.evidence.metrics import FLAG_WORDS, METRICS, PROPORTIONAL, Metric
from harness.model import Outcome, Verdict
from harness.model.age import with_age
from harness.model.digits import whole_percent
from harness.model.formatting import DASH, NOT_ABOUT, show
from harness.model.phrases import capital, counted
from harness.rows.question import read_rows
from harness.rows.schema import factors_of, records
from harness.rows.session_results import Cell, Line, Results
from harness.rows.text import estimate_of, shown

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
    for metric in results.metrics:
        print()
        print(heading(metric))
        cells = results.cells(metric)
        if _alone(cells):
            print_values(cells)
            continue
        for cell in cells:
            if cell.levels:
                say(_place(cell), indent="  ", hang="    ")
            lines = cells_of(cell, metric, conclusive=results.conclusive)
            print(table(HEADS, lines, right=(1, 2), indent="  "))
    if results.n_kept:
        print()
        _print_notes(results)


def print_agreement(session: str, agreement: SessionAgreement) -> None:
    """Print on how many verdicts two sessions agree, and each verdict on which they do not."""
    print()
    say(f"Against {session}: {agreement_words(agreement)}.")
    if agreement.n(changed=True):
        text = agreement_words(agreement, changed=True)
        say(f"Of programs built from other sources ({', '.join(agreement.changed)}): {text}.")
    levels = [
        level
        for level in _levels(agreement)
        if len({pair.first.levels.get(level) for pair in agreement.pairs}) > 1
    ]
    for kind in ("contradict", "one undecided"):
        rows = [
            (
                pair.first.variant,
                ", ".join((_NAMES[pair.first.metric], *(pair.first.levels[level] for level in levels))),
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
    """Return ``22 of 33 verdicts agree, none contradict, in 11 at most one session decides, and in 4 of the 22 neither
    does``; kinds without pairs omitted."""
    counts = agreement.counts(changed=changed)
    words = [f"{counts['agree']} of {sum(counts.values())} verdicts agree"]
    if counts["contradict"] or counts["one undecided"]:
        n = counts["contradict"]
        words.append(f"{n or 'none'} contradict{'s' if n == 1 else ''}")
    if counts["one undecided"]:
        words.append(f"in {counts['one undecided']} at most one session decides")
    if n_neither := agreement.n_undecided_in_both(changed=changed):
        neither = "neither does" if counts["one undecided"] else "neither session decides"
        words.append(f"and in {n_neither} of the {counts['agree']} {neither}")
    return ", ".join(words)


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


def heading(metric: Metric) -> str:
    return f"{metric.words}, {metric.better} is better"


def _print_winners(results: Results) -> None:
    metric = results.metrics[0]
    cells = results.cells(metric)
    if _alone(cells):
        say(f"Only {results.reference} has results: there is nothing to compare it with.")
        return
    say(f"{capital(heading(metric))}; ratio to {results.reference} (95 % interval):")
    for cell in cells:
        say(_winner(cell, metric, results.reference), indent="  ", hang="    ")


def _alone(cells: Sequence[Cell]) -> bool:
    """No variant but the reference has results."""
    return all(line.ratio is None for cell in cells for line in cell.lines)


def _winner(cell: Cell, metric: Metric, reference: str) -> str:
    """One sentence per cell: which variants are better or worse than the reference, with ratio and interval."""
    groups: dict[str, list[Line]] = {
        f"better than {reference}": [],
        f"worse than {reference}": [],
        f"negligibly different from {reference}": [],
        f"equivalent to {reference}": [],
        f"not shown to differ from {reference}": [],
        f"fewer than {FEWEST_FOR_P} blocks, so no verdict": [],
        NOT_ABOUT: [],
    }
    heads, without = list(groups), []
    for line in cell.lines:
        if line.ratio is None:
            continue
        if line.ratio["value"] is None:
            without.append(line.variant)
            continue
        verdict = Verdict(line.ratio["verdict"])
        place = {
            Verdict.DIFFERENT: 0 if line.sides_with(metric.better) == "better" else 1,
            Verdict.DIFFERENT_BUT_NEGLIGIBLE: 2,
            Verdict.EQUIVALENT: 3,
            Verdict.INCONCLUSIVE: 5 if _of_too_few(line) else 4,
            Verdict.NOT_ABOUT_SERVICES: 6,
        }[verdict]
        groups[heads[place]].append(line)
    parts = [f"{head}: {_listed(lines)}" for head, lines in groups.items() if lines]
    parts += [f"no ratio: {', '.join(without)}"] if without else []
    place_words = f"{_place(cell)}: " if cell.levels else ""
    return place_words + ("; ".join(parts) or f"no variant to compare with {reference}") + "."


def _place(cell: Cell) -> str:
    return ", ".join(f"{factor.removeprefix('factor_')}={level}" for factor, level in cell.levels.items())


def _of_too_few(line: Line) -> bool:
    """Return whether a comparison has fewer blocks than any verdict needs."""
    return line.ratio is not None and line.ratio["n_blocks"] < FEWEST_FOR_P


def _listed(lines: Sequence[Line]) -> str:
    return ", ".join(
        f"{line.variant} {_ratio(line)} ({with_age(_interval(line), line.young)})" for line in lines
    )


def _ratio(line: Line) -> str:
    return "1" if line.ratio is None else show(estimate_of(line.ratio)).text


def _interval(line: Line) -> str:
    return "" if line.ratio is None else show(estimate_of(line.ratio)).bounds or DASH


def cells_of(cell: Cell, metric: Metric, *, conclusive: bool) -> list[tuple[str, ...]]:
    """Return the rows of one cell under ``HEADS``, a variant each."""
    like = _middle(cell.lines)
    return [
        (
            line.variant,
            _plain(show(estimate_of(line.mean), like=like).text),
            _ratio(line),
            _interval(line),
            _verdict(line, metric, conclusive=conclusive),
        )
        for line in cell.lines
    ]


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
    if not conclusive or _of_too_few(line):
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


def print_question(root: Path, question: str, names: Sequence[str], *, as_json: bool) -> bool:
    """Print the published rows of a question; return whether there are any.

    Args:
        names: only these results; none: all.

    Raises:
        InputError: the question has no such result.
    """
    rows = read_rows(root)
    rows = rows[rows["question"] == question]
    if rows.empty:
        return False
    known = list(dict.fromkeys(rows["name"]))
    for name in names:
        if name not in known:
            raise InputError("no such result", place="--metric", found=name, allowed=", ".join(known))
    chosen = rows[rows["name"].isin(list(names) or known)]
    if as_json:
        print(json.dumps(records(chosen.dropna(axis="columns", how="all")), indent=1, allow_nan=False))
        return True
    for place, (result, group) in enumerate(chosen.groupby(["name", "kind"], sort=False)):
        print(*[""] * bool(place), ", ".join(map(str, result)), sep="\n")
        print(_rows_table(group))
    return True


def _rows_table(rows: pd.DataFrame) -> str:
    """One result: variant and levels, number with its interval, and of ratios what they say."""
    compared = bool(rows["verdict"].notna().any())
    factors = [name for name in factors_of(rows) if rows[name].notna().any()]
    columns = ["label"] * bool(rows["label"].notna().any()) + factors + ["shown"]
    heads = ["variant" if name == "label" else "value" if name == "shown" else name for name in columns]
    heads += ["says", "blocks", "over"] * compared
    lines = []
    for row in records(shown(rows)):
        says = [
            row["says"] if row["verdict"] else DASH,
            str(row["n_blocks"] or DASH),
            row["reference"] or DASH,
        ]
        lines.append([str(row[name] or DASH) for name in columns] + says * compared)
    return table(heads, lines, indent="  ")
