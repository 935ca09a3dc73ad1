# SPDX-License-Identifier: Apache-2.0
"""From ``data/raw`` to ``data/processed``: trials, requests and samples as Parquet, exclusions counted.

What is unchanged is kept, by the hash of a trial's record and of the code that makes its tables. A trial that cannot be
read is counted with its reason.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pandas as pd

from harness.analysis.tables import schema, trial_row
from harness.analysis.tables.bound_columns import bound_columns
from harness.analysis.tables.layout import Excluded, ExperimentTidied, Processed, Source
from harness.analysis.tables.resource_columns import exclude_other_speeds
from harness.analysis.tables.runtime_columns import (
    compiled_s,
    is_compiled_ahead,
    request_columns,
    window_table,
    with_age,
)
from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.formats.wrk_histogram import (
    UNDONE,
    LatencyHistogram,
    expected_interval_us,
    read_wrk_histogram,
    undo_correction,
)
from harness.import_closure import SOURCES, closure_sha256
from harness.model import BuildRecord, ClosedLoad, EchoReading, TrialRecord
from harness.model.base import Frozen
from harness.model.session import echo_of, label_of
from harness.store import SessionFolder, Store

Value = TypeVar("Value")
SAMPLES = "samples.csv"
HISTOGRAM = "load/wrk_latency.csv"
#: Answers per second of a load whose rows were counted.
SECONDS = "load/seconds.csv"


def damage_of(session: SessionFolder, record: TrialRecord) -> str | None:
    """Return why a trial's files cannot be those it was recorded with; their size tells nearly always."""
    for name, stored in sorted(record.files.items()):
        found_bytes = session.size_bytes(record.planned.trial_id, name)
        if found_bytes is None:
            return f"damaged: {name} is missing"
        if found_bytes != stored.bytes:
            return f"damaged: {name} has {found_bytes} bytes, recorded were {stored.bytes}"
    return None


def read_requests(session: SessionFolder, record: TrialRecord) -> RequestTable | None:
    """Read the single requests of a trial; ``None``: its record has none."""
    if record.load is None or not record.load.has_requests:
        return None
    trial_id = record.planned.trial_id
    for name in sorted(record.files):
        plain = name.removesuffix(".gz")
        if not (plain.startswith("load/samples.") and plain.endswith((".jtl", ".csv", ".db"))):
            continue
        if session.sha256(trial_id, name) != record.files[name].sha256:
            raise InputError("its bytes are not those of the record", file=session.where(trial_id, name))
        table = read_any(session.path(trial_id, name))
        if isinstance(table, RequestTable):
            return table.placed(record.load.start_epoch_s) if table.from_zero else table
    why = "the record says that single requests were kept, but none are there"
    raise InputError(why, file=session.folder, place="load")


def read_restored(session: SessionFolder, record: TrialRecord) -> LatencyHistogram | None:
    """Restore the latencies of a trial of wrk from its file once more; ``None``: its record has none that were."""
    load, planned = record.load, record.planned.configuration.load
    if load is None or planned is None or load.latency_method != UNDONE:
        return None
    kinds = load.errors_by_kind
    n_answers = load.n_requests - sum(kinds.get(kind, 0) for kind in ("connect", "read", "write"))
    assert isinstance(planned.profile, ClosedLoad)  # wrk offers no other
    lasted_us, users = round(load.duration_s * 1e6), planned.profile.users
    interval_us = expected_interval_us(duration_us=lasted_us, n_answers=n_answers, connections=users)
    corrected = read_wrk_histogram(session.path(record.planned.trial_id, HISTOGRAM))
    return undo_correction(corrected, interval_us, n_recorded=n_answers - kinds.get("timeout", 0))


def read_seconds(session: SessionFolder, trial_id: str) -> pd.DataFrame | None:
    """Read how many answers came in each second of a load whose rows were counted; ``None``: they were not."""
    if not session.has(trial_id, SECONDS):
        return None
    with session.open(trial_id, SECONDS) as stream:
        return pd.read_csv(stream)


