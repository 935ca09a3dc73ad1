# SPDX-License-Identifier: Apache-2.0
"""``rematch results``: what a session says, in words and in tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import completion
from harness.cli.options import fields_of
from harness.errors import InputError
from harness.project import find_root

if TYPE_CHECKING:
    from harness.analysis.stats.session_agreement import SessionAgreement
    from harness.evidence import Evidence
    from harness.evidence.results import Results, VariantResult
    from harness.store import SessionFolder


def results_command(
    experiment: Annotated[
        str,
        typer.Argument(
            help="name of an experiment, path of its TOML file, or name of a question of the paper",
            autocompletion=completion.measured,
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
            help="throughput, mean, p99, cpu, memory, start, or a question's results; may be repeated; default: all",
            autocompletion=completion.metrics,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="another session: also print on which verdicts the two agree"),
    ] = None,
    every_speed: Annotated[
        bool,
        typer.Option(
            "--every-speed",
            help="also use trials that were left out for the speed of their CPUs, in both sessions",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Compare every variant of a session with the reference: ratio, interval and verdict by metric.

    Of a question that publishes rows, such as startup, print them. Exit status 1: no trial of the session has a result.

    Examples:

        rematch results startup --metric first

        rematch results strings-rounds

        rematch results strings-rounds --metric p99 --metric cpu

        rematch results strings-rounds --session bundled/quick-local-1 --json

        rematch results strings-warm --session quick-local-9 --against quick-local-8

        rematch results strings-warm --every-speed
    """
    from harness.cli import results_text, rows_text
    from harness.evidence.results import metrics_named, results_of

    root = find_root()
    if (
        session is None
        and against is None
        and rows_text.print_question(root, experiment, metric or [], as_json=as_json)
    ):
        return
    wanted = metrics_named(metric or [])
    folder = choose_session(root, experiment, session)
    evidence = replace(opened(root, folder), every_speed=every_speed)
    found = results_of(evidence, wanted)
    agreed = None
    if against is not None:
        agreed = _compared(evidence, choose_session(root, experiment, against))
    if as_json:
        plain = as_plain(found) | (
            {} if agreed is None else {"against": agreement_as_plain(against or "", agreed)}
        )
        print(json.dumps(plain, indent=1, allow_nan=False))
    else:
        results_text.print_results(found)
        if agreed is not None:
            results_text.print_agreement(against or "", agreed)
    if not found.n_kept:
        raise typer.Exit(1)


def choose_session(root: Path, experiment: str, session: str | None = None) -> SessionFolder:
    """Return the named session of an experiment, else the newest one measured here, else a bundled one.

    ``experiment``: its name, or the path of its file, which need not be there any more.

    Raises:
        InputError: there is no such session.
    """
    from harness.store import Store

    name = Path(experiment).stem if experiment.endswith(".toml") else experiment
    there = Store(root).sessions(name) if name and not set(name) & set("/*?[]") else ()
    if not there:
        known = sorted({one.folder.parent.name for one in Store(root).sessions()})
        raise InputError(
            "no session of this experiment",
            place=name,
            found="nothing in data/raw",
            allowed=f"{', '.join(known)}; or measure it: rematch measure {experiment}",
        )
    if session is None:
        here = [one for one in there if not one.bundled] or list(there)
        return max(here, key=lambda one: one.header.provenance.started_epoch_s)
    places = {one.key.replace(f"{name}/", ""): one for one in reversed(there)}
    places |= {one.folder.name: one for one in reversed(there)}
    if session not in places:
        allowed = ", ".join(one.key.replace(f"{name}/", "") for one in there)
        raise InputError("no such session", place="--session", found=session, allowed=allowed)
    return places[session]


def read_results(root: Path, folder: SessionFolder) -> Results:
    """Bring the session's tables up to date and return what they say.

    Raises:
        InputError: no trial of it is finished, or none can be read.
    """
    from harness.evidence.results import results_of

    return results_of(opened(root, folder))


def opened(root: Path, folder: SessionFolder) -> Evidence:
    """Bring the session's tables up to date and return it."""
    from harness.analysis.tables.tidy import tidy
    from harness.evidence import Evidence

    name = folder.folder.parent.name
    _require_a_trial(folder)
    tidy(root, [name])
    return Evidence(root=root, experiment=name, sessions=(folder,))


def _require_a_trial(folder: SessionFolder) -> None:
    if not folder.finished():
        raise InputError(
            "no trial is finished", place=folder.key, allowed="resume with: rematch measure (see --help)"
        )


def _compared(evidence: Evidence, other: SessionFolder) -> SessionAgreement:
    """Return the verdicts of one session beside those of another one of the same experiment."""
    from harness.evidence.results import session_agreement

    if other.key == evidence.sessions[0].key:
        raise InputError(
            "a session agrees with itself", place="--against", found=other.key, allowed="another one"
        )
    _require_a_trial(other)  # tables of all sessions of an experiment are brought up to date together
    return session_agreement(evidence, replace(evidence, sessions=(other,)))


def agreement_as_plain(session: str, found: SessionAgreement) -> dict[str, Any]:
    """Return the agreement of two sessions as plain values for JSON."""
    from harness.analysis.stats.session_agreement import expected_agreement

    same, other = (expected_agreement(found, changed=changed) for changed in (False, True))
    return {
        "session": session,
        "counts": found.counts(),
        "counts_changed": found.counts(changed=True),
        "expected": None if same is None else same.model_dump(mode="json"),
        "expected_changed": None if other is None else other.model_dump(mode="json"),
        "share": found.share,
        "undecided_in_both": found.n_undecided_in_both(),
        "undecided_in_both_changed": found.n_undecided_in_both(changed=True),
        "changed": list(found.changed),
        "pairs": [
            {
                **fields_of(pair.first, "variant", "metric", "levels"),
                **fields_of(pair, "kind", "changed"),
                **{
                    name: {
                        "verdict": side.verdict.value,
                        "ratio": side.ratio.value,
                        **fields_of(side.ratio, "low", "high"),
                    }
                    for name, side in (("first", pair.first), ("second", pair.second))
                },
            }
            for pair in found.pairs
        ],
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
                "metric": of_metric.metric.name,
                **fields_of(of_metric.metric, "column", "better"),
                "cells": [
                    {"levels": cell.levels, "variants": [_plain_variant(row) for row in cell.variants]}
                    for cell in of_metric.cells
                ],
            }
            for of_metric in results.metrics
        ],
    }


def _plain_variant(row: VariantResult) -> dict[str, Any]:
    compared = row.comparison
    value = fields_of(row.estimate, "value", "low", "high", "unit", "n_trials")
    if compared is None:
        return {"variant": row.variant, **value, "comparison": None}
    comparison = {
        "ratio": compared.ratio.value,
        **fields_of(compared.ratio, "low", "high", "level"),
        "verdict": compared.verdict.value,
        **fields_of(compared, "about_services", "not_about", "bound_by"),
        "ages": compared.ages and compared.ages.model_dump(),
        "with_others": compared.beside and fields_of(compared.beside.ratio, "value", "low", "high"),
        **fields_of(compared, "margin", "n_blocks"),
        "warnings": list(compared.warnings),
    }
    return {"variant": row.variant, **value, "comparison": comparison}
