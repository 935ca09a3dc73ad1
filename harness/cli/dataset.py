# SPDX-License-Identifier: Apache-2.0
"""``rematch dataset``: the bundled sessions as a package that describes itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion
from harness.errors import InputError
from harness.project import find_root


def dataset_command(
    folder: Annotated[
        Path | None, typer.Argument(help="new or empty folder, or a package (default: results/data-package)")
    ] = None,
    experiment: Annotated[
        list[str] | None,
        typer.Option(
            help="only this one; may be repeated; default: all", autocompletion=completion.experiments
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="check a package instead of writing one")] = False,
    dictionary: Annotated[
        bool, typer.Option("--dictionary", help="write docs/data-dictionary.md instead")
    ] = False,
) -> None:
    """Write the bundled sessions as a data package: archives, tables, claims, schema, metadata, checksums.

    datapackage.json has types, units and constraints of every column,
    ro-crate-metadata.json describes each file, checksums.sha256 is for sha256sum -c.
    The written package is checked. Exit status 1: something in it is wrong.

    Examples:

        rematch dataset

        rematch dataset /tmp/package --experiment strings-warm

        rematch dataset /tmp/package --check
    """
    from harness.publish.dataset import FOLDER, write_package
    from harness.publish.dataset_check import problems_of
    from harness.questions import claims

    root = find_root()
    if dictionary:
        if check or folder is not None:
            raise InputError("takes no folder", place="--dictionary", allowed="--dictionary alone")
        from harness.analysis.tables.dictionary import page

        path = root / "docs" / "data-dictionary.md"
        path.write_text(page(), "utf-8")
        print(f"the dictionary: {os.path.relpath(path)}")
        return
    target = root / FOLDER if folder is None else folder
    if not check:
        files = write_package(
            root, target, experiment, ledger=None if experiment else claims.of_bundled(root)
        )
        size = sum((target / name).stat().st_size for name in files)
        print(f"{os.path.relpath(target)}: {len(files)} files, {size / 1e6:.1f} MB")
    problems = problems_of(target)
    for problem in problems:
        print(f"  {problem}")
    print("checked: schema, metadata and checksums hold" if not problems else f"{len(problems)} problems")
    if problems:
        raise typer.Exit(1)
