# SPDX-License-Identifier: Apache-2.0
"""``rematch tidy``."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import completion
from harness.project import find_root


def tidy_command(
    experiment: Annotated[
        str | None,
        typer.Argument(help="experiment to convert; default: all", autocompletion=completion.experiments),
    ] = None,
) -> None:
    """Convert raw records to tables in data/processed and list excluded trials.

    Examples:

        rematch tidy

        rematch tidy strings-rounds
    """
    from harness.analysis.tables.tidy import tidy

    done = tidy(find_root(), None if experiment is None else [experiment])
    print(f"{done.n_fresh} trials read, {done.n_unchanged} unchanged")
    for one in done.experiments:
        counts = f"{one.n_planned} planned, {one.n_made} made, {one.n_kept} kept, {one.n_excluded} excluded"
        whose = " (bundled)" if one.source == "bundled" else ""
        print(f"{one.experiment}{whose}: {counts}")
        for excluded in one.excluded:
            print(f"  {excluded.trial}: {excluded.kind}: {excluded.reason}")
        for problem in one.problems:
            print(f"  {problem}")
