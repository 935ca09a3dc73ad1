# SPDX-License-Identifier: Apache-2.0
"""A machine's passport: the smallest ratio that sessions of so many blocks tell there, and whether it changed.

It is read from a session of the experiment ``passport``: one Go service, twice in each block. Sessions are kept, so an
earlier one of the same machine is what a new one is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy  # loads its slow submodules when they are first used
from pydantic import Field

from harness.analysis.evidence.experiment import Evidence
from harness.analysis.evidence.metrics import METRICS, Metric
from harness.analysis.stats.sample_size import Detectable, power_curve
from harness.model.base import Frozen

EXPERIMENT = "passport"
#: Two spreads are told apart at this level: passports are compared often.
_ALPHA = 0.01
_SHOWN = ("throughput", "mean", "cpu", "memory", "start")


class Line(Frozen):
    """One metric: the spread of the log ratio within blocks, and what it lets sessions tell, by design."""

    metric: str
    words: str
    n_pairs: int
    sd_log_ratio: float | None
    blocked: tuple[Detectable, ...] = Field(description="arms in random order within each block")


class Passport(Frozen):
    """What one session says of its machine."""

    session: str
    started_epoch_s: float
    machine: str
    machine_id: str = Field(description="what has to be the same for two passports to be compared")
    draft: str | None
    lines: tuple[Line, ...]


class Change(Frozen):
    """The spread of one metric now over that of an earlier passport; ``p_value``: of the F test of equal variances."""

    metric: str
    words: str
    earlier: str
    ratio: float
    p_value: float

    @property
    def changed(self) -> bool:
        """Whether the machine has become quieter or noisier in this metric."""
        return self.p_value <= _ALPHA


def passport_of(evidence: Evidence) -> Passport:
    """Return the passport that a session of the reference against itself makes. Raises InputError: it is not tidied."""
    machine = evidence.machine
    lines = (_line(evidence, metric) for metric in METRICS if metric.name in _SHOWN)
    return Passport(
        session=evidence.sessions[0].key, started_epoch_s=evidence.header.provenance.started_epoch_s,
        machine=f"{machine.cpu_model}, {machine.n_cpus} CPUs", machine_id=machine.identity, draft=evidence.draft,
        lines=tuple(line for line in lines if line is not None),
    )  # fmt: skip


def changes(now: Passport, earlier: Sequence[Passport]) -> tuple[Change, ...]:
    """Return how each metric's spread compares with the newest earlier passport of the same machine that has it."""
    before = [
        passport
        for passport in sorted(earlier, key=lambda passport: -passport.started_epoch_s)
        if passport.machine_id == now.machine_id
        and passport.session != now.session
        and passport.started_epoch_s <= now.started_epoch_s
    ]
    compared = []
    for line in (line for line in now.lines if line.sd_log_ratio):
        pairs = ((p, each) for p in before for each in p.lines if each.metric == line.metric)
        known = next((pair for pair in pairs if pair[1].sd_log_ratio), None)
        if known is not None:
            compared.append(_change(line, known[1], known[0].session))
    return tuple(compared)


def _change(now: Line, before: Line, session: str) -> Change:
    assert now.sd_log_ratio and before.sd_log_ratio  # others are not compared
    f = (now.sd_log_ratio / before.sd_log_ratio) ** 2
    freedom = now.n_pairs - 1, before.n_pairs - 1
    tail = float(min(scipy.special.fdtr(*freedom, f), scipy.special.fdtrc(*freedom, f)))
    ratio, p_value = float(np.sqrt(f)), min(1.0, 2 * tail)
    return Change(metric=now.metric, words=now.words, earlier=session, ratio=ratio, p_value=p_value)


def _line(evidence: Evidence, metric: Metric) -> Line | None:
    trials = evidence.trials
    if trials[metric.column].isna().all():
        return None
    curves = power_curve(trials, metric.column, reference=evidence.reference)
    curve = next((curve for curve in curves if curve.twice), None)
    if curve is None:
        return None
    return Line(
        metric=metric.name, words=metric.words, n_pairs=curve.n_pairs, sd_log_ratio=curve.sd_log_ratio,
        blocked=curve.smallest,
    )  # fmt: skip
