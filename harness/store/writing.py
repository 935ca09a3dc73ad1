# SPDX-License-Identifier: Apache-2.0
"""Writing ``data/raw``: whole trials, once. A kill at any moment loses at most the trial under way."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel

from harness.agent.files import file_sha256
from harness.errors import StoreError
from harness.model import (
    BuildRecord,
    Calibration,
    EchoReading,
    MemoryFit,
    Outcome,
    SessionHeader,
    StoredFile,
    TrialRecord,
)
from harness.store import layout
from harness.store.layout import (
    COMPRESSED,
    MIN_FREE_BYTES,
    explained,
    free_bytes,
    make_folder,
    no_space,
    pieces_of,
    replace,
    sync,
    write_gzip,
    write_synced,
)
from harness.store.reading import BUILDS, ECHO, SessionFolder

#: Files of a load generator below this stay readable with any editor.
PLAIN_BYTES = 4 * 1024


class TrialFolder:
    """A trial's folder while the trial is under way: everything is written straight into it."""

    def __init__(self, folder: Path, trial_id: str) -> None:
        self.folder = folder
        self.trial_id = trial_id
        self.load = folder / "load"


class SessionWriter:
    """The one writer of one session's folder; holds its lock until ``close``."""

    def __init__(self, folder: SessionFolder, *, min_free_bytes: int = MIN_FREE_BYTES) -> None:
        """Make the folder and take its lock; raises ``StoreError`` where it is full, read-only or locked."""
        self.session = folder
        self._min_free_bytes = min_free_bytes
        with explained(folder.folder):
            make_folder(folder.folder)
            self._lock = (folder.folder / layout.LOCK).open("a+")
        _lock(self._lock, folder.folder)

    def close(self) -> None:
        """Give the lock back."""
        self._lock.close()

    def write_header(self, header: SessionHeader) -> None:
        """Write ``session.json``. It is written once; a second call is an error."""
        self._write_once(layout.HEADER, header, "a header never changes")

    def write_builds(self, builds: dict[str, BuildRecord]) -> None:
        """Replace ``builds.json`` atomically."""
        replace(self.session.folder / layout.BUILDS, BUILDS.dump_json(builds, indent=1))

    def write_echo(self, readings: tuple[EchoReading, ...]) -> None:
        """Replace ``echo.json`` atomically."""
        replace(self.session.folder / layout.ECHO, ECHO.dump_json(readings, indent=1))

    def write_calibration(self, calibration: Calibration) -> None:
        """Write ``calibration.json``. It is written once, before the header that rests on it."""
        self._write_once(layout.CALIBRATION, calibration, "a session has one calibration")

    def write_memory(self, memory: MemoryFit) -> None:
        """Write ``memory.json``. It is written once, before the header that rests on it."""
        self._write_once(layout.MEMORY, memory, "what a session measured of memory never changes")

    def _write_once(self, name: str, content: BaseModel, why: str) -> None:
        path = self.session.folder / name
        if path.exists():
            raise StoreError(f"{path}: already written; {why}")
        replace(path, content.model_dump_json(indent=1).encode())

    def event(self, kind: str, **details: Any) -> None:
        """Append one line to ``events.jsonl``, on disk when this returns."""
        line = json.dumps({"at_epoch_s": time.time(), "event": kind, **details})
        path = self.session.folder / layout.EVENTS
        with explained(path), path.open("ab+") as stream:
            _end_cut_line(stream)
            stream.write(line.encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def sweep(self) -> tuple[str, ...]:
        """Move what a killed session left half-written to ``.interrupted``; return the names."""
        moved: list[str] = []
        with explained(self.session.folder):
            for partial in sorted(self.session.folder.glob(f"{layout.PARTIAL}*")):
                interrupted = self.session.folder / layout.INTERRUPTED
                interrupted.mkdir(exist_ok=True)
                trial_id = partial.name.removeprefix(layout.PARTIAL)
                number = 1 + sum(1 for _ in interrupted.glob(f"{trial_id}-*"))
                partial.rename(interrupted / f"{trial_id}-{number}")
                moved.append(trial_id)
        return tuple(moved)

    def begin(self, trial_id: str) -> TrialFolder:
        """Make the folder a trial writes into.

        Raises:
            StoreError: the trial is finished already, or there is too little space for it.
        """
        if (self.session.folder / trial_id).exists():
            raise StoreError(f"{self.session.key}/{trial_id}: finished already; it is never rewritten")
        self._check_space()
        partial = self.session.folder / f"{layout.PARTIAL}{trial_id}"
        with explained(partial):
            partial.mkdir()
            (partial / "load").mkdir()
        return TrialFolder(partial, trial_id)

    def finish(self, trial: TrialFolder, record: TrialRecord) -> TrialRecord:
        """Pack the trial's files, write its record last, and give the folder its name.

        Returns:
            The record with ``files`` filled in.

        Raises:
            StoreError: it could not be written; or the trial went wrong on a full disk, which is no outcome of it.
        """
        if record.outcome != Outcome.OK:
            self._check_space()
        with explained(trial.folder):
            _pack(trial.folder)
            complete = record.model_copy(update={"files": _inventory(trial.folder)})
            write_synced(trial.folder / layout.RECORD, complete.model_dump_json(indent=1).encode())
            for folder in (*sorted(trial.folder.rglob("*"), reverse=True), trial.folder):
                if folder.is_dir():
                    sync(folder)
            trial.folder.rename(self.session.folder / trial.trial_id)
            sync(self.session.folder)
        return complete

    def _check_space(self) -> None:
        if free_bytes(self.session.folder) < self._min_free_bytes:
            raise no_space(self.session.folder)


def _lock(stream: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        stream.seek(0)
        holder = stream.read().strip() or "unknown"
        stream.close()
        raise StoreError(
            f"{folder}: another session (process {holder}) measures here; wait for it, or choose another --seed"
        ) from None
    stream.truncate(0)
    stream.write(f"{os.getpid()}\n")
    stream.flush()


def _pack(folder: Path) -> None:
    """Compress in place, as ``write_gzip`` does."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.suffix in COMPRESSED or path.name == layout.RECORD:
            continue
        if path.parent != folder and path.stat().st_size < PLAIN_BYTES:
            sync(path)
            continue
        packed = path.with_name(path.name + ".gz")
        with path.open("rb") as source, packed.open("wb") as target:
            write_gzip(pieces_of(source), target)
            target.flush()
            os.fsync(target.fileno())
        path.unlink()


def _inventory(folder: Path) -> dict[str, StoredFile]:
    return {
        path.relative_to(folder).as_posix(): StoredFile(sha256=file_sha256(path), bytes=path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name != layout.RECORD
    }


def _end_cut_line(stream: IO[bytes]) -> None:
    """A kill in mid-write leaves a line without its end: the next event must not join it."""
    if stream.seek(0, os.SEEK_END):
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) != b"\n":
            stream.write(b"\n")
