# SPDX-License-Identifier: Apache-2.0
"""``rematch list``: all experiments in a table, or one with its variants, and why something cannot run here."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from harness.cli.options import AsJson, Launcher, experiment_names, fields_of, say, table
from harness.definitions import experiment_files, load_study, usual_launcher
from harness.errors import RematchError
from harness.measure import session
from harness.measure.session.availability import variant_reasons
from harness.measure.session.dry_run import session_s
from harness.measure.session.planning import prepare
from harness.measure.session.progress import in_words
from harness.model.formatting import counted
from harness.project import find_root

#: The default of ``measure``, and so the subject of the overview.
DEFAULT_PROFILE = "quick"


def list_command(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="experiment to show in detail; default: all, one row each", autocompletion=experiment_names
        ),
    ] = None,
    launcher: Launcher = None,
    as_json: AsJson = False,
) -> None:
    """List experiments, variants and profiles, with the reason why any of them cannot run here.

    \b
    Examples:
        rematch list
        rematch list strings-rounds
        rematch list strings-rounds --json
    """
    root = find_root()
    # the session that rematch --help begins with is the first row
    names = [experiment] if experiment else sorted(experiment_files(root), key=lambda name: name != "smoke")
    parts: dict[str, session.Assembly] = {}
    rows = []
    for name in names:
        word = launcher or usual_launcher(root, name)
        if word not in parts:  # tools are looked for once: it takes longer than all else
            tools = next(iter(parts.values())).tools if parts else None
            parts[word] = session.assemble(root, launcher=word, tools=tools)
        rows.append(_row_of(parts[word], name, strict=experiment is not None))
    for assembly in parts.values():
        assembly.close()
    if as_json:
        print(json.dumps(rows, indent=1))
    elif experiment is None:
        print_overview(rows)
    else:
        _print_details(rows[0])


def _row_of(assembly: session.Assembly, name: str, *, strict: bool) -> dict[str, Any]:
    """What is listed of an experiment; ``strict``: raise what is wrong with its definition, else list it."""
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
        **fields_of(study.experiment, "name", "title", "question", "reference"),
        "files": [str(file) for file in study.files],
        "factors": {factor: list(levels) for factor, levels in study.experiment.factors.items()},
        "variants": reasons,
        "remarks": session.remarks(assembly, study.experiment.variants),
        "levels_unavailable": levels,
        "profiles": profiles,
    }


def print_overview(rows: list[dict[str, Any]]) -> None:
    """Print a row for each experiment, and the reasons of those that cannot run here."""
    shown: list[tuple[str, ...]] = []
    refused: dict[str, list[str]] = {}
    for row in rows:
        if "problem" in row:
            shown.append((row["name"], "-", "-", "no", row["problem"]))
            continue
        name = DEFAULT_PROFILE if DEFAULT_PROFILE in row["profiles"] else next(iter(row["profiles"]))
        profile, label = row["profiles"][name], f" ({name})" * (name != DEFAULT_PROFILE)
        lacking = row["levels_unavailable"] or any(row["variants"].values())
        runs = "no" if "problem" in profile else "in part" if lacking else "yes"
        if runs == "no":
            cause = row["variants"][row["reference"]] or profile["problem"]
            refused.setdefault(cause, []).append(row["name"])
        minutes = profile.get("expected_s", 0.0) / 60  # whole minutes, or hours: an overview needs no more
        time = f"{max(minutes, 1):.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
        time = time if "expected_s" in profile else "-"
        shown.append((row["name"] + label, str(profile.get("trials", "-")), time, runs, row["title"]))
    print(table(("experiment", "trials", "time", "here", "title"), shown, right=(1, 2)))
    for cause, names in refused.items():
        print()
        say(f"Not here: {', '.join(names)}: {cause}", hang="  ")
    print()
    say(
        f'Trials and time: profile {DEFAULT_PROFILE}, or the one in brackets. here: "in part" means that '
        "some variants or levels cannot run on this machine. Details and reasons: rematch list NAME"
    )


def _print_details(row: dict[str, Any]) -> None:
    say(f"{row['name']}: {row['question']}")
    print()
    for name, profile in row["profiles"].items():
        if "trials" in profile:
            large = ", for a large host" if profile["large_host"] else ""
            size = f"{counted(profile['trials'], 'trial')} in {counted(profile['blocks'], 'block')}"
            print(f"  {name}: {size}, about {in_words(profile['expected_s'])}{large}")
        if "problem" in profile:
            say(f"not here: {name}: {profile['problem']}", indent="  ", hang="    ")
    *bases, own = row["files"]
    on_top = f", on top of {', '.join(bases)}" if bases else ""
    say(f"defined in {own}{on_top}", indent="  ", hang="    ")
    for factor, levels in row["factors"].items():
        say(f"factor {factor}: {', '.join(levels)}", indent="  ", hang="    ")
    print()
    runs = {name: f"no: {reason}" for name, reason in (row["variants"] | row["levels_unavailable"]).items()}
    for name, reason in row["variants"].items():
        if reason is None:
            runs[name] = f"yes, but {row['remarks'][name]}" if name in row["remarks"] else "yes"
    marks = {row["reference"]: " (reference)"}
    print(
        table(("variant", "runs here"), [(name + marks.get(name, ""), text) for name, text in runs.items()])
    )
