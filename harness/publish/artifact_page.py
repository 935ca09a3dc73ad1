# SPDX-License-Identifier: Apache-2.0
"""The tables of ``ARTIFACT.md``: claim, command, measured time and disk, tolerance, what another machine may change.

Claims stand in ``docs/artifact.toml``. Times and sizes are readings: of commands those of ``docs/costs.json``,
of measurements those of the bundled sessions, from the first line of a session's log to its last.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness.errors import InputError
from harness.model.digits import plain
from harness.store import SessionFolder, Store

PAGE, DEFINITION, COSTS = Path("ARTIFACT.md"), Path("docs") / "artifact.toml", Path("docs") / "costs.json"
BEGIN, END = "<!-- artifact: written by `python -m harness paper --artifact` -->", "<!-- /artifact -->"
#: Derives every number of the paper from bundled sessions, and measures nothing.
FROM_BUNDLED = "make paper PROFILE=sample"
#: What a reviewer runs, in this order; a command without a reading says so.
COMMANDS = (
    "make kick-tires", FROM_BUNDLED, "make paper PROFILE=smoke", "make paper", "make test", "make arxiv",
)  # fmt: skip
_UNKNOWN = ("not measured", "not measured")


def read_claims(root: Path) -> list[SimpleNamespace]:
    """Return the rows of ``docs/artifact.toml``; ``experiment`` measures a claim (None: nothing does), ``again`` is the
    command that derives its numbers without measuring."""
    usual = {"experiment": None, "again": FROM_BUNDLED}
    rows = tomllib.loads((root / DEFINITION).read_text("utf-8"))["claim"]
    return [SimpleNamespace(**usual | row) for row in rows]


def write_page(root: Path) -> Path:
    """Write the tables between the markers of ``ARTIFACT.md``; the rest of the page is kept.

    Raises:
        InputError: the page has no markers, or a bundled session cannot be read.
    """
    page = root / PAGE
    text = page.read_text("utf-8") if page.is_file() else ""
    if BEGIN not in text or END not in text:
        raise InputError("has no place for the tables", file=page, allowed=f"the lines {BEGIN} and {END}")
    head, rest = text.split(BEGIN, 1)
    page.write_text(f"{head}{BEGIN}\n{tables(root)}\n{END}{rest.split(END, 1)[1]}", "utf-8")
    return page


def tables(root: Path) -> str:
    """Return both tables as Markdown, from the definition and the readings of this clone."""
    file = root / COSTS
    costs = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    commands = {str(reading["command"]): _cost(reading) for reading in costs.get("readings", ())}
    sessions = _session_costs(Store(root).sessions(bundled=True))
    lines = ["| command | time | disk it adds |", "|---|--:|--:|"]
    lines += [f"| `{name}` | {' | '.join(commands.get(name, _UNKNOWN))} |" for name in COMMANDS]
    if machine := costs.get("machine"):
        lines += [
            "",
            f"One reading each, on {machine['cpus']} shared cores and {plain(machine['memory_bytes'] / 2**30)} GiB, "
            "each alone in an empty clone with an empty HOME. Times of sessions are those of the bundled ones, and "
            "their disk is that of the archive.",
        ]
    lines += [
        "",
        "| claim | numbers | command | time, disk | tolerance | what another machine may change |",
        "|---|---|---|---|---|---|",
    ]
    for claim in read_claims(root):
        runs = {claim.again: commands.get(claim.again, _UNKNOWN)}
        if name := claim.experiment:
            runs[f"rematch measure {name} --profile quick"] = sessions.get(name, _UNKNOWN)
        keys, names = ([f"`{text}`" for text in texts] for texts in (claim.keys, runs))
        parts = map("<br>".join, (keys, names, map(", ".join, runs.values())))
        cells = [claim.claim, *parts, claim.tolerance, claim.may_change]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def working_s(events: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the seconds that a session's log spans, without those between an interruption and the next start."""
    if not events:
        return None
    spans = (
        float(after["at_epoch_s"]) - float(before["at_epoch_s"])
        for before, after in pairwise(events)
        if before["event"] != "interrupted"
    )
    return sum(spans) + float(events[0].get("took_s") or 0.0)


def _session_costs(sessions: Sequence[SessionFolder]) -> dict[str, tuple[str, str]]:
    """Return experiment -> time and disk of its newest session."""
    costs = {}
    logs = [(events, session) for session in sessions if (events := session.events())]
    for events, session in sorted(logs, key=lambda log: (log[0][0]["at_epoch_s"], log[1].key)):
        if session.archive is not None:
            size = session.archive.path.stat().st_size
            costs[session.folder.parent.name] = _cost({"wall_s": working_s(events), "added_bytes": size})
    return costs


def _cost(reading: Mapping[str, Any]) -> tuple[str, str]:
    minutes = "{} min {:02d} s".format(*divmod(round(float(reading["wall_s"])), 60))
    return minutes, f"{plain(float(reading['added_bytes']) / 1e6)} MB"
