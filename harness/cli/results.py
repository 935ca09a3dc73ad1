# SPDX-License-Identifier: Apache-2.0
"""``rematch results``: what a session says, in tables and as JSON; and the published rows of a question."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.metrics import FLAG_WORDS, METRICS, PROPORTIONAL, Metric, metrics_named
from harness.analysis.evidence.opening import tidied
from harness.analysis.evidence.sessions import named_session
from harness.analysis.stats.session_agreement import SessionAgreement
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.cli.options import AsJson, experiment_names, fields_of, say, table, tally
from harness.errors import InputError
from harness.model import Outcome, Verdict
from harness.model.age import with_age
from harness.model.digits import whole_percent
from harness.model.formatting import DASH, capital, counted, show
from harness.project import find_root
from harness.rows.question import read_rows
from harness.rows.schema import factors_of, records
from harness.rows.session_results import Cell, Line, Results, results_of, session_agreement
from harness.rows.text import estimate_of, shown
from harness.store import SessionFolder, Store

#: Of a comparison of two sessions, and columns of a ratio's row that stand in the JSON as they are.
_SIDE = {"variant", "metric", "levels", "verdict", "ratio"}
_PAIRS: Any = {"pairs": {"__all__": {"kind": True, "changed": True, "first": _SIDE, "second": _SIDE}}}
_COMPARED = ("bound_by", "age", "reference_age", "margin", "n_blocks", "warnings")
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
    Verdict.NOT_ABOUT_SERVICES: "no verdict",
}
_NUMBER = re.compile(r"\d+(\.\d+)?")


def results_command(
    experiment: Annotated[
        str,
        typer.Argument(
            help="name of an experiment, path of its TOML file, or name of a question of the paper",
            autocompletion=experiment_names,
        ),
    ],
    session: Annotated[
        str | None,
        typer.Option(
            help="session, such as quick-local-1; default: the newest one measured here, else the bundled one"
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="throughput, mean, p99, cpu, memory, start, or a question's results; may be repeated; default: all"
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="another session: also print on which verdicts the two agree"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare every variant of a session with the reference: ratio, interval and verdict by metric.

    Of a question that publishes rows, such as startup, print them. Exit status 1: no trial of the session has a result.

    \b
    Examples:
        rematch results startup --metric first
        rematch results strings-rounds
        rematch results strings-rounds --metric p99 --metric cpu
        rematch results strings-rounds --session bundled/quick-local-1 --json
        rematch results strings-warm --session quick-local-9 --against quick-local-8
    """
    root = find_root()
    if (session, against) == (None, None):
        rows = read_rows(root)
        rows = rows[rows["question"] == experiment]
        if not rows.empty:
            _print_question(rows, metric or (), as_json=as_json)
            return
    folder = _choose_session(root, experiment, session)
    evidence = opened(root, folder)
    results, agreement = results_of(evidence, metrics_named(metric or [])), None
    if against is not None:
        again = _choose_session(root, experiment, against)
        if again.key == folder.key:
            raise InputError(
                "a session agrees with itself", place="--against", found=again.key, allowed="another one"
            )
        agreement = session_agreement(evidence, opened(root, again))
    if as_json:
        beside = {} if agreement is None else {"against": _agreement_as_plain(against or "", agreement)}
        print(json.dumps(as_plain(results) | beside, indent=1, allow_nan=False))
    else:
        print_results(results)
        if agreement is not None:
            print_agreement(against or "", agreement)
    if not results.n_kept:
        raise typer.Exit(1)


def _print_question(rows: pd.DataFrame, names: Sequence[str], *, as_json: bool) -> None:
    """Print the published rows of a question, only those of ``names`` if any."""
    known = list(dict.fromkeys(rows["name"]))
    for name in names:
        if name not in known:
            raise InputError("no such result", place="--metric", found=name, allowed=", ".join(known))
    chosen = rows[rows["name"].isin(list(names) or known)]
    if as_json:
        print(json.dumps(records(chosen.dropna(axis="columns", how="all")), indent=1, allow_nan=False))
    else:
        print_rows(chosen)


def _choose_session(root: Path, experiment: str, session: str | None) -> SessionFolder:
    """Return the named session of an experiment, else the newest one measured here, else a bundled one.

    ``experiment``: its name, or the path of its file, which need not be there any more.
    """
    name = Path(experiment).stem if experiment.endswith(".toml") else experiment
    present = Store(root).sessions(name) if name and not set(name) & set("/*?[]") else ()
    if not present:
        known = sorted({item.folder.parent.name for item in Store(root).sessions()})
        allowed = f"{', '.join(known)}; or measure it: rematch measure {experiment}"
        raise InputError(
            "no session of this experiment", place=name, found="nothing in data/raw", allowed=allowed
        )
    if session is None:
        place = [item for item in present if not item.bundled] or list(present)
        return max(place, key=lambda item: item.header.provenance.started_epoch_s)
    return named_session(present, session, place="--session")


def read_results(root: Path, folder: SessionFolder) -> Results:
    """Bring the session's tables up to date and return what they say; raises as :func:`opened`."""
    return results_of(opened(root, folder))


