# SPDX-License-Identifier: Apache-2.0
"""The session that ``rematch results`` is asked for, its rows, and both as values for JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.analysis.stats.session_agreement import SessionAgreement
from harness.cli import results_text
from harness.cli.options import fields_of
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.metrics import metrics_named
from harness.evidence.opening import tidied
from harness.evidence.sessions import named_session
from harness.model import Verdict
from harness.rows.session_results import Line, Results, results_of, session_agreement
from harness.store import SessionFolder, Store

#: Columns of a ratio's row that stand in the JSON as they are.
_COMPARED = ("bound_by", "age", "reference_age", "margin", "n_blocks", "warnings")


def show(
    root: Path, experiment: str, session: str | None, metrics: Sequence[str], against: str | None, *,
    every_speed: bool, as_json: bool,
) -> bool:  # fmt: skip
    """Print the rows of a question, or those of a session; return whether any trial of it has a result.

    Args:
        against: another session, whose verdicts are set beside. Others as of the command.

    Raises:
        InputError: no such session, metric or result.
    """
    if (session, against) == (None, None) and results_text.print_question(
        root, experiment, metrics, as_json=as_json
    ):
        return True
    wanted = metrics_named(metrics)
    evidence = replace(opened(root, choose_session(root, experiment, session)), every_speed=every_speed)
    result, agreed = results_of(evidence, wanted), None
    if against is not None:
        agreed = _compared(evidence, choose_session(root, experiment, against))
    if as_json:
        beside = {} if agreed is None else {"against": agreement_as_plain(against or "", agreed)}
        print(json.dumps(as_plain(result) | beside, indent=1, allow_nan=False))
    else:
        results_text.print_results(result)
        if agreed is not None:
            results_text.print_agreement(against or "", agreed)
    return result.n_kept > 0


def choose_session(root: Path, experiment: str, session: str | None = None) -> SessionFolder:
    """Return the named session of an experiment, else the newest one measured here, else a bundled one.

    ``experiment``: its name, or the path of its file, which need not be there any more.

    Raises:
        InputError: there is no such session.
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
    """Bring the session's tables up to date and return what they say.

    Raises:
        InputError: no trial of it is finished, or none can be read.
    """
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
    second = opened(evidence.root, folder)
    return session_agreement(evidence, replace(second, every_speed=evidence.every_speed))


def agreement_as_plain(session: str, agreement: SessionAgreement) -> dict[str, Any]:
    """Return the agreement of two sessions as plain values for JSON."""
    return {
        "session": session,
        "counts": agreement.counts(),
        "counts_changed": agreement.counts(changed=True),
        "share": agreement.share,
        "undecided_in_both": agreement.n_undecided_in_both(),
        "undecided_in_both_changed": agreement.n_undecided_in_both(changed=True),
        "changed": list(agreement.changed),
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
            for pair in agreement.pairs
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
