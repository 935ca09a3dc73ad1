# SPDX-License-Identifier: Apache-2.0
"""The layout of ``data/processed``: the only module that builds a path there. Files are replaced whole.

Measured and bundled sessions have folders of their own: measuring changes nothing of what the profile ``sample`` reads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no types

from harness.errors import InputError, StoreError
from harness.model.base import Frozen

Source = Literal["measured", "bundled"]
PROCESSED = Path("data") / "processed"
BUNDLED = "bundled"
TRIALS = "trials.parquet"
EXCLUSIONS = "exclusions.json"
KEPT = ".rows"
#: Folders with one table a trial.
TrialTable = Literal["requests", "samples", "windows"]
TRIAL_TABLES: tuple[TrialTable, ...] = get_args(TrialTable)


def tables_folder(root: Path, experiment: str, source: Source) -> Path:
    """Return the folder of an experiment's derived tables: ``data/processed/[bundled/]<experiment>``."""
    base = Path(root) / PROCESSED
    return base / BUNDLED / experiment if source == "bundled" else base / experiment


class Excluded(Frozen):
    """A trial that does not enter the estimates, and why."""

    trial: str  # experiment/session/trial
    kind: str  # the outcome, damaged, not made, or at another speed
    reason: str


class ExperimentTidied(Frozen):
    """What became of one experiment's sessions of one source. Written as ``exclusions.json``."""

    experiment: str
    source: Source = "measured"  # sessions measured here, or those of the project
    n_planned: int
    n_made: int
    n_kept: int
    n_excluded: int
    by_reason: dict[str, int]  # of planned trials that are not kept
    excluded: tuple[Excluded, ...]
    problems: tuple[str, ...] = ()  # sessions that could not be read at all


class Processed:
    """The derived tables of one experiment, of its sessions measured here or of its bundled ones."""

    def __init__(self, root: Path, experiment: str, source: Source) -> None:
        self.experiment, self.source = experiment, source
        self.folder = tables_folder(root, experiment, source)

    def path(self, kind: str, session: str, trial: str, suffix: str = ".parquet") -> Path:
        """Return where a trial's table stands: ``<kind>/<session>/<trial>.parquet``."""
        return self.folder / kind / session / f"{trial}{suffix}"

    def kept_row(self, session: str, trial: str, key: str) -> dict[str, object] | None:
        """Return the row made earlier under the same key; ``None``: it is stale or was never made."""
        try:
            stored = json.loads(self.path(KEPT, session, trial, ".json").read_text(encoding="utf-8"))
            if stored["key"] == key and all((self.folder / name).is_file() for name in stored["tables"]):
                return dict(stored["row"])
        except (OSError, ValueError, KeyError, TypeError):  # half-written or of an older make: made anew
            pass
        return None

    def write_trial(
        self,
        session: str,
        trial: str,
        tables: Mapping[str, pd.DataFrame | None],
        key: str,
        row: dict[str, object],
    ) -> None:
        """Write a trial's tables by kind, remove those that it has no more, and keep its row for next time. Raises
        StoreError: the disk is full or the folder cannot be written; as of :meth:`write_result`."""
        paths = {kind: self.path(kind, session, trial) for kind in TRIAL_TABLES}
        for kind, path in paths.items():
            frame = tables.get(kind)
            if frame is None:
                path.unlink(missing_ok=True)
            else:
                self._parquet(path, frame)
        names = [path.relative_to(self.folder).as_posix() for path in paths.values() if path.is_file()]
        self._text(
            self.path(KEPT, session, trial, ".json"), json.dumps({"key": key, "tables": names, "row": row})
        )

    def write_result(self, trials: pd.DataFrame, result: ExperimentTidied) -> None:
        """Replace ``trials.parquet`` and ``exclusions.json``."""
        self._parquet(self.folder / TRIALS, trials)
        self._text(self.folder / EXCLUSIONS, result.model_dump_json(indent=1) + "\n")

    def _parquet(self, path: Path, frame: pd.DataFrame) -> None:
        # as `to_parquet` makes it, which starts a pool of threads for each table of a few hundred rows
        table = pa.Table.from_pandas(frame, preserve_index=False, nthreads=1)
        self._replace(path, lambda fresh: pq.write_table(table, fresh, compression="zstd"))

    def _text(self, path: Path, text: str) -> None:
        self._replace(path, lambda fresh: fresh.write_text(text, "utf-8"))

    def _replace(self, path: Path, write: Callable[[Path], object]) -> None:
        fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                write(fresh)
                fresh.replace(path)
            finally:
                fresh.unlink(missing_ok=True)
        except OSError as error:
            why = f"{path}: cannot be written ({error.strerror or error})"
            todo = "make room or make data/processed writable, then run: python -m harness tidy"
            raise StoreError(f"{why}; {todo}") from error


def load_trials(root: Path, experiment: str, source: Source | None = None) -> pd.DataFrame:
    """Return the table of trials of one experiment, columns as in ``docs/data-dictionary.md``; of the sessions measured
    here, else of the bundled ones, where ``source`` is ``None``. Raises InputError: not tidied yet, unreadable, or no
    trial."""
    if source is None:
        measured = tables_folder(root, experiment, "measured") / TRIALS
        source = "measured" if measured.is_file() else "bundled"
    frame = _read(tables_folder(root, experiment, source) / TRIALS)
    if frame.empty:
        raise InputError(f"no trial of {experiment}", place="source", found=source, allowed="one at least")
    return frame.reset_index(drop=True)


def load_table(
    root: Path, experiment: str, kind: TrialTable, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return one trial's table, columns as in ``docs/data.md``. Raises InputError: there is none."""
    return _read(Processed(root, experiment, source).path(kind, session, trial))


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise _not_there(path)
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:  # pyarrow's errors are of these two kinds
        raise InputError(
            f"cannot be read ({error})", file=path,
            allowed="delete data/processed and run: python -m harness tidy",
        ) from error  # fmt: skip


def load_exclusions(root: Path, experiment: str, *, source: Source = "measured") -> ExperimentTidied:
    """Return how many trials were planned, made and left out, and why. Raises InputError: not tidied yet."""
    path = tables_folder(root, experiment, source) / EXCLUSIONS
    try:
        return ExperimentTidied.model_validate(json.loads(path.read_text("utf-8")), strict=False)
    except OSError as error:
        raise _not_there(path) from error


def _not_there(path: Path) -> InputError:
    return InputError("is not there", file=path, allowed="make it with: python -m harness tidy")
