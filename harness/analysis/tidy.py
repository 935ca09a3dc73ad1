# SPDX-License-Identifier: Apache-2.0
"""From ``data/raw`` to ``data/processed``: trials, requests and samples as Parquet, exclusions counted.

One trial is read at a time. What is unchanged is kept: the key of a trial is the hash of its record
(which holds the hashes of its files) and of the code that makes tables of it. A trial that cannot be
read is counted with its reason, and the others go on.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import Field

from harness.analysis import schema, trial_rows
from harness.analysis.processed import Processed, Source
from harness.analysis.trial_runtime import native_memory, runtime_columns
from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.table import RequestTable, together
from harness.model import BuildRecord, TrialRecord
from harness.model.base import Frozen
from harness.store import SessionFolder, Store
from harness.store.reading import file_sha256

SAMPLES = "samples.csv"
_PACKAGE = Path(__file__).resolve().parent.parent
#: Code that decides what a trial's tables hold; a change of it makes every table stale.
_CODE = (
    "analysis/tidy.py",
    "analysis/trial_rows.py",
    "analysis/trial_runtime.py",
    "analysis/schema.py",
    "analysis/quantiles.py",
    "formats/*.py",
    "model/*.py",
)

Profile = Literal["sample", "smoke", "quick", "full"]


class Excluded(Frozen):
    """A trial that does not enter the estimates, and why."""

    trial: str = Field(description="experiment/session/trial")
    kind: str = Field(description="the outcome, damaged, or not made")
    reason: str


class ExperimentTidied(Frozen):
    """What became of one experiment. Written as ``exclusions.json``."""

    experiment: str
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
    folders = [s for source in sources for s in Store(root).sessions(bundled=wanted[source])]
    by_name: dict[str, list[SessionFolder]] = {}
    for folder in folders:
        by_name.setdefault(folder.folder.parent.name, []).append(folder)
    names = list(by_name) if experiments is None else list(dict.fromkeys(experiments))
    for name in names:
        if name not in by_name:
            raise InputError(
                "no session of this experiment", place=name, found="nothing in data/raw",
                allowed=", ".join(sorted(by_name)) or "measure one first: python -m harness measure NAME",
            )  # fmt: skip
    code = _code_hash()
    done = [_Tidying(root, name, by_name[name], code) for name in sorted(names)]
    results = tuple(one.run() for one in done)
    return TidyResult(
        n_fresh=sum(one.n_fresh for one in done),
        n_unchanged=sum(one.n_unchanged for one in done),
        experiments=results,
    )


class _Tidying:
    """One experiment under way: collects rows and counts."""

    def __init__(self, root: Path, experiment: str, sessions: Sequence[SessionFolder], code: str) -> None:
        self.experiment = experiment
        self.sessions = sessions
        self.processed = Processed(root, experiment)
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
            builds = self._builds(session)
            for planned in header.plan.trials:
                if planned.trial_id in finished:
                    self._trial(session, planned.trial_id, builds)
        frame = schema.as_trials(self.rows, tuple(self.factors))
        result = self._result(frame)
        self.processed.write_trials(frame)
        self.processed.write_exclusions(result.model_dump_json(indent=1))
        return result

    def _result(self, frame: pd.DataFrame) -> ExperimentTidied:
        n_kept = int((~frame["excluded"]).sum())
        return ExperimentTidied(
            experiment=self.experiment,
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

    def _trial(self, session: SessionFolder, trial_id: str, builds: Mapping[str, BuildRecord]) -> None:
        key = f"{session.key}/{trial_id}"
        try:
            record = session.record(trial_id)
        except InputError as error:
            self.excluded.append(Excluded(trial=key, kind="damaged", reason=str(error)))
            return
        row = self._row(session, record)
        build = record.planned.configuration.variant.implementation
        sha = record.instance.artifact_sha256 if record.instance else None
        row["build_s"] = trial_rows.build_seconds(sha, build, builds)
        self.rows.append(row)
        if row["excluded"]:
            kind = "damaged" if str(row["exclusion_reason"]).startswith("damaged") else record.outcome.value
            self.excluded.append(Excluded(trial=key, kind=kind, reason=str(row["exclusion_reason"])))

    def _row(self, session: SessionFolder, record: TrialRecord) -> dict[str, object]:
        trial_id = record.planned.trial_id
        source: Source = "bundled" if session.bundled else "measured"
        damage = _damage(session, record)
        key = _hash(self.code, _hash(record.model_dump_json()), damage or "")
        kept = self.processed.kept_row(source, session.folder.name, trial_id, key)
        if kept is not None:
            self.n_unchanged += 1
            return kept
        self.n_fresh += 1
        requests = samples = native = None
        runtime: dict[str, object] = {}
        if damage is None:
            try:
                requests = _requests(session, record)
                samples = _samples(session, record)
                native = native_memory(session, record)
                runtime = runtime_columns(session, record)
            except (InputError, ValueError, OSError) as error:  # a file that no reader can make sense of
                damage = f"damaged: {error}".replace("\n", " ")
        row = trial_rows.trial_row(
            session.header, record, source=source, requests=requests, samples=samples, damage=damage
        )
        row |= runtime
        tables = {
            "requests": None if requests is None else requests.to_frame(),
            "samples": samples,
            "native_memory": native,
        }
        self.processed.write_trial(source, session.folder.name, trial_id, tables)
        self.processed.keep_row(source, session.folder.name, trial_id, key, row)
        return row


def _damage(session: SessionFolder, record: TrialRecord) -> str | None:
    """Return why a trial's files cannot be those it was recorded with; their size tells nearly always."""
    for name, stored in sorted(record.files.items()):
        path = session.path(record.planned.trial_id, name)
        if not path.is_file():
            return f"damaged: {name} is missing"
        if path.stat().st_size != stored.bytes:
            return f"damaged: {name} has {path.stat().st_size} bytes, recorded were {stored.bytes}"
    return None


