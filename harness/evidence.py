# SPDX-License-Identifier: Apache-2.0
"""What an analysis notebook opens: the tables of one experiment, and the session they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import InputError
from harness.model import Machine, Phase, SessionHeader, TrialRecord
from harness.project import find_root
from harness.stages.parameters import StageParameters
from harness.stages.sessions import sessions_read
from harness.store import SessionFolder

PROCESSED = Path("data") / "processed"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One experiment's trials with their requests and samples. Tables as in ``docs/data.md``."""

    root: Path
    experiment: str
    sessions: tuple[SessionFolder, ...]

    @cached_property
    def header(self) -> SessionHeader:
        """The newest session's header: definition, plan, provenance."""
        return max((s.header for s in self.sessions), key=lambda header: header.provenance.started_epoch_s)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row per trial of these sessions, excluded ones too; by cell in the definition's order, then as made."""
        path = self._processed / "trials.parquet"
        if not path.is_file():
            raise InputError("not tidied yet; run notebooks/20-tidy.ipynb", file=path)
        frame = pd.read_parquet(path)
        mine = frame[frame["session_id"].isin([session.folder.name for session in self.sessions])]
        if mine.empty:
            raise InputError("holds no trial of this session; run notebooks/20-tidy.ipynb", file=path)
        places = [mine[factor].map(self._rank(factor)) for factor in self.factors]
        order = pd.concat([*places, mine["position"]], axis=1, keys=range(len(places) + 1))
        return mine.loc[order.sort_values(list(order.columns)).index].reset_index(drop=True)

    @property
    def reference(self) -> str:
        """The variant others are compared with."""
        return self.header.experiment.reference

    @property
    def machine(self) -> Machine:
        """The machine that was measured on."""
        return self.header.provenance.machine

    @property
    def profile(self) -> str:
        """How much was measured: smoke, quick, or full (also for data that come with the project)."""
        return self.header.plan.profile

    @property
    def draft(self) -> str | None:
        """Why this is no final result, for stamps; ``None``: profile full on a machine that is large enough."""
        reasons = [] if self.profile == "full" else [f"profile {self.profile}"]
        reasons += [f"{self.machine.n_cpus} shared cores"] if self.machine.small else []
        return f"draft measurement: {', '.join(reasons)}" if reasons else None

    @property
    def factors(self) -> tuple[str, ...]:
        """The experiment's factors: what tells the cells apart."""
        return tuple(self.header.experiment.factors)

    @property
    def variants(self) -> dict[str, str]:
        """Every variant of the definition with its label, measured or not."""
        return {name: v.label or name for name, v in self.header.experiment.variants.items()}

    def cell(self, **levels: str) -> pd.DataFrame:
        """Return the trials at these levels; where there are none, those of the last cell measured."""
        chosen = self._at(levels)
        return chosen if len(chosen) else self._at(self.cells()[-1])

    def cells(self) -> list[dict[str, str]]:
        """Return the combinations of levels that were measured, in the definition's order."""
        if not self.factors:
            return [{}]
        found = self.trials[list(self.factors)].drop_duplicates().to_dict("records")
        return [{str(factor): str(level) for factor, level in row.items()} for row in found]

    def latencies(self, trials: pd.DataFrame) -> dict[str, list[NDArray[np.float64]]]:
        """Return variant -> one array of latencies in seconds per trial (answered requests of kept trials).

        Trials of a tool that writes no row per request have none.
        """
        found: dict[str, list[NDArray[np.float64]]] = {}
        for row in _kept(trials).itertuples():
            path = self._processed / "requests" / str(row.session_id) / f"{row.trial_id}.parquet"
            if path.is_file():
                frame = pd.read_parquet(path, columns=["latency_s", "ok"])
                values = frame.loc[frame["ok"], "latency_s"].to_numpy(dtype=np.float64)
                if values.size:
                    found.setdefault(str(row.variant), []).append(values)
        return found

    def samples(self, trials: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return variant -> the samples of its first kept trial that has any."""
        found: dict[str, pd.DataFrame] = {}
        for row in _kept(trials).sort_values("position").itertuples():
            path = self._processed / "samples" / str(row.session_id) / f"{row.trial_id}.parquet"
            if str(row.variant) not in found and path.is_file():
                found[str(row.variant)] = pd.read_parquet(path)
        return found

    def phases(self, trials: pd.DataFrame, variant: str) -> list[tuple[str, float, float]]:
        """Return (name, start, end) in seconds since launch of the phases of a variant's first kept trial."""
        mine = _kept(trials)[lambda frame: frame["variant"] == variant].sort_values("position")
        if mine.empty:
            return []
        record = self._record(str(mine.iloc[0]["session_id"]), str(mine.iloc[0]["trial_id"]))
        if record.instance is None:
            return []
        launched = record.instance.launched.monotonic_s
        return [(phase.name, *_since(phase, launched)) for phase in record.phases]

    def audit(self) -> Mapping[str, int]:
        """Return how many trials were planned, made, and excluded, and why."""
        made, excluded = len(self.trials), self.trials["excluded"].astype(bool)
        reasons = self.trials.loc[excluded, "exclusion_reason"].value_counts()
        planned = sum(len(session.header.plan.trials) for session in self.sessions)
        return {"planned": planned, "made": made} | {f"excluded: {why}": int(n) for why, n in reasons.items()}

    @property
    def _processed(self) -> Path:
        return self.root / PROCESSED / self.experiment

    def _rank(self, factor: str) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.header.experiment.factors[factor])}

    def _at(self, levels: Mapping[str, str]) -> pd.DataFrame:
        chosen = self.trials
        for factor, level in levels.items():
            chosen = chosen[chosen[factor] == level]
        return chosen

    def _record(self, session_id: str, trial_id: str) -> TrialRecord:
        session = next(s for s in self.sessions if s.folder.name == session_id)
        return session.record(trial_id)


def open_evidence(settings: StageParameters, experiment: str, *, root: Path | None = None) -> Evidence:
    """Open what was measured of an experiment under these parameters (``sample``: what comes with the project).

    Raises:
        InputError: nothing was measured yet.
    """
    here = root or find_root()
    sessions = sessions_read(here, settings, experiment)
    if not sessions:
        raise InputError(
            "nothing measured yet; run notebooks/10-measure.ipynb", place=experiment,
            found=f"profile {settings.profile}, host {settings.host}, seed {settings.seed}",
        )
    return Evidence(root=here, experiment=experiment, sessions=sessions)


def _kept(trials: pd.DataFrame) -> pd.DataFrame:
    return trials[~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)]


def _since(phase: Phase, launched_s: float) -> tuple[float, float]:
    return phase.start.monotonic_s - launched_s, phase.end.monotonic_s - launched_s
