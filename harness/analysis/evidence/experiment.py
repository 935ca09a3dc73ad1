# SPDX-License-Identifier: Apache-2.0
"""What an analysis notebook opens: the tables of one experiment, and the session they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

import pandas as pd

from harness.analysis.evidence.sessions import complete_sessions
from harness.analysis.stats.pairing import with_plain_texts
from harness.analysis.tables.layout import Source, TrialTable, load_table, load_trials
from harness.analysis.tables.schema import factor_column
from harness.analysis.tables.trial_row import settled_requests
from harness.errors import InputError
from harness.model import Machine, SessionHeader, TrialRecord
from harness.model.session import label_of
from harness.store import SessionFolder, Store

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One experiment's trials with their requests and samples; ``against``: the reference in place of its own."""

    root: Path
    experiment: str
    sessions: tuple[SessionFolder, ...]
    against: str | None = None

    def __repr__(self) -> str:
        return f"evidence of {', '.join(session.key for session in self.sessions)}"

    @cached_property
    def header(self) -> SessionHeader:
        """The newest session's header: definition, plan, provenance."""
        return max((s.header for s in self.sessions), key=lambda header: header.provenance.started_epoch_s)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row per trial of these sessions, excluded ones too; by cell and variant in the definition's order."""
        frame = load_trials(self.root, self.experiment, "bundled" if self.bundled else None)
        of_sessions = frame["session_id"].isin([session.folder.name for session in self.sessions])
        chosen = frame[of_sessions & (frame["source"] == self._source)]
        if chosen.empty:
            raise InputError("not tidied yet; run notebooks/20-tidy.ipynb", place=self.sessions[0].key)
        orders = {
            factor_column(name): list(levels) for name, levels in self.header.experiment.factors.items()
        }
        orders["variant"] = list(self.variants)
        places = [
            chosen[name].map({level: place for place, level in enumerate(levels)})
            for name, levels in orders.items()
        ]
        order: pd.DataFrame = pd.concat([*places, chosen["position"]], axis=1, ignore_index=True)
        return with_plain_texts(
            chosen.loc[order.sort_values(list(order.columns)).index].reset_index(drop=True)
        )

    @property
    def bundled(self) -> bool:
        """Whether these sessions come with the project, so that nothing of them was measured here."""
        return self.sessions[0].bundled

    def folder(self, session_id: str) -> SessionFolder:
        """Return the session of this name. Raises InputError: it is none of these."""
        for session in self.sessions:
            if session.folder.name == session_id:
                return session
        raise InputError("no such session here", place=self.experiment, found=session_id)

    @property
    def reference(self) -> str:
        """The variant others are compared with: the definition's, or that of :meth:`over`."""
        return self.against or self.header.experiment.reference

    def over(self, reference: str) -> Evidence:
        """Return the same sessions with another reference. Raises InputError: the definition has no such variant."""
        if reference not in self.variants:
            raise InputError(
                "no such variant", place="reference", found=reference, allowed=", ".join(self.variants)
            )
        return replace(self, against=reference)

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
        return tuple(factor_column(factor) for factor in self.header.experiment.factors)

    @cached_property
    def variants(self) -> dict[str, str]:
        """Every variant of the definition with its label, which says of a build what it is, measured or not."""
        builds = {name: build for session in self.sessions for name, build in session.builds().items()}
        variants = self.header.experiment.variants
        return {name: label_of(name, variant, builds) for name, variant in variants.items()}

    def cell(self, **levels: str) -> pd.DataFrame:
        """Return the trials at these levels."""
        chosen = self.trials
        for factor, level in levels.items():
            chosen = chosen[chosen[factor] == level]
        return chosen

    def cells(self) -> list[dict[str, str]]:
        """Return the combinations of levels that were measured, in the definition's order."""
        if not self.factors:
            return [{}]
        levels = self.trials[list(self.factors)].drop_duplicates().to_dict("records")
        return [{str(factor): str(level) for factor, level in row.items()} for row in levels]

    @cached_property
    def _made(self) -> dict[tuple[object, ...], object]:
        return {}

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return what ``make`` returns, which is called once for a key of these sessions."""
        if key not in self._made:
            self._made[key] = make()
        return cast("T", self._made[key])

    @cached_property
    def other_sessions(self) -> tuple[Evidence, ...]:
        """The other complete sessions of the experiment with the same profile and host, the newest first: of those that
        come with the project, or of those measured here, as these are."""
        own, plan = {session.key for session in self.sessions}, self.header.plan
        stored = Store(self.root).sessions(self.experiment, bundled=self.bundled)
        return tuple(
            replace(self, sessions=(session,))
            for session in complete_sessions(session for session in stored if session.key not in own)
            if (session.header.plan.profile, session.header.plan.host) == (plan.profile, plan.host)
        )

    @cached_property
    def programs(self) -> dict[str, set[tuple[str, str]]]:
        """Variant -> (SHA-256 of the artifact, version of the runtime) of its trials."""
        artifacts: dict[str, set[tuple[str, str]]] = {}
        for row, _, record in self.with_records():
            if (instance := record.instance) is not None:
                program = instance.artifact_sha256, str(instance.runtime_version)
                artifacts.setdefault(str(row["variant"]), set()).add(program)
        return artifacts

    def requests(self, session_id: str, trial_id: str) -> pd.DataFrame | None:
        """Return one trial's requests as ``docs/data.md`` has them; ``None``: its tool wrote no single ones. Those
        begun while programs still settled (``settle_s`` of the profile) are left out, as in ``trials``."""
        whole = self.whole_requests(session_id, trial_id)
        return None if whole is None else self.settled(whole, session_id)

    def settled(self, whole: pd.DataFrame, session_id: str) -> pd.DataFrame:
        """Return those of a trial's requests (``whole_requests``) that were begun after programs had settled."""
        return settled_requests(whole, self.folder(session_id).header.settle_s)

    def whole_requests(self, session_id: str, trial_id: str) -> pd.DataFrame | None:
        """Return one trial's requests from the first on: for warm-up and totals; ``None``: no single ones."""
        return self._table("requests", session_id, trial_id)

    def with_records(self) -> Iterator[tuple[pd.Series, SessionFolder, TrialRecord]]:
        """Yield each row of ``trials`` with its session and its record."""
        for _, row in self.trials.iterrows():
            session = self.folder(str(row["session_id"]))
            yield row, session, session.record(str(row["trial_id"]))

    def trial_samples(self, session_id: str, trial_id: str) -> pd.DataFrame | None:
        """Return one trial's samples as ``docs/data.md`` has them; ``None``: it left none."""
        return self._table("samples", session_id, trial_id)

    def windows(self, session_id: str, trial_id: str) -> pd.DataFrame | None:
        """Return the windows in which a trial's process was warmed up; ``None``: none, or an earlier trial's."""
        return self._table("windows", session_id, trial_id)

    @property
    def _source(self) -> Source:
        return "bundled" if self.bundled else "measured"

    def _table(self, kind: TrialTable, session_id: str, trial_id: str) -> pd.DataFrame | None:
        try:
            return load_table(self.root, self.experiment, kind, session_id, trial_id, source=self._source)
        except InputError:  # a tool without single requests, or a trial without samples
            return None