def read_samples(session: SessionFolder, record: TrialRecord) -> pd.DataFrame | None:
    """Read the samples that were taken of a trial's processes, with ``since_launch_s``; ``None``: there are none."""
    trial_id = record.planned.trial_id
    if not session.has(trial_id, SAMPLES):
        return None
    try:
        with session.open(trial_id, SAMPLES) as stream:
            frame = pd.read_csv(stream, dtype={"role": "str"})
        if frame.empty and "monotonic_s" in frame:  # a service that ended before the first tick
            frame = frame.astype({"monotonic_s": "float64"})
        if not {"monotonic_s", "role"} <= set(frame.columns) or frame["monotonic_s"].dtype.kind not in "if":
            raise ValueError("it lacks the columns monotonic_s and role, or has a time that is no number")
    except (EOFError, OSError, ValueError, zlib.error) as error:  # pandas' errors are values' errors
        raise InputError(
            f"cannot be read: {' '.join(str(error).split())[:120]}", file=session.where(trial_id, SAMPLES),
            allowed="the samples that a trial writes",
        ) from error  # fmt: skip
    if record.instance is not None:
        frame["since_launch_s"] = frame["monotonic_s"] - record.instance.launched.monotonic_s
    return frame


class TidyResult(Frozen):
    """What was done: how many trials were read anew, how many were unchanged."""

    n_fresh: int
    n_unchanged: int
    experiments: tuple[ExperimentTidied, ...]


def tidy(
    root: Path,
    experiments: Collection[str] | None = None,
    *,
    sources: Sequence[Source] = ("measured", "bundled"),
) -> TidyResult:
    """Bring ``data/processed`` up to date with ``data/raw``. Raises InputError: an experiment that has no session, or
    rows that break the schema. StoreError: ``data/processed`` cannot be written.

    Args:
        experiments: names; ``None``: all there are. sources: sessions measured here, those of the project, or both.
    """
    by_name: dict[str, dict[Source, list[SessionFolder]]] = {}
    for source in sources:
        for folder in Store(root).sessions(bundled=source == "bundled"):
            by_name.setdefault(folder.folder.parent.name, {}).setdefault(source, []).append(folder)
    names = set(by_name if experiments is None else experiments)
    if missing := sorted(names - set(by_name)):
        raise InputError(
            "no session of this experiment", place=missing[0], found="nothing in data/raw",
            allowed=", ".join(sorted(by_name)) or "measure one first: python -m harness measure NAME",
        )  # fmt: skip
    # a change of this module or of what it imports makes all stale
    code = closure_sha256(SOURCES, {__name__})
    work = [
        _Tidying(Processed(root, name, source), folders, code)
        for name in sorted(names)
        for source, folders in by_name[name].items()
    ]
    experiments_tidied = tuple(tidying.run() for tidying in work)
    n_fresh = sum(tidying.n_fresh for tidying in work)
    n_unchanged = sum(tidying.n_unchanged for tidying in work)
    return TidyResult(n_fresh=n_fresh, n_unchanged=n_unchanged, experiments=experiments_tidied)


