# SPDX-License-Identifier: Apache-2.0
"""Experiments for a person and for programs: all in a table, or one with its variants."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness import session
from harness.cli.lines import counted, say, table
from harness.definitions import experiment_files, load_study, usual_launcher
from harness.errors import RematchError
from harness.project import find_root
from harness.session.availability import variant_reasons
from harness.session.dry_run import session_s
from harness.session.planning import prepare
from harness.session.progress import in_words

#: What ``measure`` takes unless it is told otherwise, and so what the overview is about.
DEFAULT_PROFILE = "quick"
#: The session that ``rematch --help`` begins with.
FIRST = "smoke"


def show(experiment: str | None, launcher: str | None, *, as_json: bool) -> None:
    """Print an experiment in detail, or all of them, a row each.

    Raises:
        InputError: no such experiment, or its definition is wrong.
    """
    root = find_root()
    names = [experiment] if experiment else _by_importance(root, experiment_files(root))
    parts: dict[str, session.Assembly] = {}
    rows = []
    for name in names:
        word = launcher or usual_launcher(root, name)
        if not parts:
            parts[word] = session.assemble(root, launcher=word)
        elif word not in parts:  # tools are looked for once: it takes longer than all else
            parts[word] = session.assemble(root, launcher=word, tools=next(iter(parts.values())).tools)
        rows.append(row_of(parts[word], name, strict=experiment is not None))
    for assembly in parts.values():
        assembly.close()
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    if experiment is None:
        print_overview(rows)
    else:
        _print_details(rows[0])


def row_of(assembly: session.Assembly, name: str, *, strict: bool) -> dict[str, Any]:
    """Return what is listed of an experiment: its variants and profiles, and why some of them cannot run here.

    Args:
        strict: raise what is wrong with its definition, in place of returning it as its ``problem``.
    """
    try:
        study = load_study(assembly.root, name)
    except RematchError as problem:
        if strict:
            raise
        return {"name": name, "problem": str(problem)}
    reasons = variant_reasons(assembly, study)
    profiles: dict[str, Any] = {}
    levels: dict[str, str] = {}
    for profile in study.experiment.profiles:
        try:
            prepared = prepare(
                assembly, study, profile=profile, host="local", seed=1, reasons=reasons, anywhere=True
            )
        except RematchError as problem:
            profiles[profile] = {"problem": str(problem)}
            continue
        levels |= {gone.variant: gone.reason for gone in prepared.unavailable if "=" in gone.variant}
        profiles[profile] = {
            "trials": len(prepared.plan.trials),
            "blocks": prepared.plan.n_blocks,
            "expected_s": session_s(assembly, prepared),
            "large_host": study.experiment.profiles[profile].large_host,
            **({} if prepared.refused is None else {"problem": prepared.refused}),
        }
    return {
        "name": study.experiment.name,
        "title": study.experiment.title,
        "question": study.experiment.question,
        "reference": study.experiment.reference,
        "files": [str(file) for file in study.files],
        "factors": {factor: list(levels) for factor, levels in study.experiment.factors.items()},
        "variants": reasons,
        "remarks": session.remarks(assembly, study.experiment.variants),
        "levels_unavailable": levels,
        "profiles": profiles,
    }


def _by_importance(root: Path, names: Iterable[str]) -> list[str]:
    """The first round, then experiments as the notebooks speak of them, then all others by name."""
    order = [FIRST]
    for path in sorted((root / "notebooks").glob("[0-9]*.ipynb")):
        declared = json.loads(path.read_text("utf-8"))["metadata"].get("rematch", {})
        order += [*declared.get("experiments", ()), *declared.get("optional", ())]
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    return sorted(names, key=lambda name: (places.get(name, len(order)), name))


def print_overview(rows: list[dict[str, Any]]) -> None:
    shown: list[tuple[str, ...]] = []
    refused: dict[str, list[str]] = {}
    for row in rows:
        if "problem" in row:
            shown.append((row["name"], "-", "-", "no", row["problem"]))
            continue
        name, profile = _shown_profile(row["profiles"])
        if "problem" in profile:
            cause = row["variants"][row["reference"]] or profile["problem"]
            refused.setdefault(cause, []).append(row["name"])
        shown.append(
            (
                row["name"] if name == DEFAULT_PROFILE else f"{row['name']} ({name})",
                str(profile.get("trials", "-")),
                _about(profile["expected_s"]) if "expected_s" in profile else "-",
                _runs_here(row, profile),
                row["title"],
            )
        )
    print(table(("experiment", "trials", "time", "here", "title"), shown, right=(1, 2)))
    for cause, names in refused.items():
        print()
        say(f"Not here: {', '.join(names)}: {cause}", hang="  ")
    print()
    say(
        f'Trials and time: profile {DEFAULT_PROFILE}, or the one in brackets. here: "in part" means that '
        "some variants or levels cannot run on this machine. Details and reasons: rematch list NAME"
    )


def _shown_profile(profiles: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    name = DEFAULT_PROFILE if DEFAULT_PROFILE in profiles else next(iter(profiles))
    return name, profiles[name]


def _runs_here(row: dict[str, Any], profile: dict[str, Any]) -> str:
    """``yes``, ``in part`` (a variant or a level is unavailable) or ``no``."""
    if "problem" in profile:
        return "no"
    lacks = row["levels_unavailable"] or any(reason is not None for reason in row["variants"].values())
    return "in part" if lacks else "yes"


def _about(seconds: float) -> str:
    """Whole minutes, or hours with one decimal: an overview needs no more."""
    if seconds < 60:
        return "1 min"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def _print_details(row: dict[str, Any]) -> None:
    say(f"{row['name']}: {row['question']}")
    print()
    refused: dict[str, list[str]] = {}
    for name, profile in row["profiles"].items():
        if "problem" in profile:
            refused.setdefault(profile["problem"], []).append(name)
        if "trials" not in profile:
            continue
        large = ", for a large host" if profile["large_host"] else ""
        print(
            f"  {name}: {counted(profile['trials'], 'trial')} in {counted(profile['blocks'], 'block')}, "
            f"about {in_words(profile['expected_s'])}{large}"
        )
    for reason, names in refused.items():
        say(f"not here: {', '.join(names)}: {reason}", indent="  ", hang="    ")
    *bases, own = row["files"]
    on_top = f", on top of {', '.join(bases)}" if bases else ""
    say(f"defined in {own}{on_top}", indent="  ", hang="    ")
    for factor, levels in row["factors"].items():
        say(f"factor {factor}: {', '.join(levels)}", indent="  ", hang="    ")
    print()
    shown = []
    before = None
    for name, reason in row["variants"].items():
        mark = " (reference)" if name == row["reference"] else ""
        remark = f", but {row['remarks'][name]}" if name in row["remarks"] else ""
        again = reason is not None and reason == before
        text = f"yes{remark}" if reason is None else "no: the same" if again else f"no: {reason}"
        shown.append((f"{name}{mark}", text))
        before = reason
    shown += [(name, f"no: {reason}") for name, reason in row["levels_unavailable"].items()]
    print(table(("variant", "runs here"), shown))
