# SPDX-License-Identifier: Apache-2.0
"""Reading ``data/raw``: sessions, their trials' records, and the files beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.agent.files import file_sha256
from harness.errors import InputError
from harness.model import BuildRecord, Calibration, EchoReading, MemoryFit, SessionHeader, TrialRecord
from harness.store import layout
from harness.store.archive import SUFFIX, Archive, archive_at, archive_of, open_path

T = TypeVar("T")
BUILDS: TypeAdapter[dict[str, BuildRecord]] = TypeAdapter(dict[str, BuildRecord])
ECHO: TypeAdapter[tuple[EchoReading, ...]] = TypeAdapter(tuple[EchoReading, ...])
_CALIBRATION: TypeAdapter[Calibration | None] = TypeAdapter(Calibration)
_MEMORY: TypeAdapter[MemoryFit | None] = TypeAdapter(MemoryFit)
_HEADER = TypeAdapter(SessionHeader)
_STORED: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_RECORD = TypeAdapter(TrialRecord)


class Store:
    """Everything measured below one project's root folder."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self.raw = self.root / layout.RAW
        self.bundled = self.raw / layout.BUNDLED

    def sessions(
        self, experiment: str | None = None, *, bundled: bool | None = None
    ) -> tuple[SessionFolder, ...]:
        """Return the sessions that have a header, measured here first, then bundled, by name.

        ``bundled``: only (True) or not (False) those that come with the project; ``None``: all.
        """
        return tuple(
            SessionFolder(folder, bundled=is_bundled)
            for base, is_bundled in ((self.raw, False), (self.bundled, True))
            if bundled in (None, is_bundled)
            for folder in _session_folders(base, experiment)
            if is_bundled or folder.parent.name != layout.BUNDLED
        )

    def session(self, experiment: str, session_id: str) -> SessionFolder:
        """Return the folder of a session measured here; it need not exist yet."""
        return SessionFolder(self.raw / experiment / session_id)

    def find_trial(self, key: str) -> tuple[SessionFolder, str]:
        """Resolve ``experiment/session/trial`` (or ``bundled/experiment/session/trial``).

        Raises:
            InputError: there is no record at that key.
        """
        session_key, _, trial_id = key.rpartition("/")
        folder = SessionFolder(self.raw / session_key, bundled=key.startswith(f"{layout.BUNDLED}/"))
        if not session_key or not folder.exists or not folder.has(trial_id, layout.RECORD):
            raise InputError("no such trial in data/raw", found=key, allowed="experiment/session/trial")
        return folder, trial_id


