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

from harness.analysis.stats.sample_size import BLOCKS, Detectable, power_curve, unpaired_curve
from harness.evidence.experiment import Evidence
from harness.evidence.metrics import METRICS, Metric
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
    unpaired: tuple[Detectable, ...] = Field(description="the same trials, blocks not used")


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


def passport_of(evidence: Evidence, *, blocks: Sequence[int] = BLOCKS) -> Passport:
    """Return the passport that a session of the reference against itself makes.

    Raises:
        InputError: the session is not tidied.
    """
    machine = evidence.machine
    return Passport(
        session=evidence.sessions[0].key,
        started_epoch_s=evidence.header.provenance.started_epoch_s,
        machine=f"{machine.cpu_model}, {machine.n_cpus} CPUs",
        machine_id=machine.identity,
        draft=evidence.draft,
        lines=tuple(
            line
            for metric in METRICS
            if metric.name in _SHOWN and (line := _line(evidence, metric, blocks)) is not None
        ),
    )


def changes(now: Passport, earlier: Sequence[Passport]) -> tuple[Change, ...]:
    """Return how each metric's spread compares with the newest earlier passport of the same machine that has it."""
    compared = []
    same_machine = [
        passport
        for passport in earlier
        if passport.machine_id == now.machine_id
        and passport.session != now.session
        and passport.started_epoch_s <= now.started_epoch_s
    ]
    newest_first = sorted(same_machine, key=lambda passport: -passport.started_epoch_s)
    for line in now.lines:
        for passport in newest_first:
            before = next((each for each in passport.lines if each.metric == line.metric), None)
            if before is not None and before.sd_log_ratio and line.sd_log_ratio:
                compared.append(
                    _change(line, line.sd_log_ratio, before, before.sd_log_ratio, passport.session)
                )
                break
    return tuple(compared)


def _change(now: Line, sd: float, before: Line, sd_before: float, session: str) -> Change:
    f = (sd / sd_before) ** 2
    tails = (
        scipy.special.fdtr(now.n_pairs - 1, before.n_pairs - 1, f),
        scipy.special.fdtrc(now.n_pairs - 1, before.n_pairs - 1, f),
    )
    return Change(
        metric=now.metric,
        words=now.words,
        earlier=session,
        ratio=float(np.sqrt(f)),
        p_value=min(1.0, 2 * float(min(tails))),
    )


def _line(evidence: Evidence, metric: Metric, blocks: Sequence[int]) -> Line | None:
    trials = evidence.trials
    if trials[metric.column].isna().all():
        return None
    curves = power_curve(trials, metric.column, reference=evidence.reference, blocks=blocks)
    curve = next((curve for curve in curves if curve.twice), None)
    if curve is None:
        return None
    return Line(
        metric=metric.name,
        words=metric.words,
        n_pairs=curve.n_pairs,
        sd_log_ratio=curve.sd_log_ratio,
        blocked=curve.smallest,
        unpaired=unpaired_curve(trials, metric.column, reference=evidence.reference, blocks=blocks),
    )
