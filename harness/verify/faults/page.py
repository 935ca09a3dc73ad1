# SPDX-License-Identifier: Apache-2.0
"""The campaigns that ran, kept in ``docs/faults.json``, and their table in ``docs/faults.md``."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from harness.errors import InputError
from harness.model import Frozen
from harness.verify.faults.campaign import Campaign
from harness.verify.faults.plan import KINDS

RECORD, PAGE = Path("docs") / "faults.json", Path("docs") / "faults.md"
BEGIN, END = "<!-- faults: written by `python -m harness verify faults --write` -->", "<!-- /faults -->"


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


class KeptCampaign(Frozen):
    """One campaign: its seed, the source it ran on, what came of each kind, and every broken promise."""

    seed: int
    place: str
    wall_s: float = Field(ge=0)
    violations: tuple[str, ...] = Field(description="number, kind, what")
    kinds: dict[str, KindTally]


_ALL = TypeAdapter(tuple[KeptCampaign, ...])


def kept(campaign: Campaign, *, seed: int, place: str, wall_s: float) -> KeptCampaign:
    """Return a campaign as it is stored, its kinds in the order of the plan."""
    known = [kind.name for kind in KINDS if kind.name in campaign.tallies]
    return KeptCampaign(
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


def read_record(root: Path) -> tuple[KeptCampaign, ...]:
    """Return the campaigns that were kept.

    Raises:
        InputError: the record is damaged.
    """
    file = root / RECORD
    if not file.is_file():
        return ()
    try:
        return _ALL.validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(first["msg"], file=file, place=".".join(map(str, first["loc"]))) from None


def write_page(root: Path, one: KeptCampaign) -> Path:
    """Add a campaign to the record, in the place of one with the same seed, and write the table.

    Raises:
        InputError: the page has no place for it, or the record is damaged.
    """
    every = (*(other for other in read_record(root) if other.seed != one.seed), one)
    page = root / PAGE
    text = page.read_text("utf-8")
    if BEGIN not in text or END not in text:
        raise InputError("has no place for the table", file=page, allowed=f"the lines {BEGIN} and {END}")
    plain = [campaign.model_dump(mode="json") for campaign in every]
    (root / RECORD).write_text(json.dumps(plain, indent=1) + "\n", "utf-8")
    head, rest = text.split(BEGIN, 1)
    page.write_text(f"{head}{BEGIN}\n{table(every)}\n{END}{rest.split(END, 1)[1]}", "utf-8")
    return page


def table(every: tuple[KeptCampaign, ...]) -> str:
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
