# SPDX-License-Identifier: Apache-2.0
"""What the notebooks have published, read for a page: sections with their numbers, tables and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.model.formatting import NOT_MEASURED
from harness.publish.generated import GENERATED, Values, contributions, in_order, read_values
from harness.publish.supplement import heading

#: Where run_all puts executed copies, a folder a profile.
EXECUTED = Path("results")
#: How the key of a sentence ends that answers a section's question; the second one of a question that publishes rows.
FINDINGS = (".finding.takeaway", ".answer.fact")


@dataclass(frozen=True, kw_only=True)
class Number:
    """One published number. ``value``: ``None`` of a fact in words. ``trials``: their keys, sorted."""

    key: str
    text: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    estimand: str
    method: str
    n_trials: int
    notebook: str
    warnings: tuple[str, ...]
    trials: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One published table. ``rows``: ``None`` is a gap. ``trials``: (row, column) -> the trials of that cell."""

    key: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...] | None, ...]
    notes: tuple[str, ...]
    trials: Mapping[tuple[int, int], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class PublishedFigure:
    """One published figure. ``marks``: its series as numbers, as of ``harness.figures.marks``; ``None``: none."""

    key: str
    alt: str
    caption: str
    svg: Path
    marks: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Section:
    """What one notebook published. ``executed``: its executed copy; ``None``: there is none."""

    notebook: str
    title: str
    question: str
    numbers: tuple[Number, ...]
    tables: tuple[Table, ...]
    figures: tuple[PublishedFigure, ...]
    executed: Path | None

    @property
    def findings(self) -> tuple[Number, ...]:
        """The sentences that answer its question."""
        return tuple(one for one in self.numbers if one.key.endswith(FINDINGS) and one.text != NOT_MEASURED)


@dataclass(frozen=True, kw_only=True)
class Published:
    """Everything, section by section in the order of the notebooks, those that answer a question first."""

    values: Values
    sections: tuple[Section, ...]

    @property
    def trial_sets(self) -> tuple[tuple[str, ...], ...]:
        """Every set of trials that a number or a cell rests on, each once."""
        found: dict[tuple[str, ...], None] = {}
        for section in self.sections:
            found |= {one.trials: None for one in section.numbers if one.trials}
            for table in section.tables:
                found |= {trials: None for trials in table.trials.values() if trials}
        return tuple(found)


def read_published(root: Path) -> Published:
    """Return what the notebooks have published.

    Raises:
        InputError: nothing was, or a file of it is damaged.
    """
    found = contributions(root / GENERATED)
    if not found:
        raise InputError("nothing has been published", file=GENERATED, allowed="make site, or make paper")
    sections = [_section(root, one) for one in found]
    ordered = sorted(sections, key=lambda one: (not one.findings, one.notebook))
    return Published(values=read_values(root), sections=tuple(ordered))


def _section(root: Path, found: dict[str, Any]) -> Section:
    notebook = str(found["notebook"])
    title, question = heading(root, notebook)
    shown = in_order(found)
    return Section(
        notebook=notebook,
        title=title,
        question=question,
        numbers=tuple(_number(key, entry, notebook) for key, entry in sorted(found["values"].items())),
        tables=tuple(_table(key, entry) for kind, key, entry in shown if kind == "tables"),
        figures=tuple(_figure(root, key, entry) for kind, key, entry in shown if kind == "figures"),
        executed=_executed(root, notebook),
    )


def _number(key: str, entry: Mapping[str, Any], notebook: str) -> Number:
    text = str(entry["interval_text"])
    if entry["value"] is None and entry.get("reason"):
        text = f"{text} ({entry['reason']})"
    return Number(
        key=key,
        text=text,
        value=entry["value"],
        low=entry["low"],
        high=entry["high"],
        unit=str(entry["unit"]),
        estimand=str(entry["estimand"]),
        method=str(entry["method"]),
        n_trials=int(entry["n_trials"]),
        notebook=notebook,
        warnings=tuple(entry.get("warnings") or ()),
        trials=tuple(sorted(entry["inputs"])),
    )


def _table(key: str, entry: Mapping[str, Any]) -> Table:
    columns: Sequence[str] = entry.get("columns") or ()
    return Table(
        key=key,
        caption=str(entry["caption"]),
        header=tuple(entry["header"]),
        rows=tuple(None if row is None else tuple(row) for row in entry["rows"]),
        notes=tuple(entry["notes"]),
        trials={
            (int(one["row"]), columns.index(one["column"])): tuple(
                sorted(entry["inputs"][i] for i in one["inputs"])
            )
            for one in entry.get("estimates") or ()
            if one["column"] in columns
        },
    )


def _figure(root: Path, key: str, entry: Mapping[str, Any]) -> PublishedFigure:
    files = [root / GENERATED / str(name) for name in entry["files"]]
    svg = next((path for path in files if path.suffix == ".svg"), None)
    if svg is None:
        raise InputError("a figure without SVG", file=GENERATED / "figures.json", place=key)
    marks = next((path for path in files if path.suffix == ".json"), None)
    return PublishedFigure(
        key=key,
        alt=str(entry["alt"]),
        caption=str(entry["caption"]),
        svg=svg,
        marks=None if marks is None else _json(marks),
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", file=path, allowed="make site again") from None
    return found


def _executed(root: Path, notebook: str) -> Path | None:
    there = (root / EXECUTED).glob(f"*/{notebook}.ipynb")
    return max(there, key=lambda path: path.stat().st_mtime_ns, default=None)
