# SPDX-License-Identifier: Apache-2.0
"""One cell that is always the same, measured before and after a session, against what it was on this machine before.

Its history are earlier sessions of the experiment ``known-cell`` and of ``passport``, whose cell it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import Field

from harness.analysis.stats.intervals import t_critical
from harness.evidence.experiment import Evidence
from harness.evidence.results import METRICS
from harness.model.base import Frozen

EXPERIMENT = "known-cell"
#: A value outside of the range in which the next one lies with this probability is unusual.
LEVEL = 0.99
#: Fewer earlier sessions than this say nothing of how much one differs from the next.
FEWEST = 3
_SHOWN = ("throughput", "cpu")


class CellValues(Frozen):
    """What the cell was in one session: a metric's name -> the geometric mean over its trials."""

    session: str
    started_epoch_s: float
    machine_id: str = Field(description="what has to be the same for two cells to be compared")
    profile: str
    values: Mapping[str, float]


class Drift(Frozen):
    """One metric of the cell over the geometric mean of the earlier ones, and the range of the next such ratio."""

    metric: str
    words: str
    ratio: float
    low: float | None
    high: float | None
    n_earlier: int

    @property
    def unusual(self) -> bool | None:
        """Whether the machine is not as it was; ``None``: there are too few earlier sessions."""
        return None if self.low is None or self.high is None else not self.low <= self.ratio <= self.high


def cell_values(evidence: Evidence) -> CellValues:
    """Return what the cell was in a session.

    Raises:
        InputError: the session is not tidied.
    """
    machine, trials = evidence.machine, evidence.trials
    kept = trials[~trials["excluded"].astype(bool)]
    columns = {metric.name: metric.column for metric in METRICS if metric.name in _SHOWN}
    return CellValues(
        session=evidence.sessions[0].key,
        started_epoch_s=evidence.header.provenance.started_epoch_s,
        machine_id=machine.identity,
        profile=evidence.profile,
        values={
            name: float(np.exp(np.log(told).mean()))
            for name, column in columns.items()
            if len(told := kept[column].dropna().to_numpy(dtype=np.float64))
        },
    )


def against_history(now: CellValues, earlier: Sequence[CellValues]) -> tuple[Drift, ...]:
    """Return each metric of the cell against the earlier ones of the same machine and profile.

    The range is Student's prediction interval of the log at ``LEVEL``: within it lies the next session of a machine
    that did not change.
    """
    before = [
        one
        for one in earlier
        if (one.machine_id, one.profile) == (now.machine_id, now.profile)
        and one.started_epoch_s < now.started_epoch_s
    ]
    found = []
    for metric in METRICS:
        logs = np.log([one.values[metric.name] for one in before if metric.name in one.values])
        if metric.name not in now.values or not len(logs):
            continue
        half = None
        if len(logs) >= FEWEST:
            spread = float(logs.std(ddof=1)) * float(np.sqrt(1 + 1 / len(logs)))
            half = float(t_critical(LEVEL, len(logs) - 1)) * spread
        found.append(
            Drift(
                metric=metric.name,
                words=metric.words,
                ratio=float(np.exp(np.log(now.values[metric.name]) - logs.mean())),
                low=None if half is None else float(np.exp(-half)),
                high=None if half is None else float(np.exp(half)),
                n_earlier=len(logs),
            )
        )
    return tuple(found)
