# SPDX-License-Identifier: Apache-2.0
"""Files of sessions: ``rematch pack``, ``unpack`` and ``dataset``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from harness.analysis.tables.schema import page
from harness.cli.options import experiment_names
from harness.errors import InputError
from harness.project import find_root
from harness.publish.dataset import FOLDER, write_package
from harness.questions import claims
from harness.store import SessionFolder, Store, archive_of, pack


def pack_command(
    session: Annotated[str, typer.Argument(help="EXPERIMENT/SESSION, as `rematch measure` prints it")],
) -> None:
    """Write a measured session as one archive among the bundled ones, with its SHA-256 beside it; the session stays.

    \b
    Examples:
        rematch pack strings-rounds/quick-local-1
    """
    store = Store(find_root())
    result = _session_of(store, session, archived=False)
    archive = pack(result.folder, archive_of(store.bundled / result.folder.parent.name / result.folder.name))
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB, {len(result.finished())} trials")


def unpack_command(
    session: Annotated[str, typer.Argument(help="EXPERIMENT or EXPERIMENT/SESSION of an archived session")],
) -> None:
    """Unpack an archived session to results/unpacked/EXPERIMENT/SESSION and compare each file with its checksum.

    Archives are read in place; no command requires the unpacked copy.

    \b
    Examples:
        rematch unpack strings-rounds
    """
    root = find_root()
    result = _session_of(Store(root), session, archived=True)
    assert result.archive is not None
    target = root / "results" / "unpacked" / result.folder.parent.name / result.folder.name
    result.archive.unpack(target)
    problems = SessionFolder(target).verify()
    print(f"{target}: {len(result.finished())} trials, {len(result.archive.sizes)} files")
    for problem in problems:
        print(f"  {problem}")
    if problems:
        raise typer.Exit(1)


def _session_of(store: Store, name: str, *, archived: bool) -> SessionFolder:
    """The one session that ``EXPERIMENT`` or ``EXPERIMENT/SESSION`` means."""
    wanted = name.strip("/").removeprefix("bundled/")
    present = [item for item in store.sessions() if (item.archive is not None) == archived]
    keys = {item.key.removeprefix("bundled/"): item for item in present}
    candidates = [item for key, item in keys.items() if wanted in (key, key.partition("/")[0])]
    if len(candidates) != 1:
        raise InputError(
            "several sessions of that name" if candidates else "no such session",
            place=name,
            found=", ".join(session.key for session in candidates) or "nothing",
            allowed=", ".join(session.key for session in candidates or present) or "none yet",
        )
    return candidates[0]


def dataset_command(
    folder: Annotated[
        Path | None, typer.Argument(help="new or empty folder, or a package (default: results/data-package)")
    ] = None,
    experiment: Annotated[
        list[str] | None,
        typer.Option(help="only this one; may be repeated; default: all", autocompletion=experiment_names),
    ] = None,
    dictionary: Annotated[
        bool, typer.Option("--dictionary", help="write docs/data-dictionary.md instead")
    ] = False,
) -> None:
    """Write the bundled sessions as a data package: archives, tables, claims, schema, checksums.

    datapackage.json has types, units and constraints of every column; checksums.sha256 is for sha256sum -c.

    \b
    Examples:
        rematch dataset
        rematch dataset /tmp/package --experiment strings-warm
    """
    root = find_root()
    if dictionary:
        path = root / "docs" / "data-dictionary.md"
        path.write_text(page(), "utf-8")
        print(f"the dictionary: {os.path.relpath(path)}")
        return
    target = root / FOLDER if folder is None else folder
    files = write_package(root, target, experiment, ledger=None if experiment else claims.of_bundled(root))
    size = sum((target / name).stat().st_size for name in files)
    print(f"{os.path.relpath(target)}: {len(files)} files, {size / 1e6:.1f} MB")
