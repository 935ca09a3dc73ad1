# SPDX-License-Identifier: Apache-2.0
"""From ``data/raw`` to ``data/processed``: trials, requests and samples as Parquet, exclusions counted.

One trial is read at a time. What is unchanged is kept: the key of a trial is the hash of its record
(which holds the hashes of its files) and of the code that makes tables of it. A trial that cannot be
read is counted with its reason, and the others go on.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd
from pydantic import Field

from harness.analysis.tables import schema, trial_row
from harness.analysis.tables.bound_columns import bound_columns
from harness.analysis.tables.latency_columns import echo_reading
from harness.analysis.tables.layout import Processed, Source
from harness.analysis.tables.runtime_columns import (
    compiled_s,
    is_compiled_ahead,
    native_memory,
    request_columns,
    runtime_columns,
    with_age,
)
from harness.analysis.tables.speed_columns import exclude_other_speeds
from harness.analysis.tables.trial_files import damage_of, read_requests, read_samples
from harness.analysis.tables.warm_up_columns import window_table
from harness.errors import InputError
from harness.import_closure import SOURCES, closure_sha256
from harness.model import BuildRecord, EchoReading, TrialRecord
from harness.model.base import Frozen
from harness.model.session import label_of
from harness.store import SessionFolder, Store


class Excluded(Frozen):
    """A trial that does not enter the estimates, and why."""

    trial: str = Field(description="experiment/session/trial")
    kind: str = Field(description="the outcome, damaged, not made, or at another speed")
    reason: str


class ExperimentTidied(Frozen):
    """What became of one experiment's sessions of one source. Written as ``exclusions.json``."""

    experiment: str
    source: Source = Field(default="measured", description="sessions measured here, or those of the project")
    n_planned: int
    n_made: int
    n_kept: int
    n_excluded: int
    by_reason: dict[str, int] = Field(description="of planned trials that are not kept")
    excluded: tuple[Excluded, ...]
    problems: tuple[str, ...] = Field(default=(), description="sessions that could not be read at all")


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
    """Bring ``data/processed`` up to date with ``data/raw``.

    Args:
        root: the project's folder. experiments: names; ``None``: all there are.
        sources: sessions measured here, the ones that come with the project, or both.

    Raises:
        InputError: an experiment that has no session, or rows that break the schema.
        StoreError: ``data/processed`` cannot be written.
    """
    wanted = {"measured": False, "bundled": True}
    by_name: dict[str, dict[Source, list[SessionFolder]]] = {}
    for source in sources:
        for folder in Store(root).sessions(bundled=wanted[source]):
            by_name.setdefault(folder.folder.parent.name, {}).setdefault(source, []).append(folder)
    names = list(by_name) if experiments is None else list(dict.fromkeys(experiments))
    for name in names:
        if name not in by_name:
            raise InputError(
                "no session of this experiment", place=name, found="nothing in data/raw",
                allowed=", ".join(sorted(by_name)) or "measure one first: python -m harness measure NAME",
            )  # fmt: skip
    code = _code_hash()
    n_fresh = n_unchanged = 0
    results: list[ExperimentTidied] = []
    for name in sorted(names):
        for source, folders in by_name[name].items():
            one = _Tidying(root, name, source, folders, code)
            results.append(one.run())
            n_fresh += one.n_fresh
            n_unchanged += one.n_unchanged
    return TidyResult(n_fresh=n_fresh, n_unchanged=n_unchanged, experiments=tuple(results))


