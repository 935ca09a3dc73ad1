# SPDX-License-Identifier: Apache-2.0
"""The articles' programs with and without a log line: over the reference, over themselves, and with another lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.pairing import inputs_of
from harness.evidence import Evidence
from harness.evidence.load_response import effect_between
from harness.formats.jfr_contention import CONTENTION, Contention, parse_contention
from harness.model import TrialRecord
from harness.store import SessionFolder

LOGGING, OFF, ON = "logging", "off", "on"
#: Levels of the factor ``load``: as many requests as can be answered, and the plan of the articles.
SATURATION, PLAN = "saturation", "published"
#: The program whose lock is asked about, and word -> the same program with another lock.
LOCKED = "java-helidon"
OTHER_LOCKS = {"none": "helidon-unlocked", "jdk": "helidon-jdk-lock"}
#: Records who waited for a lock, and is compared with nobody.
RECORDED = "helidon-recorded"
#: The part of a class name that says whose lock it is.
HANDLER = "PublishedLog"


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Who waited for the handler's lock, in all recorded processes at one level of logging."""

    n_processes: int
    n_requests: int
    n_waits: int
    waited_s: float
    inputs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AsPublished:
    """The trials of ``strings-published``; ``cpus``: of the services, every number of them that was given."""

    evidence: Evidence
    trials: pd.DataFrame
    cpus: tuple[float, ...]

    def at(self, load: str) -> pd.DataFrame:
        """Return the trials of one load, those that are only recorded left out."""
        here = self.trials["load"] == load
        return self.trials[here & (self.trials["variant"] != RECORDED)]

    def cell(self, load: str, logging: str) -> pd.DataFrame:
        """Return those at one level of logging."""
        mine = self.at(load)
        return mine[mine[LOGGING] == logging]

    def over_reference(self, metric: str, load: str, logging: str) -> Mapping[str, Comparison]:
        """Return variant -> its comparison with the reference; empty: there are no trials of both."""
        cell = self.cell(load, logging)
        if not _told(cell, metric) or self.evidence.reference not in set(cell["variant"]):
            return {}
        return {one.variant: one for one in compare(cell, metric, reference=self.evidence.reference)}

    def log_effects(self, metric: str, load: str) -> Mapping[str, Comparison]:
        """Return variant -> the metric with a line per request over that without, block by block."""
        cell = self.at(load)
        found = {
            name: effect_between(cell, LOGGING, metric, variant=name, base=OFF, other=ON)
            for name in dict.fromkeys(cell["variant"].astype(str))
        }
        return {name: one for name, one in found.items() if one is not None}

    def other_lock(self, metric: str, which: str) -> Mapping[str, Comparison]:
        """Return level of logging -> the program with another lock over the published one, at saturation.

        Without a log line the two do the same, so that their ratio is a check of the method.
        """
        cell = self.at(SATURATION)
        pair = cell[cell["variant"].isin([LOCKED, OTHER_LOCKS[which]])]
        if not _told(pair, metric) or pair["variant"].nunique() < 2:
            return {}
        return {one.levels[LOGGING]: one for one in compare(pair, metric, reference=LOCKED, by=[LOGGING])}

    def waits(self, logging: str) -> Waits | None:
        """Return who waited for the handler's lock; ``None``: no process was recorded at this level."""
        chosen = (self.trials["variant"] == RECORDED) & (self.trials[LOGGING] == logging)
        mine = self.trials[chosen & ~self.trials["excluded"].astype(bool)]
        waited = [
            _contention(session, str(row["trial_id"]))
            for row, session, _ in self.evidence.with_records()
            if row.name in mine.index and session.has(str(row["trial_id"]), CONTENTION)
        ]
        if not waited:
            return None
        ours = [one for found in waited for one in found if HANDLER in one.lock]
        return Waits(
            n_processes=len(waited),
            n_requests=sum(
                _n_requests(record)
                for row, _, record in self.evidence.with_records()
                if row.name in mine.index
            ),
            n_waits=sum(one.n for one in ours),
            waited_s=sum(one.n * one.mean_s for one in ours),
            inputs=inputs_of(mine),
        )


def programs_as_published(evidence: Evidence | None) -> AsPublished | None:
    """Return the trials taken apart; ``None``: nothing was measured."""
    if evidence is None or evidence.trials.empty:
        return None
    given = [
        record.instance.cpu_limit
        for _, _, record in evidence.with_records()
        if record.instance is not None and record.instance.cpu_limit is not None
    ]
    return AsPublished(
        evidence=evidence, trials=evidence.trials, cpus=tuple(sorted({float(one) for one in given}))
    )


def _contention(session: SessionFolder, trial: str) -> tuple[Contention, ...]:
    with session.open(trial, CONTENTION) as stream:
        return parse_contention(stream.read().decode())


def _n_requests(record: TrialRecord) -> int:
    """The requests of a trial, and of the warm-up of the process that it began."""
    begins = record.planned.process_of is None
    windows = record.warm_up.windows if record.warm_up and begins else ()
    return sum(one.n_requests for one in windows) + (record.load.n_requests if record.load else 0)


def _told(cell: pd.DataFrame, metric: str) -> bool:
    kept = cell[~cell["excluded"].astype(bool)]
    return not kept.empty and bool(kept[metric].notna().any())
