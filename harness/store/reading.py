# SPDX-License-Identifier: Apache-2.0
"""Reading ``data/raw``: sessions, their trials' records, and the files beside them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from harness.contents import file_sha256
from harness.errors import InputError
from harness.model import BuildRecord, Calibration, EchoReading, MemoryFit, SessionHeader, TrialRecord
from harness.store import layout

T = TypeVar("T")
_BUILDS: TypeAdapter[dict[str, BuildRecord]] = TypeAdapter(dict[str, BuildRecord])
_ECHO: TypeAdapter[tuple[EchoReading, ...]] = TypeAdapter(tuple[EchoReading, ...])
_CALIBRATION = TypeAdapter(Calibration)
_MEMORY = TypeAdapter(MemoryFit)
_HEADER = TypeAdapter(SessionHeader)
_RECORD = TypeAdapter(TrialRecord)


class Store:
    """Everything measured below one project's root folder."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self.raw = self.root / layout.RAW

    def sessions(
        self, experiment: str | None = None, *, bundled: bool | None = None
    ) -> tuple[SessionFolder, ...]:
        """Return the sessions that have a header, measured here first, then bundled, by name.

        ``bundled``: only (True) or not (False) those that come with the project; ``None``: all.
        """
        found: list[SessionFolder] = []
        for base, is_bundled in ((self.raw, False), (self.raw / layout.BUNDLED, True)):
            if bundled is None or bundled == is_bundled:
                pattern = f"{experiment or '*'}/*/{layout.HEADER}"
                found += [
                    SessionFolder(path.parent, bundled=is_bundled)
                    for path in sorted(base.glob(pattern))
                    if is_bundled or path.parent.parent.name != layout.BUNDLED
                ]
        return tuple(found)

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
        if not session_key or not folder.path(trial_id, layout.RECORD).is_file():
            raise InputError("no such trial in data/raw", found=key, allowed="experiment/session/trial")
        return folder, trial_id


class SessionFolder:
    """One session on disk, read only. Everything is read when asked for; only the header is kept."""

    def __init__(self, folder: Path, *, bundled: bool = False) -> None:
        self.folder = folder
        self.bundled = bundled

    @property
    def key(self) -> str:
        """``experiment/session``, with ``bundled/`` before it for what comes with the project."""
        name = f"{self.folder.parent.name}/{self.folder.name}"
        return f"{layout.BUNDLED}/{name}" if self.bundled else name

    @property
    def exists(self) -> bool:
        return (self.folder / layout.HEADER).is_file()

    @cached_property
    def header(self) -> SessionHeader:
        """Return what was written before the first trial.

        Raises:
            InputError: missing, damaged, or of another schema.
        """
        return _read_json(self.folder / layout.HEADER, _HEADER)

    def finished(self) -> frozenset[str]:
        """Return the ids of the planned trials that have a record."""
        return frozenset(
            trial.trial_id
            for trial in self.header.plan.trials
            if self.path(trial.trial_id, layout.RECORD).is_file()
        )

    @property
    def complete(self) -> bool:
        """Every planned trial has a record."""
        return len(self.finished()) == len(self.header.plan.trials)

    def record(self, trial_id: str) -> TrialRecord:
        """Return one trial's record.

        Raises:
            InputError: there is none, or it is damaged: names the file and the place in it.
        """
        return _read_json(self.path(trial_id, layout.RECORD), _RECORD)

    def records(self) -> Iterator[TrialRecord]:
        """Yield the records of the finished trials in the order of the plan."""
        finished = self.finished()
        for trial in sorted(self.header.plan.trials, key=lambda trial: trial.position):
            if trial.trial_id in finished:
                yield self.record(trial.trial_id)

    def builds(self) -> dict[str, BuildRecord]:
        """Return implementation (or implementation and AOT setting) -> how its artifact was made."""
        path = self.folder / layout.BUILDS
        return _read_json(path, _BUILDS) if path.is_file() else {}

    def echo(self) -> tuple[EchoReading, ...]:
        """Return what the generators reached against the echo service."""
        path = self.folder / layout.ECHO
        return _read_json(path, _ECHO) if path.is_file() else ()

    def calibration(self) -> Calibration | None:
        """Return the capacity that the session's scaled loads are shares of; ``None``: not measured (yet)."""
        path = self.folder / layout.CALIBRATION
        return _read_json(path, _CALIBRATION) if path.is_file() else None

    def memory(self) -> MemoryFit | None:
        """Return what was measured of memory before the first trial; ``None``: nothing is (yet), or was needed."""
        path = self.folder / layout.MEMORY
        return _read_json(path, _MEMORY) if path.is_file() else None

    def events(self) -> tuple[dict[str, Any], ...]:
        """Return the session's log; a last line cut by a kill is left out."""
        path = self.folder / layout.EVENTS
        lines = path.read_text("utf-8", errors="replace").splitlines() if path.is_file() else []
        return tuple(event for line in lines if (event := _json_or_none(line)) is not None)

    def path(self, trial_id: str, name: str) -> Path:
        """Return where a trial's file lies; the compressed one when only that stands there."""
        plain = self.folder / trial_id / name
        packed = plain.with_name(plain.name + ".gz")
        return packed if packed.is_file() and not plain.is_file() else plain

    def has(self, trial_id: str, name: str) -> bool:
        """Tell whether the trial left this file, compressed or not."""
        return self.path(trial_id, name).is_file()

    def open(self, trial_id: str, name: str) -> IO[bytes]:
        """Open a trial's file for reading, decompressed. ``name`` with or without ``.gz``.

        Raises:
            InputError: there is no such file.
        """
        path = self.path(trial_id, name.removesuffix(".gz"))
        if not path.is_file():
            raise InputError("the trial left no such file", file=path)
        return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")

    def verify(self) -> tuple[str, ...]:
        """Compare every stored file with its record; return what is wrong, one line each."""
        problems: list[str] = []
        for trial_id in sorted(self.finished()):
            try:
                files = self.record(trial_id).files
            except InputError as error:
                problems.append(str(error))
                continue
            for name, stored in files.items():
                path = self.folder / trial_id / name
                if not path.is_file():
                    problems.append(f"{path}: missing")
                elif file_sha256(path) != stored.sha256:
                    problems.append(f"{path}: its bytes are not those of the record")
        return tuple(problems)


def _json_or_none(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _read_json(path: Path, adapter: TypeAdapter[T]) -> T:
    try:
        return adapter.validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError("missing", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or None
        raise InputError(f"damaged: {first['msg']}", file=path, place=place) from None
