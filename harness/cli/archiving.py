# SPDX-License-Identifier: Apache-2.0
"""``rematch pack`` and ``rematch unpack``: between a session's folder and one archive with a checksum."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.errors import InputError
from harness.project import find_root

if TYPE_CHECKING:
    from harness.store import SessionFolder, Store


def pack_command(
    session: Annotated[
        str,
        typer.Argument(
            help="EXPERIMENT/SESSION, as `rematch measure` prints it; with --again also EXPERIMENT"
        ),
    ],
    to: Annotated[
        Path | None, typer.Option("--to", help="folder of the archive (default: among the bundled sessions)")
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="replace a session's archive by a smaller one with the same files"),
    ] = False,
) -> None:
    """Write a measured session as one archive, with its SHA-256 beside it. The session itself is kept.

    With --again, archives of an earlier version of this program are packed as archives are now; before one is
    replaced, every file of the new one is compared with the old one's. EXPERIMENT alone means all of its archives.

    Examples:

        rematch pack strings-rounds/quick-local-1

        rematch pack strings-rounds --again
    """
    from harness.store import Store, archive_of, pack

    root = find_root()
    store = Store(root)
    if again:
        _pack_again(store, session, to)
        return
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

    Examples:

        rematch unpack strings-rounds
    """
    from harness.store import SessionFolder, Store
    from harness.store.gzipping import library

    root = find_root()
    result = _find(Store(root), session)
    if result.archive is None:
        raise InputError("not archived: its files can be read as they are", file=result.folder)
    target = to or root / "results" / "unpacked" / result.folder.parent.name / result.folder.name
    result.archive.unpack(target)
    checked = SessionFolder(target).check()
    print(f"{target}: {len(result.finished())} trials, {len(result.archive.sizes)} files")
    if checked.recompressed:
        print(
            f"  not damaged: {len(checked.recompressed)} .gz files hold what was measured, but zlib {library()} "
            "compresses it to other bytes than their records name; recompressed.json lists them"
        )
    for problem in checked.problems:
        print(f"  {problem}")
    if checked.problems:
        raise typer.Exit(1)


def _pack_again(store: Store, session: str, to: Path | None) -> None:
    from harness.store import pack_again

    if to is not None:
        raise InputError(
            "--again replaces an archive where it is", place="--to", found=str(to), allowed="without --to"
        )
    candidates = _candidates(store, session, bundled=None)
    archives = [candidate.archive for candidate in candidates if candidate.archive is not None]
    if not archives:
        result = _only(store, session, candidates, bundled=None)
        raise InputError("not archived", file=result.folder, allowed="`rematch pack` without --again")
    for archive in archives:
        done = pack_again(archive)
        before, after = done.bytes_before / 1e6, done.bytes_after / 1e6
        if done.replaced:
            print(f"{archive.path}: {before:.2f} MB before, {after:.2f} MB now; the same files, byte by byte")
        else:
            print(f"{archive.path}: {before:.2f} MB, kept: packed again it is not smaller")


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
        there = candidates or store.sessions(bundled=bundled)
        raise InputError(
            "several sessions of that name" if candidates else "no such session",
            place=name,
            found=", ".join(session.key for session in candidates) or "nothing",
            allowed=", ".join(session.key for session in there) or "none yet",
        )
    return candidates[0]