def opened(root: Path, folder: SessionFolder) -> Evidence:
    """Bring the session's tables up to date and return it.

    Raises:
        InputError: no trial of it is finished.
    """
    if not folder.finished():
        allowed = "resume with: rematch measure (see --help)"
        raise InputError("no trial is finished", place=folder.key, allowed=allowed)
    return tidied(root, folder)


def _agreement_as_plain(session: str, agreement: SessionAgreement) -> dict[str, Any]:
    return {
        "session": session,
        "counts": agreement.counts(),
        "counts_changed": agreement.counts(changed=True),
        "share": agreement.share,
        "undecided_in_both": agreement.n_undecided_in_both(),
        "undecided_in_both_changed": agreement.n_undecided_in_both(changed=True),
        "changed": list(agreement.changed),
        **agreement.model_dump(mode="json", include=_PAIRS),
    }


def as_plain(results: Results) -> dict[str, Any]:
    """Return the results as plain values for JSON; ``null``: cannot be said."""
    return {
        **fields_of(results, "session", "profile", "conclusive", "reference", "draft"),
        "trials": {"planned": results.n_planned, "made": results.n_made, "kept": results.n_kept},
        "blocks": results.n_blocks,
        **fields_of(results, "outcomes", "exclusion_reasons", "flags"),
        "runtime_cpus": {variant: dict(cells) for variant, cells in results.runtime_cpus.items()},
        "metrics": [
            {
                "metric": metric.name,
                **fields_of(metric, "column", "better"),
                "cells": [
                    {"levels": cell.levels, "variants": [_plain_line(line) for line in cell.lines]}
                    for cell in results.cells(metric)
                ],
            }
            for metric in results.metrics
        ],
    }


def _plain_line(line: Line) -> dict[str, Any]:
    value = {name: line.mean[name] for name in ("value", "low", "high", "unit", "n_trials")}
    ratio, refused = line.ratio, line.has(Verdict.NOT_ABOUT_SERVICES)
    comparison = ratio and {
        "ratio": ratio["value"],
        **{name: ratio[name] for name in ("low", "high", "level", "verdict")},
        "about_services": not refused,
        "not_about": ratio["why"] if refused else None,
        **{name: ratio[name] for name in _COMPARED},
    }
    return {"variant": line.variant, **value, "comparison": comparison}


def print_results(results: Results) -> None:
    """Print the trials, the table of each metric, and what there is to doubt."""
    _print_trials(results)
    for metric in results.metrics:
        print()
        _print_metric(results, metric)
    if not results.n_kept:
        return
    print()
    say(
        f"value: mean over trials. ratio: variant over {results.reference}, paired by block, with its 95 % interval."
    )
    if results.draft:
        say(f"{capital(results.draft)}.")
    for variant, cells in results.runtime_cpus.items():
        same = len(set(cells.values())) == 1
        texts = [text if same else f"{text} ({cell})" for cell, text in cells.items()]
        say(f"CPUs that the runtime of {variant} goes by: {'; '.join(dict.fromkeys(texts))}.", hang="  ")
    for line in _notes(results):
        say(f"- {line}", hang="  ")


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
    if results.young:
        say(f"Young, not warm: {', '.join(results.young)} had not settled when it was measured.", hang="  ")


def _print_reasons(results: Results) -> None:
    """Print the reasons of trials that were left out; those that differ in numbers are one."""
    print(f"{counted(results.n_made - results.n_kept, 'trial')} left out:")
    alike: dict[str, list[str]] = {}
    for reason in results.exclusion_reasons:
        alike.setdefault(_NUMBER.sub("#", reason), []).append(reason)
    for first, *rest in list(alike.values())[:REASONS_SHOWN]:
        n = sum(results.exclusion_reasons[reason] for reason in (first, *rest))
        say(f"{n} x {first}{' (numbers vary)' if rest else ''}", indent="  ", hang="      ")
    if len(alike) > REASONS_SHOWN:
        print(f"  and {counted(len(alike) - REASONS_SHOWN, 'more reason')}: --json has them")


def _print_metric(results: Results, metric: Metric) -> None:
    print(f"{metric.words}, {metric.better} is better")
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
        value = _plain(show(estimate_of(line.mean), like=like).text)
        compared = ("1", "") if ratio is None else (ratio.text, ratio.bounds or DASH)
        rows.append((line.variant, value, *compared, _verdict(line, metric, conclusive=conclusive)))
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


def _notes(results: Results) -> list[str]:
    """Return warnings of the comparisons; of several that differ in numbers and variants alone the first."""
    notes: dict[str, list[tuple[str, str]]] = {}
    for row in records(results.rows[results.rows["kind"] == "ratio"]):
        for warning in row["warnings"]:
            # those are counted above
            if "flagged" not in warning and not warning.endswith("trials excluded"):
                alike = _NUMBER.sub("#", warning.removeprefix(f"{row['variant']}: "))
                notes.setdefault(alike, []).append((row["name"], warning))
    lines = []
    for own in notes.values():
        metrics, texts = (dict.fromkeys(column) for column in zip(*own, strict=True))
        more = f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else ""
        lines.append(f"{', '.join(metrics)}: {next(iter(texts))}{more}")
    return lines


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
