# SPDX-License-Identifier: Apache-2.0
"""A measured session as data frames: trials, and the windows, samples, requests and pauses of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from harness.analysis.attribution.log_clock import service_log
from harness.analysis.evidence import Evidence
from harness.analysis.evidence.load_response import every, load_response
from harness.analysis.evidence.metrics import metrics_named, metrics_of
from harness.analysis.evidence.opening import find_evidence, make_tables, open_evidence
from harness.analysis.evidence.parameters import StageParameters
from harness.analysis.evidence.sessions import named_session
from harness.analysis.stats.pairing import counting
from harness.analysis.tables.schema import as_trials, factor_column
from harness.analysis.tables.tidy import read_seconds
from harness.definitions import experiment_files, load_study
from harness.errors import InputError
from harness.formats.jfr_json import CONTENTION, parse_contention
from harness.model import Experiment, TrialRecord
from harness.model.study import DeclaredComparison
from harness.project import find_root
from harness.publish.figures.style import VariantStyle, describe, variant_styles
from harness.rows import results
from harness.rows.schema import below, empty, records, stack
from harness.rows.session_results import overview
from harness.store import SessionFolder, Store

#: Columns of a trial that stand in each row of its windows, samples, requests and pauses.
OF_TRIAL = ("session_id", "trial_id", "variant", "label", "language", "block")
#: Columns of these frames where no trial has any, besides ``OF_TRIAL``.
WINDOWS = ("start_s", "duration_s", "n_requests", "n_errors", "cpu_s", "compile_s")
SAMPLES = ("role", "since_launch_s", "rss_bytes", "cpu_s")
SECONDS = ("since_start_s", "n_requests", "n_errors")
REQUESTS = ("start_epoch_s", "latency_s", "ok", "request")
PAUSES = ("start_s", "duration_s", "start_epoch_s")
LOCKS = ("lock", "n", "mean_s")
#: Columns that :meth:`Session.loads` adds to the trials (``load_response`` of ``harness.analysis.evidence``).
OF_LOAD = (
    "offered_per_s", "sustained_per_s", "serve_s", "error_share", "right_share", "drain_s", "most_connections",
)  # fmt: skip
_Read = Callable[[Evidence, str, str], pd.DataFrame | None]


@dataclass(frozen=True, kw_only=True)
class Session:
    """One session of an experiment; of one that was not measured every frame is empty.

    ``evidence``: its records and tables; ``None``: not measured.
    """

    root: Path
    experiment: str
    evidence: Evidence | None

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row a trial in the definition's order, with excluded ones and the reference's duplicates."""
        if self.evidence is None:
            return as_trials([], [factor_column(name) for name in self.definition.factors])
        return self.evidence.trials

    @property
    def counted(self) -> pd.DataFrame:
        """The trials that enter estimates: not excluded, and no duplicate."""
        return counting(self.trials)

    def loads(self, *, overloaded: bool = False) -> pd.DataFrame:
        """Return the trials with what the load did to each: offered rate, time to serve, shares, connections.

        ``overloaded``: count trials that were overloaded or failed, too: where the question is how a service fails.
        """
        frame = self._with_loads
        return every(frame) if overloaded else frame

    @cached_property
    def _with_loads(self) -> pd.DataFrame:
        response = load_response(self.evidence)
        frame = self.trials if response is None else response
        missing = [name for name in OF_LOAD if name not in frame]
        return frame.assign(**dict.fromkeys(missing, pd.Series(dtype="float64")))

    def windows(self, trials: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the windows in which each process was warmed up. ``trials``: of these; default: of ``counted``."""
        return self._frames(trials, WINDOWS, Evidence.windows)

    def samples(self, trials: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return memory and CPU time of each process over time. ``trials``: as of :meth:`windows`."""
        return self._frames(trials, SAMPLES, Evidence.trial_samples)

    def requests(self, trials: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the requests that were begun after the programs had settled. ``trials``: as of :meth:`windows`."""
        return self._frames(trials, REQUESTS, Evidence.requests)

    def seconds(self, trials: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the answers of each second of loads whose rows were counted. ``trials``: as of :meth:`windows`."""
        return self._frames(trials, SECONDS, lambda e, session, trial: read_seconds(e.folder(session), trial))

    def pauses(self, trials: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the pauses of the garbage collector by the runtime's log. ``trials``: as of :meth:`windows`."""
        return self._frames(trials, PAUSES, _pauses_of)

    def locks(self, trials: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return waits for locks by the lock's class, of JVMs that recorded them. ``trials``: as of :meth:`windows`."""
        return self._frames(trials, LOCKS, _locks_of)

    def record(self, trial: Mapping[str, Any]) -> TrialRecord:
        """Return all that was written of a trial: its phases, its process, its load."""
        if self.evidence is None:
            raise InputError("no such session here", place=self.experiment, found=trial["session_id"])
        return self.evidence.folder(trial["session_id"]).record(str(trial["trial_id"]))

    @property
    def definition(self) -> Experiment:
        """The experiment as it was measured; one that was not, as it is defined."""
        if self.evidence is None:
            return load_study(self.root, self.experiment).experiment
        return self.evidence.header.experiment

    @property
    def reference(self) -> str:
        """The variant that others are compared with."""
        return self.definition.reference if self.evidence is None else self.evidence.reference

    @property
    def declared(self) -> tuple[DeclaredComparison, ...]:
        """The comparisons that the experiment's file declares; without a file, those that the session stored."""
        if self.experiment in experiment_files(self.root):
            return load_study(self.root, self.experiment).experiment.compare
        return self.definition.compare

    def over(self, reference: str) -> Session:
        """Return the same session with another variant, which it must have, as the denominator."""
        return replace(self, evidence=None if self.evidence is None else self.evidence.over(reference))

    def everywhere(self) -> Session:
        """Return this session with those of its profile on other hosts, by other launchers and with other seeds."""
        if self.evidence is None:
            return self
        stored = Store(self.root).sessions(self.experiment, bundled=self.evidence.bundled)
        of_profile = (each for each in stored if each.header.plan.profile == self.evidence.profile)
        return _opened(self.root, self.experiment, *of_profile)

    def compare(self, *names: str, trials: pd.DataFrame | None = None, level: float = 0.95) -> pd.DataFrame:
        """Return the rows of the declared comparisons; where none is declared the ratios of :meth:`overview`.

        ``names``: only these results; ``trials``: in place of all.

        Raises:
            InputError: no such result is declared.
        """
        if not self.declared:
            usual = self.overview(*names, trials=trials, level=level)
            return usual[usual["kind"] == "ratio"]
        known = [name for declared in self.declared for name in declared.metrics]
        if unknown := [name for name in names if name not in known]:
            allowed = ", ".join(known)
            raise InputError("no such comparison", file=self.experiment, found=unknown[0], allowed=allowed)
        return stack(*(
            self._compare(declared, name, metric, trials, level)
            for declared in self.declared for name, metric in declared.metrics.items() if not names or name in names
        ))  # fmt: skip

    def overview(self, *names: str, trials: pd.DataFrame | None = None, level: float = 0.95) -> pd.DataFrame:
        """Return the rows of ``rematch results``: mean of each variant and its ratio to the reference, in the usual
        metrics, at each combination of levels. ``names``: only these metrics, such as ``cpu``.

        Raises:
            InputError: no such metric.
        """
        metrics, evidence = metrics_named(names), self.evidence
        if evidence is None:
            return empty()
        return overview(
            self.trials if trials is None else trials, metrics_of(evidence, metrics),
            reference=self.reference, by=evidence.factors, level=level,
        )  # fmt: skip

    @cached_property
    def looks(self) -> dict[str, VariantStyle]:
        """Variant -> how it is drawn: hue is the language, marker and line the implementation."""
        return variant_styles(self.trials) if len(self.trials) else {}

    @property
    def palette(self) -> dict[str, str]:
        """Label -> colour, for seaborn."""
        return {look.label: look.colour for look in self.looks.values()}

    @property
    def markers(self) -> dict[str, str]:
        """Label -> marker, for seaborn."""
        return {look.label: look.marker for look in self.looks.values()}

    def note(self, trials: pd.DataFrame | None = None) -> str:
        """Return what a caption states of trials: blocks, number, exclusions, duration, coding, young processes."""
        chosen = self.trials if trials is None else trials
        return describe(None if chosen.empty else chosen)

    def _compare(
        self, declared: DeclaredComparison, name: str, metric: str, trials: pd.DataFrame | None, level: float
    ) -> pd.DataFrame:
        if trials is None:
            trials = self.loads() if metric in OF_LOAD else self.trials
        for factor, value in declared.where.items():
            trials = trials[trials[factor_column(factor)] == value]
        options: dict[str, Any] = {"margin": declared.margin, "bounded": declared.bounded, "level": level}
        options["by"] = [factor_column(factor) for factor in declared.by]
        if declared.pairs:
            return results.pairs(trials, metric, name, declared.pairs, **options)
        if declared.along is not None and declared.base is not None:
            return results.along(
                trials, metric, name, factor=factor_column(declared.along), base=declared.base, **options
            )
        return results.compare(trials, metric, name, reference=declared.against or self.reference, **options)

    def _frames(self, trials: pd.DataFrame | None, columns: tuple[str, ...], read: _Read) -> pd.DataFrame:
        """Return the tables of trials below each other, each with the columns of its trial; trials without one have
        no rows."""
        chosen = self.counted if trials is None else trials
        frames = [
            frame.rename(columns={"label": "request"}).assign(**row)
            for row in records(chosen[list(OF_TRIAL)])
            if self.evidence is not None
            and (frame := read(self.evidence, row["session_id"], str(row["trial_id"]))) is not None
        ]
        return below(frames, *OF_TRIAL, *columns)


def _pauses_of(evidence: Evidence, session_id: str, trial_id: str) -> pd.DataFrame | None:
    folder = evidence.folder(session_id)
    record = folder.record(trial_id)
    if record.instance is None:
        return None
    launched = record.instance.launched.wall_epoch_s
    spans = service_log(folder, record).events.get("gc_pause", ())
    return pd.DataFrame([(low - launched, high - low, low) for low, high in spans], columns=list(PAUSES))


def _locks_of(evidence: Evidence, session_id: str, trial_id: str) -> pd.DataFrame | None:
    folder = evidence.folder(session_id)
    if not folder.has(trial_id, CONTENTION):
        return None
    with folder.open(trial_id, CONTENTION) as stream:
        waits = parse_contention(stream.read().decode())
    return pd.DataFrame([wait.model_dump() for wait in waits], columns=list(LOCKS))


def _opened(root: Path, experiment: str, *sessions: SessionFolder) -> Session:
    evidence = Evidence(root=root, experiment=experiment, sessions=sessions)
    make_tables(evidence)
    return Session(root=root, experiment=experiment, evidence=evidence)


def open_session(
    experiment: str, settings: StageParameters | None = None, *, session: str | None = None,
    root: Path | None = None,
) -> Session:  # fmt: skip
    """Open a session of an experiment, and print which one.

    Args:
        settings: a notebook's parameters; default: the newest complete session measured here, else the bundled one.
        session: its name, such as ``quick-local-8`` or ``bundled/quick-local-8``, in place of that.

    Raises:
        InputError: nothing was measured, or there is no such session.
    """
    project = root or find_root()
    if session is None:
        evidence = open_evidence(settings or StageParameters(profile="newest"), experiment, root=project)
        return Session(root=project, experiment=experiment, evidence=evidence)
    return _opened(
        project, experiment, named_session(Store(project).sessions(experiment), session, place=experiment)
    )


def find_session(experiment: str, settings: StageParameters, *, root: Path | None = None) -> Session:
    """Open a session that a notebook can do without: where nothing was measured, every frame of it is empty."""
    project = root or find_root()
    evidence = find_evidence(settings, experiment, root=project)
    return Session(root=project, experiment=experiment, evidence=evidence)


def sessions_of(
    experiment: str, settings: StageParameters, *, root: Path | None = None
) -> dict[str, Session]:
    """Return every complete session of an experiment, by its name and the day it began, oldest first.

    Of the profile ``sample`` those that come with the project, of ``newest`` these and all longer than smoke that were
    measured here, else those measured here of the profile.
    """
    project = root or find_root()
    begun: dict[float, SessionFolder] = {}
    for folder in Store(project).sessions(experiment):
        profile = folder.header.plan.profile
        if settings.bundled or settings.newest:
            wanted = folder.bundled or (settings.newest and profile != "smoke")
        else:
            wanted = not folder.bundled and profile == settings.profile
        if wanted and folder.complete:
            begun[folder.header.provenance.started_epoch_s] = folder
    opened = {}
    for epoch_s, folder in sorted(begun.items()):
        name = f"{experiment} {folder.folder.name}, {datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%d}"
        opened[name] = _opened(project, experiment, folder)
    return opened
