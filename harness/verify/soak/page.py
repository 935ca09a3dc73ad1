# SPDX-License-Identifier: Apache-2.0
"""The soaks that ran, kept in ``docs/soak.json``, and their table in ``docs/faults.md``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from harness.model.digits import plain
from harness.verify.campaign_page import CampaignPage, KeptCampaign
from harness.verify.soak.campaign import Soaked
from harness.verify.soak.growth import LIMITS, Judged

_SAID: Mapping[Judged, str] = MappingProxyType({"flat": "flat", "grows": "GROWS", "undecided": "UNDECIDED"})
_BYTES = ("memory", "files left on disk", "record of a trial", "log a trial")


class SoakCampaign(KeptCampaign):
    """All sessions of one run, the control among them."""

    sessions: tuple[Soaked, ...]
    lacking: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether each session is flat, and the control grows."""
        return not self.lacking and all(
            one.judged == ("grows" if one.control else "flat") for one in self.sessions
        )


def table(every: tuple[SoakCampaign, ...]) -> str:
    """Return all soaks as Markdown: one row a session, then one a series."""
    lines = [
        "| seed | session | trials | time | outcomes | time left, said / real | |", "|--:|---|--:|--:|---|---|---|",
    ]  # fmt: skip
    for campaign in every:
        for one in campaign.sessions:
            outcomes = ", ".join(f"{n:,} {name}" for name, n in one.outcomes.items())
            left = ", ".join(f"{plain(ratio)} at {share}" for share, ratio in one.left_ratios.items())
            lines.append(
                f"| {campaign.seed} | {_name(one)} | {one.n_trials:,} | {one.took_s / 60:.1f} min | {outcomes} "
                f"| {left or 'stopped before its end'} | {_SAID[one.judged]} |"
            )
    lines += [
        "", "| session | process | of | first | last | growth in 1,000 trials (95 % interval) | limit | |",
        "|---|---|---|--:|--:|--:|--:|---|",
    ]  # fmt: skip
    for campaign in every:
        for one in campaign.sessions:
            for row in one.growths:
                first, last, slope, low, high, limit = (
                    _value(row.what, value)
                    for value in (
                        row.first, row.last, row.per_1000_trials, row.low, row.high, LIMITS[row.what],
                    )
                )  # fmt: skip
                lines.append(
                    f"| {_name(one)} | {row.who} | {row.what} | {first} | {last} | {slope} ({low} to {high}) "
                    f"| {limit} | {_SAID[row.judged]} |"
                )
    lines += ["", *(f"- seed {one.seed}: {one.place}" for one in every)]
    lines += [f"- not run, seed {one.seed}: {why}" for one in every for why in one.lacking]
    return "\n".join(lines)


def _name(one: Soaked) -> str:
    return f"{one.name}{', leaking (control)' if one.control else ''}"


def _value(what: str, value: float) -> str:
    return f"{value / 2**10:,.1f} KiB" if what in _BYTES else f"{value:.1f}"


KEPT = CampaignPage(
    SoakCampaign, table, record=Path("docs") / "soak.json", page=Path("docs") / "faults.md", name="soak"
)

__all__ = ["KEPT", "SoakCampaign", "table"]
