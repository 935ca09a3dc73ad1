# SPDX-License-Identifier: Apache-2.0
"""Which design tells more in the same minutes: trials that follow each other, or duets.

Both are known from equal processes: the spread of the log ratio of a pair, and how long a block takes. A pilot of few
blocks knows its spreads badly, so a duet is recommended only where its intervals are shown to be narrower.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used
from pydantic import Field

from harness.analysis.stats.intervals import t_critical
from harness.evidence.experiment import Evidence
from harness.evidence.passport import Line, Passport
from harness.model.base import Frozen

#: The passport's pairs, side by side.
EXPERIMENT = "passport-duet"
#: For so many minutes widths are predicted.
MINUTES = 30.0
#: One-sided: a design is said to be narrower where equal widths would look so different as rarely as that.
ALPHA = 0.05
LEVEL = 0.95

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
    alternating: Passport, duet: Passport, *, alternating_block_s: float, duet_block_s: float,
    minutes: float = MINUTES,
) -> Designs:  # fmt: skip
    """Return the widths that each design comes to in ``minutes``, metric by metric.

    Args:
        alternating, duet: passports of the same machine. alternating_block_s, duet_block_s: how long a pair took.
    """
    n_alternating = max(2, int(minutes * 60 / alternating_block_s))
    n_duet = max(2, int(minutes * 60 / duet_block_s))
    by_metric = {line.metric: line for line in duet.lines}
    return Designs(
        minutes=minutes,
        alternating=alternating.session,
        duet=duet.session,
        n_alternating=n_alternating,
        n_duet=n_duet,
        lines=tuple(
            _line(line, by_metric[line.metric], n_alternating, n_duet)
            for line in alternating.lines
            if line.metric in by_metric
        ),
    )


def _line(one: Line, other: Line, n_alternating: int, n_duet: int) -> DesignLine:
    return DesignLine(
        metric=one.metric,
        words=one.words,
        alternating=half_width(one.sd_log_ratio, n_alternating),
        duet=half_width(other.sd_log_ratio, n_duet),
        narrower=_narrower(one, other, n_alternating, n_duet),
    )


def half_width(sd_log_ratio: float | None, n_blocks: int) -> float | None:
    """Return the upper half of the interval of a ratio near 1, as a share of it."""
    if sd_log_ratio is None:
        return None
    return float(np.expm1(float(t_critical(LEVEL, n_blocks - 1)) * sd_log_ratio / np.sqrt(n_blocks)))


def _narrower(alternating: Line, duet: Line, n_alternating: int, n_duet: int) -> Narrower:
    """F test of the variances of the two means, each known from its own pairs."""
    if not alternating.sd_log_ratio or not duet.sd_log_ratio or min(alternating.n_pairs, duet.n_pairs) < 2:
        return "not shown"
    f = (alternating.sd_log_ratio**2 / n_alternating) / (duet.sd_log_ratio**2 / n_duet)
    df, df_duet = alternating.n_pairs - 1, duet.n_pairs - 1
    if scipy.special.fdtrc(df, df_duet, f) <= ALPHA:
        return "duet"
    return "alternating" if scipy.special.fdtrc(df_duet, df, 1 / f) <= ALPHA else "not shown"


__all__ = ["EXPERIMENT", "MINUTES", "DesignLine", "Designs", "block_s", "compare_designs", "half_width"]