class _Tidying:
    def __init__(self, processed: Processed, sessions: Sequence[SessionFolder], code: str) -> None:
        self.processed, self.sessions, self.code = processed, sessions, code
        self.n_fresh = self.n_unchanged = self.n_planned = self.n_made = 0
        self.rows: list[dict[str, object]] = []
        self.factors: dict[str, None] = {}
        self.excluded: list[Excluded] = []
        self.problems: list[str] = []

    def run(self) -> ExperimentTidied:
        for session in self.sessions:
            try:
                header, finished = session.header, session.finished()
            except InputError as error:
                self.problems.append(str(error))
                continue
            self.factors |= dict.fromkeys(map(schema.factor_column, header.experiment.factors))
            self.n_planned += len(header.plan.trials)
            self.n_made += len(finished)
            builds, readings = self._readable(session.builds) or {}, self._readable(session.echo) or ()
            n_before = len(self.rows)
            ids = [planned.trial_id for planned in header.plan.trials]
            for trial_id in (item for item in ids if item not in finished):
                self._exclude(session, trial_id, "not made", "planned, without a record")
            for trial_id in (item for item in ids if item in finished):
                self._trial(session, trial_id, builds, readings)
            for row in exclude_other_speeds(self.rows[n_before:]):
                reason = str(row["exclusion_reason"])
                self._exclude(session, str(row["trial_id"]), "at another speed", reason)
        frame = schema.as_trials(self.rows, tuple(self.factors))
        n_kept = int((~frame["excluded"]).sum())
        result = ExperimentTidied(
            experiment=self.processed.experiment, source=self.processed.source, n_planned=self.n_planned,
            n_made=self.n_made, n_kept=n_kept, n_excluded=self.n_made - n_kept,
            by_reason=dict(sorted(Counter(e.kind for e in self.excluded).items())),
            excluded=tuple(self.excluded), problems=tuple(self.problems),
        )  # fmt: skip
        self.processed.write_result(frame, result)
        return result

    def _readable(self, read: Callable[[], Value]) -> Value | None:
        try:
            return read()
        except InputError as error:  # build times, or what the echo service had, are lost, nothing else
            self.problems.append(str(error))
            return None

    def _exclude(self, session: SessionFolder, trial_id: str, kind: str, reason: str) -> None:
        self.excluded.append(Excluded(trial=f"{session.key}/{trial_id}", kind=kind, reason=reason))

    def _trial(
        self, session: SessionFolder, trial_id: str, builds: Mapping[str, BuildRecord], echo: Sequence[EchoReading]
    ) -> None:  # fmt: skip
        try:
            record = session.record(trial_id)
        except InputError as error:
            self._exclude(session, trial_id, "damaged", str(error))
            return
        planned = record.planned.configuration
        row = self._row(session, record, echo_of(planned, echo))
        row["label"] = label_of(planned.variant_name, planned.variant, builds)
        row["build_s"] = trial_row.build_seconds(record, builds)
        self.rows.append(row)
        if row["excluded"]:
            reason = str(row["exclusion_reason"])
            kind = "damaged" if reason.startswith("damaged") else record.outcome.value
            self._exclude(session, trial_id, kind, reason)

    def _row(
        self, session: SessionFolder, record: TrialRecord, echo: EchoReading | None
    ) -> dict[str, object]:
        trial_id = record.planned.trial_id
        damage = damage_of(session, record)
        echo_json = "" if echo is None else echo.model_dump_json()
        parts = (self.code, record.model_dump_json(), damage or "", echo_json)
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        stored = self.processed.kept_row(session.folder.name, trial_id, key)
        if stored is not None:
            self.n_unchanged += 1
            return stored
        self.n_fresh += 1
        requests = samples = known_s = None
        of_files: dict[str, object] = {}
        if damage is None:
            try:
                requests = read_requests(session, record)
                samples = read_samples(session, record)
                of_files = request_columns(session, record) | bound_columns(session, record, samples)
                known_s = compiled_s(session, record)
            except (InputError, ValueError, OSError) as error:  # a file that no reader can make sense of
                damage = f"damaged: {error}".replace("\n", " ")
        row = trial_row.trial_row(
            session.header, record, source=self.processed.source, requests=requests, samples=samples, echo=echo,
            damage=damage,
        )  # fmt: skip
        row = with_age(row | of_files, known_s, compiled_ahead=is_compiled_ahead(session.header, record))
        frames = {"requests": None if requests is None else requests.to_frame(), "samples": samples}
        self.processed.write_trial(
            session.folder.name, trial_id, frames | {"windows": window_table(record)}, key, row
        )
        return row