class _Tidying:
    """One experiment under way: collects rows and counts."""

    def __init__(
        self, root: Path, experiment: str, source: Source, sessions: Sequence[SessionFolder], code: str
    ) -> None:
        self.experiment = experiment
        self.sessions = sessions
        self.processed = Processed(root, experiment, source)
        self.code = code
        self.n_fresh = self.n_unchanged = self.n_planned = self.n_made = 0
        self.rows: list[dict[str, object]] = []
        self.factors: dict[str, None] = {}
        self.excluded: list[Excluded] = []
        self.problems: list[str] = []

    def run(self) -> ExperimentTidied:
        for session in self.sessions:
            try:
                header = session.header
            except InputError as error:
                self.problems.append(str(error))
                continue
            self.factors |= dict.fromkeys(map(schema.factor_column, header.experiment.factors))
            self.n_planned += len(header.plan.trials)
            finished = session.finished()
            self.n_made += len(finished)
            self.excluded += [
                Excluded(
                    trial=f"{session.key}/{t.trial_id}", kind="not made", reason="planned, without a record"
                )
                for t in header.plan.trials
                if t.trial_id not in finished
            ]
            builds, readings = self._builds(session), self._echo(session)
            n_before = len(self.rows)
            for planned in header.plan.trials:
                if planned.trial_id in finished:
                    self._trial(session, planned.trial_id, builds, readings)
            self.excluded += [
                Excluded(
                    trial=f"{session.key}/{row['trial_id']}",
                    kind="at another speed",
                    reason=str(row["exclusion_reason"]),
                )
                for row in exclude_other_speeds(self.rows[n_before:])
            ]
        frame = schema.as_trials(self.rows, tuple(self.factors))
        result = self._result(frame)
        self.processed.write_trials(frame)
        self.processed.write_exclusions(result.model_dump_json(indent=1))
        return result

    def _result(self, frame: pd.DataFrame) -> ExperimentTidied:
        n_kept = int((~frame["excluded"]).sum())
        return ExperimentTidied(
            experiment=self.experiment,
            source=self.processed.source,
            n_planned=self.n_planned,
            n_made=self.n_made,
            n_kept=n_kept,
            n_excluded=self.n_made - n_kept,
            by_reason=dict(sorted(Counter(e.kind for e in self.excluded).items())),
            excluded=tuple(self.excluded),
            problems=tuple(self.problems),
        )

    def _builds(self, session: SessionFolder) -> Mapping[str, BuildRecord]:
        try:
            return session.builds()
        except InputError as error:  # build times are lost, nothing else
            self.problems.append(str(error))
            return {}

    def _echo(self, session: SessionFolder) -> tuple[EchoReading, ...]:
        try:
            return session.echo()
        except InputError as error:  # what the echo service had is lost, nothing else
            self.problems.append(str(error))
            return ()

    def _trial(
        self,
        session: SessionFolder,
        trial_id: str,
        builds: Mapping[str, BuildRecord],
        readings: tuple[EchoReading, ...],
    ) -> None:
        key = f"{session.key}/{trial_id}"
        try:
            record = session.record(trial_id)
        except InputError as error:
            self.excluded.append(Excluded(trial=key, kind="damaged", reason=str(error)))
            return
        row = self._row(session, record, echo_reading(readings, record))
        planned = record.planned.configuration
        row["label"] = label_of(planned.variant_name, planned.variant, builds)
        build = record.planned.configuration.variant.implementation
        sha = record.instance.artifact_sha256 if record.instance else None
        row["build_s"] = trial_row.build_seconds(sha, build, builds)
        self.rows.append(row)
        if row["excluded"]:
            kind = "damaged" if str(row["exclusion_reason"]).startswith("damaged") else record.outcome.value
            self.excluded.append(Excluded(trial=key, kind=kind, reason=str(row["exclusion_reason"])))

    def _row(
        self, session: SessionFolder, record: TrialRecord, echo: EchoReading | None
    ) -> dict[str, object]:
        trial_id = record.planned.trial_id
        damage = damage_of(session, record)
        told = "" if echo is None else echo.model_dump_json()
        key = _hash(self.code, _hash(record.model_dump_json()), damage or "", told)
        kept = self.processed.kept_row(session.folder.name, trial_id, key)
        if kept is not None:
            self.n_unchanged += 1
            return kept
        self.n_fresh += 1
        requests = samples = native = None
        runtime: dict[str, object] = {}
        told_s: float | None = None
        if damage is None:
            try:
                requests = read_requests(session, record)
                samples = read_samples(session, record)
                native = native_memory(session, record)
                runtime = runtime_columns(session, record) | request_columns(session, record)
                runtime |= bound_columns(session, record, samples)
                told_s = compiled_s(session, record)
            except (InputError, ValueError, OSError) as error:  # a file that no reader can make sense of
                damage = f"damaged: {error}".replace("\n", " ")
        row = trial_row.trial_row(
            session.header,
            record,
            source=self.processed.source,
            requests=requests,
            samples=samples,
            echo=echo,
            damage=damage,
        )
        row = with_age(row | runtime, told_s, compiled_ahead=is_compiled_ahead(session.header, record))
        tables = {
            "requests": None if requests is None else requests.to_frame(),
            "samples": samples,
            "native_memory": native,
            "windows": window_table(record),
        }
        self.processed.write_trial(session.folder.name, trial_id, tables)
        self.processed.keep_row(session.folder.name, trial_id, key, row)
        return row


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _code_hash(root: Path = SOURCES) -> str:
    """Return a hash of this module and all it imports: a change of that code makes every table stale."""
    return closure_sha256(root, {__name__})
