# SPDX-License-Identifier: Apache-2.0
"""What becomes of the files of sessions: ``pack``, ``unpack``, ``tidy``, ``dataset`` and ``clean``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.errors import InputError
from harness.project import find_root
from harness.toolchains import require_package

if TYPE_CHECKING:
    from harness.store import SessionFolder, Store


def pack_command(
    session: Annotated[
        str,
        typer.Argument(help="EXPERIMENT/SESSION, as `rematch measure` prints it"),
    ],
    to: Annotated[
        Path | None, typer.Option("--to", help="folder of the archive (default: among the bundled sessions)")
    ] = None,
) -> None:
    """Write a measured session as one archive, with its SHA-256 beside it. The session itself is kept.

    \b
    Examples:
        rematch pack strings-rounds/quick-local-1
    """
    from harness.store import Store, archive_of, pack

    root = find_root()
    store = Store(root)
    result = _find(store, session, measured_only=True)
    base = store.bundled / result.folder.parent.name if to is None else to
    archive = pack(result.folder, archive_of(base / result.folder.name))
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB, {len(result.finished())} trials")


def unpack_command(
    session: Annotated[str, typer.Argument(help="EXPERIMENT or EXPERIMENT/SESSION of an archived session")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", help="new or empty folder to write to (default: results/unpacked/EXPERIMENT/SESSION)"
        ),
    ] = None,
) -> None:
    """Unpack the files of an archived session and compare each with its checksum.

    Archives are read in place; no command requires the unpacked copy.

    \b
    Examples:
        rematch unpack strings-rounds
    """
    from harness.store import SessionFolder, Store

    root = find_root()
    result = _find(Store(root), session)
    if result.archive is None:
        raise InputError("not archived: its files can be read as they are", file=result.folder)
    target = to or root / "results" / "unpacked" / result.folder.parent.name / result.folder.name
    result.archive.unpack(target)
    problems = SessionFolder(target).verify()
    print(f"{target}: {len(result.finished())} trials, {len(result.archive.sizes)} files")
    for problem in problems:
        print(f"  {problem}")
    if problems:
        raise typer.Exit(1)


def _find(store: Store, name: str, *, measured_only: bool = False) -> SessionFolder:
    """Return the one session of that name; archived sessions come first when unpacking.

    Raises:
        InputError: there is none, or there are several.
    """
    bundled = False if measured_only else None
    candidates = _candidates(store, name, bundled=bundled)
    archived = [session for session in candidates if session.archive is not None]
    return _only(store, name, candidates if measured_only else archived or candidates, bundled=bundled)


def _candidates(store: Store, name: str, *, bundled: bool | None) -> list[SessionFolder]:
    """Return the sessions that ``EXPERIMENT`` or ``EXPERIMENT/SESSION`` may mean."""
    key = name.strip("/").removeprefix("bundled/")
    experiment, _, session_id = key.partition("/")
    return [
        session
        for session in store.sessions(bundled=bundled)
        if session.folder.parent.name == experiment and session_id in ("", session.folder.name)
    ]


def _only(store: Store, name: str, candidates: list[SessionFolder], *, bundled: bool | None) -> SessionFolder:
    if len(candidates) != 1:
        present = candidates or store.sessions(bundled=bundled)
        raise InputError(
            "several sessions of that name" if candidates else "no such session",
            place=name,
            found=", ".join(session.key for session in candidates) or "nothing",
            allowed=", ".join(session.key for session in present) or "none yet",
        )
    return candidates[0]


def tidy_command(
    experiment: Annotated[
        str | None,
        typer.Argument(help="experiment to convert; default: all", autocompletion=completion.experiments),
    ] = None,
) -> None:
    """Convert raw records to tables in data/processed and list excluded trials.

    \b
    Examples:
        rematch tidy
        rematch tidy strings-rounds
    """
    from harness.analysis.tables.tidy import tidy

    done = tidy(find_root(), None if experiment is None else [experiment])
    print(f"{done.n_fresh} trials read, {done.n_unchanged} unchanged")
    for item in done.experiments:
        counts = (
            f"{item.n_planned} planned, {item.n_made} made, {item.n_kept} kept, {item.n_excluded} excluded"
        )
        whose = " (bundled)" if item.source == "bundled" else ""
        print(f"{item.experiment}{whose}: {counts}")
        for excluded in item.excluded:
            print(f"  {excluded.trial}: {excluded.kind}: {excluded.reason}")
        for problem in item.problems:
            print(f"  {problem}")


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
    check: Annotated[bool, typer.Option("--check", hidden=True)] = False,
    dictionary: Annotated[
        bool, typer.Option("--dictionary", help="write docs/data-dictionary.md instead")
    ] = False,
) -> None:
    """Write the bundled sessions as a data package: archives, tables, claims, schema, metadata, checksums.

    datapackage.json has types, units and constraints of every column,
    ro-crate-metadata.json describes each file, checksums.sha256 is for sha256sum -c.

    \b
    Examples:
        rematch dataset
        rematch dataset /tmp/package --experiment strings-warm
    """
    from harness.publish.dataset import FOLDER, write_package
    from harness.questions import claims

    root = find_root()
    if check:
        raise InputError("is gone", place="--check", allowed="sha256sum -c checksums.sha256 in the package")
    if dictionary:
        if folder is not None:
            raise InputError("takes no folder", place="--dictionary", allowed="--dictionary alone")
        from harness.analysis.tables.schema import page

        path = root / "docs" / "data-dictionary.md"
        path.write_text(page(), "utf-8")
        print(f"the dictionary: {os.path.relpath(path)}")
        return
    target = root / FOLDER if folder is None else folder
    files = write_package(root, target, experiment, ledger=None if experiment else claims.of_bundled(root))
    size = sum((target / name).stat().st_size for name in files)
    print(f"{os.path.relpath(target)}: {len(files)} files, {size / 1e6:.1f} MB")


def clean_command(
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="this project's namespaces in the cluster of KUBECONFIG")
    ] = False,
) -> None:
    """Remove what sessions that were killed left behind. Nothing without this project's label is touched.

    A session that ends in an orderly way, or by Ctrl-C, leaves nothing. Built
    files, results and tools of this folder are removed by `make clean`.

    \b
    Examples:
        rematch clean --kubernetes
    """
    if not kubernetes:
        raise InputError("nothing to remove was named", allowed="--kubernetes")
    require_package("lightkube")
    from harness.launchers.kubernetes_cluster import Cluster, kubeconfig

    file = kubeconfig()
    if file is None:
        raise InputError("no kubeconfig", place="KUBECONFIG", allowed="the path of a cluster's kubeconfig")
    cluster = Cluster(file)
    try:
        gone = cluster.sweep(find_root(), living=True)
    finally:
        cluster.close()
    print(f"removed from {cluster.address}: {', '.join(gone) or 'nothing'}")
