# SPDX-License-Identifier: Apache-2.0
"""``rematch results``: what a session says, in tables and as JSON; and the published rows of a question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.analysis.stats.session_agreement import SessionAgreement
from harness.cli.options import AsJson, experiment_names, fields_of
from harness.cli.results_text import print_agreement, print_results, print_rows
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.metrics import metrics_named
from harness.evidence.opening import tidied
from harness.evidence.sessions import named_session
from harness.model import Verdict
from harness.project import find_root
from harness.rows.question import read_rows
from harness.rows.schema import records
from harness.rows.session_results import Line, Results, results_of, session_agreement
from harness.store import SessionFolder, Store

#: Of a comparison of two sessions, and columns of a ratio's row that stand in the JSON as they are.
_SIDE = {"variant", "metric", "levels", "verdict", "ratio"}
_PAIRS: Any = {"pairs": {"__all__": {"kind": True, "changed": True, "first": _SIDE, "second": _SIDE}}}
_COMPARED = ("bound_by", "age", "reference_age", "margin", "n_blocks", "warnings")


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
    if (session, against) == (None, None) and _print_question(
        root, experiment, metric or (), as_json=as_json
    ):
        return
    evidence = opened(root, _choose_session(root, experiment, session))
    results, agreement = results_of(evidence, metrics_named(metric or [])), None
    if against is not None:
        agreement = _compared(evidence, _choose_session(root, experiment, against))
    if as_json:
        beside = {} if agreement is None else {"against": _agreement_as_plain(against or "", agreement)}
        print(json.dumps(as_plain(results) | beside, indent=1, allow_nan=False))
    else:
        print_results(results)
        if agreement is not None:
            print_agreement(against or "", agreement)
    if not results.n_kept:
        raise typer.Exit(1)


def _print_question(root: Path, question: str, names: Sequence[str], *, as_json: bool) -> bool:
    """Print the published rows of a question, only those of ``names`` if any; return whether there are rows."""
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
    else:
        print_rows(chosen)
    return True


def _choose_session(root: Path, experiment: str, session: str | None) -> SessionFolder:
    """Return the named session of an experiment, else the newest one measured here, else a bundled one.

    ``experiment``: its name, or the path of its file, which need not be there any more.
    """
    name = Path(experiment).stem if experiment.endswith(".toml") else experiment
    present = Store(root).sessions(name) if name and not set(name) & set("/*?[]") else ()
    if not present:
        known = sorted({item.folder.parent.name for item in Store(root).sessions()})
        raise InputError(
            "no session of this experiment",
            place=name,
            found="nothing in data/raw",
            allowed=f"{', '.join(known)}; or measure it: rematch measure {experiment}",
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
        raise InputError(
            "no trial is finished", place=folder.key, allowed="resume with: rematch measure (see --help)"
        )
    return tidied(root, folder)


def _compared(evidence: Evidence, folder: SessionFolder) -> SessionAgreement:
    """Return the verdicts of one session beside those of another one of the same experiment."""
    if folder.key == evidence.sessions[0].key:
        raise InputError(
            "a session agrees with itself", place="--against", found=folder.key, allowed="another one"
        )
    return session_agreement(evidence, opened(evidence.root, folder))


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
