# SPDX-License-Identifier: Apache-2.0
"""The campaigns that ran, kept in ``docs/faults.json``, and their table in ``docs/faults.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field

from harness.model import Frozen
from harness.verify.campaign_page import CampaignPage, KeptCampaign
from harness.verify.faults.journal import FaultLine, last_of_each
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
    """With what came of each kind, and every broken promise. ``wall_s``: the faults' own times, added up."""

    planned: int | None = Field(
        default=None, ge=1, description="how many faults the campaign has when it is over"
    )
    violations: tuple[str, ...] = Field(description="number, kind, what")
    mended: tuple[str, ...] = Field(default=(), description="violated by an earlier source, and not since")
    kinds: dict[str, KindTally]


def kept(lines: Sequence[FaultLine], *, seed: int, planned: int | None) -> FaultsCampaign:
    """Return a campaign as it is stored: what came of each fault last, its kinds in the order of the plan."""
    last = last_of_each(lines)
    by_kind: dict[str, list[FaultLine]] = {}
    for line in last.values():
        by_kind.setdefault(line.kind, []).append(line)
    places = Counter(line.place for line in last.values())
    return FaultsCampaign(
        seed=seed,
        place=" and ".join(
            place if len(places) == 1 else f"{place} ({n:,} faults)" for place, n in places.items()
        ),
        wall_s=round(sum(line.took_s for line in lines), 1),
        planned=planned,
        violations=tuple(
            f"{line.number}: {line.kind}: {what}" for line in last.values() for what in line.broken
        ),
        mended=tuple(
            f"{line.number}: {line.kind}: {what}"
            for line in lines
            if last[line.number].came != "violated"
            for what in line.broken
        ),
        kinds={
            kind.name: _tally(by_kind[kind.name]) for kind in (*KINDS, *CLUSTER_KINDS) if kind.name in by_kind
        },
    )


def _tally(of: Sequence[FaultLine]) -> KindTally:
    came = Counter(line.came for line in of)
    return KindTally(
        injected=came["held"] + came["violated"],
        held=came["held"],
        violated=came["violated"],
        late=came["late"],
        unavailable=came["unavailable"],
        reason=_last(line.reason for line in of),
        said=_last(line.said for line in of),
        longest_s=max(line.took_s for line in of),
    )


def _last(words: Iterable[str]) -> str:
    return ([word for word in words if word] or [""])[-1]


def table(every: tuple[FaultsCampaign, ...]) -> str:
    """Return all campaigns as Markdown: one row a campaign, then one a kind, then reasons and broken promises."""
    lines = [
        "| seed | faults | injected | held | violated | late | unavailable | time | source |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for one in every:
        of = tuple(one.kinds.values())
        n = sum(tally.injected + tally.late + tally.unavailable for tally in of)
        ran = f"{n:,}" if one.planned in (None, n) else f"{n:,} of {one.planned:,} planned"
        lines.append(f"| {one.seed} | {ran} | {_counts(of)} | {one.wall_s / 60:.1f} min | {one.place} |")
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
    lines += _list(
        "Violated by an earlier source, mended, and not violated when they were repeated:",
        [f"seed {one.seed}, number {what}" for one in every for what in one.mended],
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