class SessionFolder:
    """One session on disk, read only: a folder, or the archive beside where the folder would be.

    Everything is read when asked for; only the header is kept. Where both exist, the folder is read. A file that is
    missing or damaged is an ``InputError`` that names it and the place in it.
    """

    def __init__(self, folder: Path, *, bundled: bool = False) -> None:
        self.folder = folder
        self.bundled = bundled

    @property
    def key(self) -> str:
        """``experiment/session``, with ``bundled/`` before it for what comes with the project."""
        name = f"{self.folder.parent.name}/{self.folder.name}"
        return f"{layout.BUNDLED}/{name}" if self.bundled else name

    @cached_property
    def archive(self) -> Archive | None:
        """The session's archive; ``None`` where its files lie in a folder, or where there is neither."""
        packed = archive_of(self.folder)
        return archive_at(packed) if packed.is_file() and not self._has_header else None

    @property
    def exists(self) -> bool:
        return self.archive is not None or self._has_header

    @property
    def _has_header(self) -> bool:
        return (self.folder / layout.HEADER).is_file()

    @cached_property
    def header(self) -> SessionHeader:
        """Return what was written before the first trial."""
        return self._json(layout.HEADER, _HEADER)

    def stored_header(self) -> dict[str, Any]:
        """Return the header as it was written, without the fields that the model has had since."""
        return self._json(layout.HEADER, _STORED)

    def finished(self) -> frozenset[str]:
        """Return the ids of the planned trials that have a record."""
        return frozenset(
            trial.trial_id for trial in self.header.plan.trials if self.has(trial.trial_id, layout.RECORD)
        )

    @property
    def complete(self) -> bool:
        """Every planned trial has a record."""
        return {trial.trial_id for trial in self.header.plan.trials} <= self.finished()

    def record(self, trial_id: str) -> TrialRecord:
        """Return one trial's record."""
        result = self._json(f"{trial_id}/{layout.RECORD}", _RECORD)
        if result.planned.trial_id != trial_id:  # its id becomes the name of derived files
            raise InputError(
                "damaged: the record of another trial", file=self.where(trial_id, layout.RECORD),
                place="planned.trial_id", found=result.planned.trial_id, allowed=trial_id,
            )  # fmt: skip
        return result

    def records(self) -> Iterator[TrialRecord]:
        """Yield the records of the finished trials in the order of the plan."""
        finished = self.finished()
        for trial in sorted(self.header.plan.trials, key=lambda trial: trial.position):
            if trial.trial_id in finished:
                yield self.record(trial.trial_id)

    @property
    def disturbed(self) -> bool:
        """Whether other work took the machine's CPUs in more than half of the finished trials, as flagged."""
        flagged = ["noisy_machine" in record.flags for record in self.records()]
        return 2 * sum(flagged) > len(flagged)

    def builds(self) -> dict[str, BuildRecord]:
        """Return implementation (or implementation and AOT setting) -> how its artifact was made."""
        return self._json(layout.BUILDS, BUILDS, {})

    def echo(self) -> tuple[EchoReading, ...]:
        """Return what the generators reached against the echo service."""
        return self._json(layout.ECHO, ECHO, ())

    def calibration(self) -> Calibration | None:
        """Return the capacity that the session's scaled loads are shares of; ``None``: not measured (yet)."""
        return self._json(layout.CALIBRATION, _CALIBRATION, None)

    def memory(self) -> MemoryFit | None:
        """Return what was measured of memory before the first trial; ``None``: nothing is (yet), or was needed."""
        return self._json(layout.MEMORY, _MEMORY, None)

    def events(self) -> tuple[dict[str, Any], ...]:
        """Return the session's log; a last line cut by a kill is left out."""
        events = []
        known = self._size(layout.EVENTS) is not None
        for line in self._bytes(layout.EVENTS).splitlines() if known else ():
            with suppress(ValueError):
                events.append(json.loads(line))
        return tuple(event for event in events if isinstance(event, dict))

    def path(self, trial_id: str, name: str) -> Path:
        """Return a path at which a trial's file can be read; the compressed one when there is only that.

        Of an archived session it is a copy, which is gone when the process ends; where the archive has the content
        of a compressed file, a copy of that, without ``.gz``. Where the trial left no such file, the path does not
        exist.
        """
        stored = self._stored_name(trial_id, name)
        if self.archive is None or self._size(stored) is None:
            return self.folder / stored
        return self.archive.extracted(stored)

    def where(self, trial_id: str, name: str) -> Path:
        """Return what to call a trial's file in a message; of an archived session, the archive is part of it."""
        base = self.folder if self.archive is None else self.archive.path
        return base / self._stored_name(trial_id, name)

    def has(self, trial_id: str, name: str) -> bool:
        """Tell whether the trial left this file, compressed or not."""
        return self.size_bytes(trial_id, name) is not None

    def size_bytes(self, trial_id: str, name: str) -> int | None:
        """Return the stored size of a trial's file, compressed or not; ``None``: it left no such file."""
        return self._size(self._stored_name(trial_id, name))

    def sha256(self, trial_id: str, name: str) -> str:
        """Return the SHA-256 of a trial's file by its name in the record; of an archived one as it was when packed."""
        if self._size(f"{trial_id}/{name}") is None:
            raise InputError("the trial left no such file", file=self.where(trial_id, name))
        if self.archive is None:
            return file_sha256(self.folder / trial_id / name)
        if listed := self.archive.listed_sha256(f"{trial_id}/{name}"):
            return listed
        if (recorded := self.record(trial_id).files.get(name)) is None:
            problem = (
                "damaged: the hash of its compressed bytes is neither in the list nor in the trial's record"
            )
            raise InputError(problem, file=self.where(trial_id, name))
        return recorded.sha256

    def open(self, trial_id: str, name: str) -> IO[bytes]:
        """Open a trial's file for reading, decompressed. ``name`` with or without ``.gz``."""
        plain = name.removesuffix(".gz")
        if not self.has(trial_id, plain):
            raise InputError("the trial left no such file", file=self.where(trial_id, plain))
        if self.archive is not None:
            return self.archive.open_content(self._stored_name(trial_id, plain))
        return open_path(self.path(trial_id, plain))

    def verify(self) -> tuple[str, ...]:
        """Compare every stored file with its record; return what is wrong, one line each.

        What an archive has the content of is compressed again. Where another zlib than the one that packed the session
        gives other bytes, nothing is wrong: checksums of the archive and of the block cover the content.
        """
        problems: list[str] = []
        other_zlib = self.archive is not None and not self.archive.compresses_alike
        for trial_id in sorted(self.finished()):
            try:
                files = self.record(trial_id).files
            except InputError as error:
                problems.append(str(error))
                continue
            for name, recorded in files.items():
                where, stored = self.where(trial_id, name), f"{trial_id}/{name}"
                if self._size(stored) is None:
                    problems.append(f"{where}: missing")
                elif hashlib.sha256(self._bytes(stored)).hexdigest() == recorded.sha256:
                    continue
                elif self.sha256(trial_id, name) != recorded.sha256:
                    problems.append(f"{where}: its bytes are not those of the record")
                elif not other_zlib:
                    problems.append(f"{where}: compressed again, its bytes are not those of the record")
        return tuple(problems)

    def sources(self) -> tuple[Path, ...]:
        """Return the files on disk whose bytes decide what the session holds: its archive, or its header and
        records (a record has the hashes of its trial's other files)."""
        if self.archive is not None:
            return (self.archive.path,)
        above = (layout.HEADER, layout.BUILDS, layout.ECHO)
        records = (f"{trial_id}/{layout.RECORD}" for trial_id in sorted(self.finished()))
        return tuple(self.folder / name for name in (*above, *records))

    def _stored_name(self, trial_id: str, name: str) -> str:
        """Relative to the session's folder; with ``.gz`` when only the compressed file is there."""
        plain = f"{trial_id}/{name}"
        return f"{plain}.gz" if self._size(plain) is None and self._size(f"{plain}.gz") is not None else plain

    def _size(self, name: str) -> int | None:
        if self.archive is not None:
            return self.archive.sizes.get(name)
        path = self.folder / name
        return path.stat().st_size if path.is_file() else None

    def _bytes(self, name: str) -> bytes:
        return (self.folder / name).read_bytes() if self.archive is None else self.archive.read(name)

    def _json(self, name: str, adapter: TypeAdapter[T], *absent: T) -> T:
        """Return what a file says; ``absent``: what a session without it says, at most one."""
        if absent and self._size(name) is None:
            return absent[0]
        file = (self.folder if self.archive is None else self.archive.path) / name
        try:
            return adapter.validate_json(self._bytes(name))
        except FileNotFoundError:
            raise InputError("missing", file=file) from None
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=file) from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or None
            raise InputError(f"damaged: {first['msg']}", file=file, place=place) from None


def _session_folders(base: Path, experiment: str | None) -> list[Path]:
    """Folders of sessions, and where those of archives would be; each once, by name."""
    folders = {path.parent for path in base.glob(f"{experiment or '*'}/*/{layout.HEADER}")}
    packed = base.glob(f"{experiment or '*'}/*{SUFFIX}")
    return sorted(folders | {path.with_name(path.name.removesuffix(SUFFIX)) for path in packed})