def _requests(session: SessionFolder, record: TrialRecord) -> RequestTable | None:
    """Read the single requests of a trial, as its record says that there are some; of several generators
    all together, on the first one's clock."""
    if record.load is None or not record.load.has_requests:
        return None
    if not record.generators:
        return _rows_in(session, record, "load", record.load.start_epoch_s)
    tables = [
        _rows_in(session, record, one.folder, one.load.start_epoch_s if one.load else None)
        for one in record.generators
    ]
    return together(tables, [one.clock_shift_s for one in record.generators])


def _rows_in(
    session: SessionFolder, record: TrialRecord, folder: str, start_epoch_s: float | None
) -> RequestTable:
    """Read the one file in a generator's folder that holds single requests."""
    for path in _load_files(session, record, folder):
        table = read_any(path)
        if isinstance(table, RequestTable):
            return table.placed(start_epoch_s) if table.from_zero else table
    raise InputError(
        "the record says that single requests were kept, but none are there",
        file=session.folder,
        place=folder,
    )


def _load_files(session: SessionFolder, record: TrialRecord, folder: str) -> Iterator[Path]:
    trial_id = record.planned.trial_id
    for name in sorted(record.files):
        plain = name.removesuffix(".gz")
        if plain.startswith(f"{folder}/samples.") and plain.endswith((".jtl", ".csv", ".db")):
            path = session.path(trial_id, name)
            if file_sha256(path) != record.files[name].sha256:
                raise InputError("its bytes are not those of the record", file=path)
            yield path


def _samples(session: SessionFolder, record: TrialRecord) -> pd.DataFrame | None:
    trial_id = record.planned.trial_id
    if not session.has(trial_id, SAMPLES):
        return None
    with session.open(trial_id, SAMPLES) as stream:
        frame = pd.read_csv(stream, dtype={"role": "str"})
    if record.instance is not None:
        frame["since_launch_s"] = frame["monotonic_s"] - record.instance.launched.monotonic_s
    return frame


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _code_hash() -> str:
    files = sorted({path for pattern in _CODE for path in _PACKAGE.glob(pattern)})
    return _hash(*(path.read_text(encoding="utf-8") for path in files))


def load_trials(root: Path, experiment: str, profile: Profile | None = None) -> pd.DataFrame:
    """Return the table of trials of one experiment, columns as in ``docs/data.md``.

    Args:
        profile: ``sample``: the bundled session; ``smoke``, ``quick``, ``full``: sessions measured here
            with that profile; ``None``: all measured here, or the bundled one when there are none.

    Raises:
        InputError: not tidied yet, or no such session.
    """
    frame = Processed(root, experiment).read_trials()
    bundled = frame["source"] == "bundled"
    if profile is None:
        chosen = ~bundled if (~bundled).any() else bundled
    elif profile == "sample":
        chosen = bundled
    else:
        chosen = ~bundled & (frame["profile"] == profile)
    if not chosen.any():
        there = sorted({"sample" if b else str(p) for b, p in zip(bundled, frame["profile"], strict=True)})
        raise InputError(
            f"no trial of {experiment} for this profile",
            place="profile",
            found=profile,
            allowed=", ".join(there),
        )
    return frame[chosen].reset_index(drop=True)


def load_requests(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return one trial's requests: ``start_epoch_s``, ``latency_s``, ``ok``, ``label``, in the tool's order.

    Raises:
        InputError: the tool wrote no single requests, or the experiment is not tidied yet.
    """
    return Processed(root, experiment).read_table("requests", source, session, trial)


def load_samples(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return one trial's resource samples, one row per process and tick, with ``since_launch_s``.

    Raises:
        InputError: there are none, or the experiment is not tidied yet.
    """
    return Processed(root, experiment).read_table("samples", source, session, trial)


def load_native_memory(
    root: Path, experiment: str, session: str, trial: str, *, source: Source = "measured"
) -> pd.DataFrame:
    """Return a JVM's native memory by boundary and category, columns as in ``docs/data.md``.

    Raises:
        InputError: the trial was made without native memory tracking, or the experiment is not tidied yet.
    """
    return Processed(root, experiment).read_table("native_memory", source, session, trial)


def load_exclusions(root: Path, experiment: str) -> ExperimentTidied:
    """Return how many trials were planned, made and left out, and why.

    Raises:
        InputError: not tidied yet.
    """
    return ExperimentTidied.model_validate(
        json.loads(Processed(root, experiment).read_exclusions()), strict=False
    )
