# SPDX-License-Identifier: Apache-2.0
"""The campaigns that ran, kept in ``docs/faults.json``, and their table in ``docs/faults.md``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from harness.model import Frozen
from harness.verify.campaign_page import CampaignPage, KeptCampaign
from harness.verify.faults.campaign import Campaign
from harness.verify.faults.plan import CLUSTER_KINDS, KINDS


class KindTally(Frozen):
    """One kind of fault in one campaign."""

    injected: int = Field(ge=0)
    held: int = Field(ge=0)
    violated: int = Field(ge=0)
    late: int = Field(ge=0, description="the session, or what was to be hit, had ended before")
    unavailable: int = Field(ge=0)
    reason: str = Field(default="", description="why it was unavailable")
    said: str = Field(default="", description="the line that a session said last")
    longest_s: float = Field(ge=0)


class FaultsCampaign(KeptCampaign):
    """With what came of each kind, and every broken promise."""

    violations: tuple[str, ...] = Field(description="number, kind, what")
    kinds: dict[str, KindTally]


def kept(campaign: Campaign, *, seed: int, place: str, wall_s: float) -> FaultsCampaign:
    """Return a campaign as it is stored, its kinds in the order of the plan."""
    known = [kind.name for kind in (*KINDS, *CLUSTER_KINDS) if kind.name in campaign.tallies]
    return FaultsCampaign(
        seed=seed,
        place=place,
        wall_s=round(wall_s, 1),
        violations=tuple(f"{one.number}: {one.kind}: {one.what}" for one in campaign.violations),
        kinds={
            name: KindTally(
                injected=one.injected, held=one.held, violated=one.violated, late=one.late,
                unavailable=one.unavailable, reason=one.reason, said=one.said, longest_s=round(one.longest_s, 1),
            )
            for name, one in ((name, campaign.tallies[name]) for name in known)
        },
    )  # fmt: skip


def table(every: tuple[FaultsCampaign, ...]) -> str:
    """Return all campaigns as Markdown: one row a campaign, then one a kind, then reasons and broken promises."""
    lines = [
        "| seed | injected | held | violated | late | unavailable | time | source |",
        "|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for one in every:
        of = tuple(one.kinds.values())
        lines.append(f"| {one.seed} | {_counts(of)} | {one.wall_s / 60:.1f} min | {one.place} |")
    lines += [
        "", "| kind | injected | held | violated | late | unavailable | longest |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for name in dict.fromkeys(name for one in every for name in one.kinds):
        of = tuple(one.kinds[name] for one in every if name in one.kinds)
        lines.append(f"| {name} | {_counts(of)} | {max(tally.longest_s for tally in of):.1f} s |")
    lacking = [(one.seed, name, tally) for one in every for name, tally in one.kinds.items()]
    lines += _list(
        "Unavailable, with the reason:",
        [f"seed {seed}: {name}: {tally.reason}" for seed, name, tally in lacking if tally.unavailable],
    )
    lines += _list(
        "Violated (`--only` with the number repeats one on the source named above):",
        [f"seed {one.seed}, number {what}" for one in every for what in one.violations],
    )
    return "\n".join(lines)


def _counts(of: tuple[KindTally, ...]) -> str:
    """The cells that campaigns and kinds have in common."""
    names = ("injected", "held", "violated", "late", "unavailable")
    return " | ".join(f"{sum(getattr(tally, name) for tally in of):,}" for name in names)


def _list(title: str, rows: list[str]) -> list[str]:
    return ["", title, "", *(f"- {row.replace('|', chr(92) + '|')}" for row in rows)] if rows else []


KEPT = CampaignPage(
    FaultsCampaign, table, record=Path("docs") / "faults.json", page=Path("docs") / "faults.md", name="faults"
)
#: Campaigns in a cluster.
KEPT_CLUSTER = CampaignPage(
    FaultsCampaign,
    table,
    record=Path("docs") / "kubernetes-faults.json",
    page=Path("docs") / "kubernetes.md",
    name="faults --cluster",
)
