# SPDX-License-Identifier: Apache-2.0
"""The campaigns that ran, kept in ``docs/fuzz.json``, and their table in ``docs/security.md``."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from harness.model import Frozen
from harness.verify.campaign_page import CampaignPage, KeptCampaign
from harness.verify.fuzz.campaign import Campaign


class ReaderTally(Frozen):
    """One reader in one campaign."""

    inputs: int = Field(ge=0)
    read: int = Field(ge=0)
    refused: int = Field(ge=0)
    findings: int = Field(ge=0)
    most_cpu_s: float = Field(ge=0)
    most_bytes: int = Field(ge=0)


class FuzzCampaign(KeptCampaign):
    """With what came of each reader's files."""

    faults: tuple[str, ...] = Field(description="each fault once: reader, what, where")
    readers: dict[str, ReaderTally]


def kept(campaign: Campaign, *, seed: int, place: str, wall_s: float) -> FuzzCampaign:
    """Return a campaign as it is stored."""
    return FuzzCampaign(
        seed=seed,
        place=place,
        wall_s=round(wall_s, 1),
        faults=tuple(f"{one.reader}: {one.what} ({one.where})" for one in campaign.findings.values()),
        readers={
            name: ReaderTally(
                inputs=one.inputs, read=one.read, refused=one.refused, findings=one.findings,
                most_cpu_s=round(one.most_cpu_s, 2), most_bytes=one.most_bytes,
            )
            for name, one in campaign.tallies.items()
        },
    )  # fmt: skip


def table(every: tuple[FuzzCampaign, ...]) -> str:
    """Return all campaigns as Markdown: one row a campaign, then one a reader."""
    lines = ["| seed | inputs | faults | time | source |", "|--:|--:|--:|--:|---|"]
    for one in every:
        n = sum(tally.inputs for tally in one.readers.values())
        lines.append(f"| {one.seed} | {n:,} | {len(one.faults)} | {one.wall_s / 60:.1f} min | {one.place} |")
    if len(every) > 1:
        n = sum(tally.inputs for one in every for tally in one.readers.values())
        n_faults, minutes = sum(len(one.faults) for one in every), sum(one.wall_s for one in every) / 60
        lines.append(f"| all | {n:,} | {n_faults} | {minutes:.1f} min | |")
    lines += [
        "", "| reader | inputs | read | refused | not as promised | most CPU time of one | most memory of one |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for name in dict.fromkeys(name for one in every for name in one.readers):
        of = [one.readers[name] for one in every if name in one.readers]
        lines.append(
            f"| {name} | {sum(t.inputs for t in of):,} | {sum(t.read for t in of):,} | {sum(t.refused for t in of):,} "
            f"| {sum(t.findings for t in of):,} | {max(t.most_cpu_s for t in of):.1f} s "
            f"| {max(t.most_bytes for t in of) / 2**20:.0f} MiB |"
        )
    faults = [(one.seed, fault) for one in every for fault in one.faults]
    if faults:
        lines += [
            "",
            "Faults that were found (each has a test now, or stands under *What is not protected*):",
            "",
        ]
        lines += [f"- seed {seed}: {fault.replace('|', chr(92) + '|')}" for seed, fault in faults]
    return "\n".join(lines)


KEPT = CampaignPage(
    FuzzCampaign, table, record=Path("docs") / "fuzz.json", page=Path("docs") / "security.md", name="fuzz"
)
