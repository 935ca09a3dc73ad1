# SPDX-License-Identifier: Apache-2.0
"""A machine's passport: the smallest ratio that sessions of so many blocks tell there, and whether it changed.

It is read from a session of the experiment ``passport``: one Go service, twice in each block. Sessions are kept, so an
earlier one of the same machine is what a new one is compared with.

Of two of them, one with trials that follow each other and one of duets, follows which design tells more in the same
minutes. A pilot of few blocks knows its spreads badly, so a duet is recommended only where its intervals are shown to
be narrower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used
from pydantic import Field

from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.sample_size import BLOCKS, Detectable, power_curve
from harness.evidence.experiment import Evidence
from harness.evidence.metrics import METRICS, Metric
from harness.model.base import Frozen

EXPERIMENT, DUET = "passport", "passport-duet"
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
    )


#: For so many minutes widths are predicted.
MINUTES = 30.0
#: One-sided: a design is said to be narrower where equal widths would look so different as rarely as that.
_NARROWER_ALPHA = 0.05
_LEVEL = 0.95

Narrower = Literal["duet", "alternating", "not shown"]


class DesignLine(Frozen):
    """One metric: half of the 95 % interval of a ratio, as a share, by each design. ``None``: no variation is known."""

    metric: str
    words: str
    alternating: float | None
    duet: float | None
    narrower: Narrower


class Designs(Frozen):
    """Both designs in the same minutes."""

    minutes: float
    alternating: str = Field(description="session of trials that follow each other")
    duet: str = Field(description="session of duets")
    n_alternating: int = Field(description="blocks in these minutes")
    n_duet: int
    lines: tuple[DesignLine, ...]

    @property
    def recommended(self) -> Literal["duet", "alternating"]:
        """By throughput, or by the first metric that there is."""
        return "duet" if self.lines and self.lines[0].narrower == "duet" else "alternating"


def block_s(evidence: Evidence) -> float:
    """Return how long a block of a session took on average, in seconds."""
    records = [record for session in evidence.sessions for record in session.records()]
    first = min(record.started.monotonic_s for record in records)
    last = max(record.ended.monotonic_s for record in records)
    return (last - first) / evidence.header.plan.n_blocks


def compare_designs(
    alternating: Passport, duet: Passport, *, alternating_block_s: float, duet_block_s: float
) -> Designs:
    """Return the widths that each design comes to in ``MINUTES``, metric by metric.

    Args:
        alternating, duet: passports of the same machine. alternating_block_s, duet_block_s: how long a pair took.
    """
    n_alternating = max(2, int(MINUTES * 60 / alternating_block_s))
    n_duet = max(2, int(MINUTES * 60 / duet_block_s))
    by_metric = {line.metric: line for line in duet.lines}
    return Designs(
        minutes=MINUTES,
        alternating=alternating.session,
        duet=duet.session,
        n_alternating=n_alternating,
        n_duet=n_duet,
        lines=tuple(
            DesignLine(
                metric=line.metric,
                words=line.words,
                alternating=half_width(line.sd_log_ratio, n_alternating),
                duet=half_width(beside.sd_log_ratio, n_duet),
                narrower=_narrower(line, beside, n_alternating, n_duet),
            )
            for line in alternating.lines
            if (beside := by_metric.get(line.metric)) is not None
        ),
    )


def half_width(sd_log_ratio: float | None, n_blocks: int) -> float | None:
    """Return the upper half of the interval of a ratio near 1, as a share of it."""
    if sd_log_ratio is None:
        return None
    return float(np.expm1(float(t_critical(_LEVEL, n_blocks - 1)) * sd_log_ratio / np.sqrt(n_blocks)))


def _narrower(alternating: Line, duet: Line, n_alternating: int, n_duet: int) -> Narrower:
    """F test of the variances of the two means, each known from its own pairs."""
    if not alternating.sd_log_ratio or not duet.sd_log_ratio or min(alternating.n_pairs, duet.n_pairs) < 2:
        return "not shown"
    f = (alternating.sd_log_ratio**2 / n_alternating) / (duet.sd_log_ratio**2 / n_duet)
    df, df_duet = alternating.n_pairs - 1, duet.n_pairs - 1
    if scipy.special.fdtrc(df, df_duet, f) <= _NARROWER_ALPHA:
        return "duet"
    return "alternating" if scipy.special.fdtrc(df_duet, df, 1 / f) <= _NARROWER_ALPHA else "not shown"
