# SPDX-License-Identifier: Apache-2.0
"""What part of a latency at a rate is the load tool's own.

A tool that counts from when a request was due has its own lateness in every latency; any tool has the network and the
time until it looks at an answer. That part comes on top in both arms, so the ratio of two arms is nearer to 1 than
that of the services: with the part ``s`` of the smaller latency, a ratio ``r`` stands for about
``1 + (r - 1) / (1 - s)``. Its direction stays. So up to a tenth nothing is said; above it nothing is called
equivalent; where it is most of the smaller latency, the ratio is not about the services.

The part is what the echo service, which does nothing, had under the same load in the same session. Sessions that did
not keep this have the lateness that is known of the tool (``LoadTool.sends_late_s``): half of it at the mean and the
median, all of it beyond.
"""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from harness.analysis.stats.quantiles import LATENCIES, MEAN
from harness.model.digits import plain, whole_percent
from harness.model.load_tools import BY_NAME, title_of

#: Shares of the smaller latency: above the first nothing is equivalent, above the second the ratio is refused.
EQUIVALENT_UP_TO = 0.10
MOST = 0.50
GENERATOR = "generator"
#: Before the name of a latency: what the echo service had of it.
ECHO = "echo_"
#: The columns that are asked for here, where a table has them.
COLUMNS = (GENERATOR, *(f"{ECHO}{name}" for name in (MEAN, *LATENCIES)))


class ToolPart(NamedTuple):
    """``share``: of the smaller of two latencies, and of more than all of it 1. ``said``: where it is known from."""

    share: float
    said: str

    @property
    def refused(self) -> bool:
        """Whether most of the smaller latency is the tool's."""
        return self.share > MOST

    @property
    def why_not_equivalent(self) -> str | None:
        """Why alike latencies do not say that the services are alike; ``None``: they may."""
        return self.said if self.share > EQUIVALENT_UP_TO else None


def tool_part(a: pd.DataFrame, b: pd.DataFrame, metric: str) -> ToolPart | None:
    """Return what part of the smaller latency of two arms is the tool's; ``None``: it is not known, or no latency.

    Args:
        a, b: the trials of each arm, columns as in ``docs/data.md``. metric: a column of theirs.
    """
    if metric != MEAN and metric not in LATENCIES:
        return None
    parts = [part for part in (_of(arm, metric) for arm in (a, b)) if part is not None]
    return max(parts, key=lambda part: part.share, default=None)


def _of(arm: pd.DataFrame, metric: str) -> ToolPart | None:
    if metric not in arm or arm[metric].dropna().empty:
        return None
    typical_s = float(arm[metric].median())
    if typical_s <= 0:
        return None
    column = f"{ECHO}{metric}"
    measured = arm[column].dropna() if column in arm else arm[metric].iloc[:0]
    in_middle = metric == MEAN or LATENCIES[metric] <= 0.5
    if not measured.empty:
        part_s, words = float(measured.median()), "the echo service has {} ms under the same load"
    else:
        known_s = max((BY_NAME[name].sends_late_s for name in _tools(arm)), default=0.0)
        part_s = known_s / 2 if in_middle else known_s
        words = f"{_titles(arm)} sends {'about' if in_middle else 'up to'} {{}} ms late"
    if part_s <= 0:
        return None
    share = min(1.0, part_s / typical_s)
    return ToolPart(
        share, f"{words.format(plain(1e3 * part_s, 2))}, {whole_percent(share)} of the smaller latency"
    )


def _tools(arm: pd.DataFrame) -> list[str]:
    names = arm[GENERATOR].dropna().unique() if GENERATOR in arm else ()
    return [str(name) for name in names if str(name) in BY_NAME]


def _titles(arm: pd.DataFrame) -> str:
    return " and ".join(title_of(name) for name in _tools(arm))


__all__ = ["COLUMNS", "ECHO", "ToolPart", "tool_part"]
