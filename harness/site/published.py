# SPDX-License-Identifier: Apache-2.0
"""What the notebooks have published, read for a page: a section each with its values, tables and figures; and the
trials that its numbers rest on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from harness.errors import InputError
from harness.evidence import Evidence
from harness.model.digits import cell_words
from harness.model.formatting import NOT_MEASURED
from harness.publish.generated import GENERATED, contributions, in_order
from harness.publish.supplement import heading
from harness.store import Store

#: Where run_all puts executed copies, a folder a profile.
EXECUTED = Path("results")
#: How the key of the sentence ends that answers a section's question.
ANSWER = ".answer.fact"
#: column of the trials -> (head, unit)
METRICS = {
    "throughput_per_s": ("throughput", "1/s"),
    "latency_mean_s": ("mean latency", "s"),
    "latency_p99_s": ("p99", "s"),
    "cpu_s_per_request": ("CPU per request", "s"),
    "rss_after_bytes": ("memory after", "B"),
    "time_to_first_response_s": ("first answer", "s"),
}

#: A published value, table or figure, as its notebook wrote it; or a row of the ledger.
Entry = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Section:
    """What one notebook published, by key: values sorted, tables and figures in its order.

    ``executed``: its executed copy; ``None``: there is none.
    """

    notebook: str
    title: str
    question: str
    values: Mapping[str, Entry]
    tables: Mapping[str, Entry]
    figures: Mapping[str, Entry]
    executed: Path | None

    @property
    def answers(self) -> list[Entry]:
        """The sentences that answer its question, that of its first figure before those of others."""
        first = next(iter(self.figures), "").partition(".")[0]
        keys = [
            key for key in self.values if key.endswith(ANSWER) and self.values[key]["text"] != NOT_MEASURED
        ]
        return [self.values[key] for key in sorted(keys, key=lambda key: key.partition(".")[0] != first)]


def read_published(root: Path) -> tuple[Section, ...]:
    """Return the sections in the order of the notebooks, those that answer a question first.

    Raises:
        InputError: nothing was published, or a file of it is damaged.
    """
    sections = []
    for part in contributions(root / GENERATED):
        notebook = str(part["notebook"])
        title, question = heading(root, notebook)
        executed = (root / EXECUTED).glob(f"*/{notebook}.ipynb")
        section = Section(
            notebook=notebook,
            title=title,
            question=question,
            values=dict(sorted(part["values"].items())),
            tables={key: entry for kind, key, entry in in_order(part) if kind == "tables"},
            figures={key: entry for kind, key, entry in in_order(part) if kind == "figures"},
            executed=max(executed, key=lambda path: path.stat().st_mtime_ns, default=None),
        )
        sections.append(section)
    if not sections:
        raise InputError("nothing has been published", file=GENERATED, allowed="make site, or make paper")
    return tuple(sorted(sections, key=lambda section: (not section.answers, section.notebook)))


def read_ledger(root: Path) -> tuple[Entry, ...]:
    """Return the published claims, a row a number as of :func:`harness.questions.claims.as_table`; none: no notebook
    has published any.

    Raises:
        InputError: the file is damaged.
    """
    file = next((root / GENERATED / "data").glob("*.ledger.json"), None)
    return () if file is None else tuple(_read_json(file))


def svg_of(root: Path, key: str, figure: Entry) -> Path:
    """Return the drawing of a figure.

    Raises:
        InputError: it has none.
    """
    if (file := _file(root, figure, ".svg")) is None:
        raise InputError("a figure without SVG", file=GENERATED, place=key)
    return file


def marks_of(root: Path, figure: Entry) -> dict[str, Any] | None:
    """Return the named series of a figure, as of ``harness.figures.marks``; ``None``: it has none.

    Raises:
        InputError: their file is damaged.
    """
    file = _file(root, figure, ".json")
    return None if file is None else dict(_read_json(file))


def _file(root: Path, figure: Entry, ending: str) -> Path | None:
    return next((root / GENERATED / name for name in figure["files"] if name.endswith(ending)), None)


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", file=file, allowed="make site again") from None


def printed(entry: Entry) -> str:
    """Return a value with its interval; one that there is none of with the reason."""
    text = str(entry["interval_text"])
    return f"{text} ({entry['reason']})" if entry["value"] is None and entry.get("reason") else text


def trials_of(entry: Entry) -> tuple[str, ...]:
    """Return the trials of a value or of a row of the ledger, sorted."""
    return tuple(sorted(entry.get("inputs") or entry.get("trials") or ()))


def trials_of_cells(table: Entry) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return (row, column) of a table -> the trials of that cell."""
    columns = list(table["columns"])
    return {
        (int(cell["row"]), columns.index(cell["column"])): tuple(
            sorted(table["inputs"][place] for place in cell["inputs"])
        )
        for cell in table["estimates"]
        if cell["column"] in columns
    }


def trial_sets(sections: Iterable[Section], ledger: Iterable[Entry]) -> list[tuple[str, ...]]:
    """Return every set of trials that a value, a cell or a number of the ledger rests on, each once."""
    sets: dict[tuple[str, ...], None] = {}
    for section in sections:
        sets |= dict.fromkeys(map(trials_of, section.values.values()))
        for table in section.tables.values():
            sets |= dict.fromkeys(trials_of_cells(table).values())
    sets |= dict.fromkeys(map(trials_of, ledger))
    return [trials for trials in sets if trials]


def session_of(trial: str) -> str:
    """Return the key of a trial's session."""
    return trial.rpartition("/")[0]


def trial_frame(root: Path, trials: Iterable[str]) -> pd.DataFrame:
    """Return a row for each of these trials, by session and in the order in which they were made.

    Columns: ``trial`` (its key), ``session``, ``number``, ``variant``, ``levels``, ``block``, ``outcome``, ``flags``,
    and ``METRICS`` in SI units.

    Raises:
        InputError: a session is not there, or lacks one of them.
    """
    stored = {session.key: session for session in Store(root).sessions()}
    wanted = sorted(trials, key=lambda trial: (session_of(trial), trial))
    frames = []
    for key, own in groupby(wanted, session_of):
        keys = set(own)
        if key not in stored:
            problem = "a published number rests on a session that is not there"
            raise InputError(problem, place=key, allowed="make paper again")
        experiment = stored[key].folder.parent.name
        evidence = Evidence(root=root, experiment=experiment, sessions=(stored[key],))
        frame = evidence.trials.assign(trial=f"{key}/" + evidence.trials["trial_id"], session=key)
        if lost := keys - set(frame["trial"]):
            problem = "a published number rests on a trial that is not there"
            raise InputError(problem, place=min(lost), allowed="make paper again")
        frame = frame[frame["trial"].isin(keys)].sort_values("position")
        again = frame["duplicate"].astype(bool).map({True: ", again", False: ""})
        cells = ({name: row[name] for name in evidence.factors} for row in frame.to_dict("records"))
        frames.append(
            frame.assign(
                number=frame["trial_id"],
                variant=frame["variant"].map(evidence.variants) + again,
                levels=list(map(cell_words, cells)),
                flags=frame["flags"].fillna("").str.split().str.join(", ").str.replace("_", " "),
            )
        )
    columns = ["trial", "session", "number", "variant", "levels", "block", "outcome", "flags", *METRICS]
    return pd.concat(frames)[columns] if frames else pd.DataFrame(columns=columns)
