# SPDX-License-Identifier: Apache-2.0
"""``rematch list``: experiments and variants, and for each unavailable one the reason."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from harness.cli import completion
from harness.errors import RematchError
from harness.project import find_root


def list_all(
    experiment: Annotated[
        str | None, typer.Argument(help="only this one", autocompletion=completion.experiments)
    ] = None,
    launcher: Annotated[
        str, typer.Option(help="how services come up: process or container (docker)")
    ] = "process",
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
) -> None:
    """Experiments with their variants and profiles, and what cannot run here and why.

    Examples:

        rematch list

        rematch list strings-rounds --json
    """
    from harness.definitions import experiment_files
    from harness.session import assemble

    root = find_root()
    assembly = assemble(root, launcher=launcher)
    names = [experiment] if experiment else list(experiment_files(root))
    rows = [_row(assembly, name, strict=experiment is not None) for name in names]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        _print(row)


def _row(assembly: Any, name: str, *, strict: bool) -> dict[str, Any]:
    from harness.definitions import load_study
    from harness.session import remarks
    from harness.session.availability import variant_reasons
    from harness.session.outlook import session_s
    from harness.session.planning import prepare

    try:
        study = load_study(assembly.root, name)
    except RematchError as problem:
        if strict:
            raise
        return {"name": name, "problem": str(problem)}
    profiles: dict[str, Any] = {}
    levels: dict[str, str] = {}
    for profile in study.experiment.profiles:
        try:
            prepared = prepare(assembly, name, profile=profile, host="local", seed=1)
        except RematchError as problem:
            profiles[profile] = {"problem": str(problem)}
            continue
        levels |= {gone.variant: gone.reason for gone in prepared.unavailable if "=" in gone.variant}
        profiles[profile] = {
            "trials": len(prepared.plan.trials),
            "blocks": prepared.plan.n_blocks,
            "expected_s": session_s(assembly, prepared),
            "large_host": study.experiment.profiles[profile].large_host,
        }
    return {
        "name": study.experiment.name,
        "title": study.experiment.title,
        "question": study.experiment.question,
        "reference": study.experiment.reference,
        "factors": {factor: list(levels) for factor, levels in study.experiment.factors.items()},
        "variants": variant_reasons(assembly, study),
        "remarks": remarks(assembly, study.experiment.variants),
        "levels_unavailable": levels,
        "profiles": profiles,
    }


def _print(row: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from harness.session.progress import in_words

    console = Console(highlight=False)
    if "problem" in row:
        console.print(f"[bold]{row['name']}[/]: {row['problem']}\n")
        return
    console.print(f"[bold]{row['name']}[/]: {row['question']}")
    for name, profile in row["profiles"].items():
        if "problem" in profile:
            console.print(f"  {name}: {profile['problem']}")
            continue
        large = ", for a large host" if profile["large_host"] else ""
        console.print(
            f"  {name}: {profile['trials']} trials in {profile['blocks']} blocks, "
            f"about {in_words(profile['expected_s'])}{large}"
        )
    table = Table("variant", "here", box=None, pad_edge=False, padding=(0, 2))
    for name, reason in row["variants"].items():
        mark = " (reference)" if name == row["reference"] else ""
        remark = f", but {row['remarks'][name]}" if name in row["remarks"] else ""
        table.add_row(f"  {name}{mark}", f"yes{remark}" if reason is None else f"no: {reason}")
    for name, reason in row["levels_unavailable"].items():
        table.add_row(f"  {name}", f"no: {reason}")
    console.print(table)
    console.print()
