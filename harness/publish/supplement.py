# SPDX-License-Identifier: Apache-2.0
"""The supplement: for each notebook the facts of its sessions, then its tables and figures as they were published."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import InputError
from harness.model.formatting import DASH, capital
from harness.project import commit_of, has_changes
from harness.publish.generated import GENERATED, Contribution, contributions, in_order
from harness.publish.latex import escape, render_table
from harness.store import SessionFolder, Store

#: Below ``paper/generated``.
FILE = "supplement.tex"
_HEADER = ("session", "measured", "profile", "blocks", "trials", "machine", "commit")
#: As many signs of a commit as tell it apart for a reader.
_SHORT = 12


def write_supplement(root: Path) -> Path:
    """Write a section for each notebook that published a table or a figure; return the file."""
    stored = {session.key: session for session in Store(root).sessions()}
    lines = [
        "% Written by the build; changes are lost.",
        rf"Built from {escape(_source(root))}.",
        r"\tableofcontents",
    ]
    for part in contributions(root / GENERATED):
        items = [
            rf"\rematchtable{{{key}}}"
            if kind == "tables"
            else rf"\rematch{'wide' if entry.get('wide') else ''}figure{{{key}}}"
            for kind, key, entry in in_order(part)
        ]
        if items:
            title, _ = heading(root, part["notebook"])
            lines += [rf"\rematchtopic{{{escape(title)}}}", _sessions(part, stored), *items]
    file = root / GENERATED / FILE
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def heading(root: Path, notebook: str) -> tuple[str, str]:
    """Return title and question of a notebook by its first cell; of one that is gone its name."""
    file = root / "notebooks" / f"{notebook}.ipynb"
    lines: list[str] = []
    if file.exists():
        try:
            cells = json.loads(file.read_text("utf-8")).get("cells") or [{}]
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read ({error})", file=file) from None
        lines = "".join(cells[0].get("source", "")).splitlines()
    title = next((line.lstrip("# ") for line in lines if line.startswith("# ")), "")
    question = next((line.strip("* ") for line in lines if line.startswith("**Question:")), "")
    question = question.removeprefix("Question:").strip()
    return title or capital(notebook.replace("-", " ")), capital(question)


def _sessions(part: Contribution, stored: Mapping[str, SessionFolder]) -> str:
    """Return the sessions of a notebook as a table; empty: its numbers rest on no trial."""
    entries = [*part["values"].values(), *part["tables"].values()]
    trials = {trial for entry in entries for trial in entry["inputs"]}
    numbers = Counter(trial.rpartition("/")[0] for trial in trials)
    rows = [_facts(key, n, stored.get(key)) for key, n in sorted(numbers.items())]
    if not rows:
        return ""
    return render_table(
        notebook=part["notebook"], key=f"sessions.{part['notebook']}", header=_HEADER, rows=rows, notes=(),
        caption="Sessions, with the trials that the numbers of this section rest on.",
        numeric=[head in ("blocks", "trials") for head in _HEADER], widths=[None] * len(_HEADER),
    )  # fmt: skip


def _facts(key: str, n_trials: int, session: SessionFolder | None) -> list[str]:
    if session is None:
        return [key, DASH, DASH, DASH, f"{n_trials:,}", DASH, DASH]
    plan, provenance = session.header.plan, session.header.provenance
    machine = provenance.machine
    begun = datetime.fromtimestamp(provenance.started_epoch_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
    commit = (provenance.commit or DASH)[:_SHORT] + (" with changes" if provenance.dirty else "")
    hardware = f"{machine.cpu_model}, {machine.n_cpus} CPUs"
    return [key, begun, plan.profile, str(plan.n_blocks), f"{n_trials:,}", hardware, commit]


def _source(root: Path) -> str:
    """Return which source the document is built from; sessions have sources of their own."""
    commit = commit_of(root)
    words = "a source without a repository" if commit is None else f"commit {commit[:_SHORT]}"
    return words + (" with uncommitted changes" if has_changes(root) else "")
