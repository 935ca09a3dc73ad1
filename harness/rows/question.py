# SPDX-License-Identifier: Apache-2.0
"""What one notebook publishes: its answer, its rows, and the tables and figures that are made of them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types
from matplotlib.figure import Figure

from harness.model.formatting import NOT_MEASURED
from harness.publish.display import MOST_ROWS, Published
from harness.publish.generated import GENERATED
from harness.publish.publisher import Publisher
from harness.publish.sentences import contradicting, ends_of
from harness.rows.results import fact
from harness.rows.schema import keyed, records, stack, tidy
from harness.rows.session import Session
from harness.rows.text import VERDICT, cells_of, entries_of, entry_of, notes

#: Name of the row that answers the question.
ANSWER = "answer"


class Question:
    """What one notebook publishes under one first part of all keys.

    Args:
        name: that part. notebook: without ending. sessions: figures are stamped with the profile of the first that was
            measured.
    """

    def __init__(self, name: str, notebook: str, *sessions: Session) -> None:
        self.name = name
        self._answers = tidy([])
        draft = next((session.evidence.draft for session in sessions if session.evidence is not None), None)
        self._publisher = Publisher(notebook, root=sessions[0].root, draft=draft)
        pd.set_option("display.max_rows", MOST_ROWS, "display.min_rows", MOST_ROWS, "display.precision", 3)

    def answer(self, rows: pd.DataFrame, claim: str, sentence: str) -> Published:
        """Return a sentence that every row must support; one that is untrue here says so, with the rows against it.

        Args:
            rows: those that the sentence is about. claim: as of :mod:`harness.publish.sentences`.
            sentence: with ``{least}`` and ``{most}`` for the least and the greatest value, ``{leastname}`` and
                ``{mostname}`` for their variants.
        """
        if rows.empty:
            return Published(NOT_MEASURED)
        entries = [entry_of(row) for row in records(rows)]
        least, most = ends_of(entries)
        names = {"leastname": least["label"], "mostname": most["label"]}
        text = sentence.format(least=least["text"], most=most["text"], **names)
        if against := contradicting(entries, claim):
            text = f"Not so in this session: {against}. ({text})"
        inputs = dict.fromkeys(trial for entry in entries for trial in entry["inputs"])
        self._answers = tidy([fact(ANSWER, text, list(inputs))])
        return Published(text)

    def table(
        self,
        key: str,
        rows: pd.DataFrame,
        columns: Mapping[str, str],
        *,
        caption: str,
        index: Mapping[str, str] | None = None,
        below: Sequence[str] = (),
    ) -> Published:
        r"""Publish a pivot of rows as ``\rematchtable{question.key}``, with the notes of its rows below it.

        Args:
            columns, index: as of :func:`harness.rows.pivot`. below: further notes.
        """
        lines = dict(index or {"label": "variant"})
        names = rows["name"] + "." + rows["kind"]
        printed = rows[names.isin(list(columns)) | (names + VERDICT).isin(list(columns))]
        return self._publisher.table(
            f"{self.name}.{key}",
            {**lines, **columns},
            cells_of(rows, columns, lines),
            caption=caption,
            notes=[*below, *(notes(printed) if printed["verdict"].notna().any() else ())],
        )

    def texts(
        self, key: str, frame: pd.DataFrame, *, caption: str, widths: Mapping[str, float] | None = None
    ) -> Published:
        r"""Publish a frame of texts as ``\rematchtable{question.key}``, its columns as heads.

        ``widths``: column -> part of the page's width, of those that are set in several lines.
        """
        columns = {str(name): str(name) for name in frame.columns}
        lines = [{str(name): str(text) for name, text in line.items()} for line in frame.to_dict("records")]
        return self._publisher.table(f"{self.name}.{key}", columns, lines, caption=caption, widths=widths)

    def figure(self, key: str, figure: Figure | None, *, alt: str, caption: str) -> Published:
        r"""Publish a figure as ``\rematchfigure{question.key}``; ``None``: there was nothing to draw.

        Args:
            alt: what a reader who cannot see it should know. caption: with the session's ``note()``.
        """
        if figure is None:
            return Published(NOT_MEASURED)
        return self._publisher.figure(f"{self.name}.{key}", figure, alt=alt, caption=caption)

    def data(self, name: str, frame: pd.DataFrame) -> None:
        """Publish a frame for the results page, as ``data/<notebook>.<name>.json``: a list of its rows."""
        text = json.dumps(records(frame), ensure_ascii=False, indent=1, allow_nan=False)
        self._publisher.data(f"{name}.json", f"{text}\n")

    def publish(self, *frames: pd.DataFrame) -> pd.DataFrame:
        """Publish rows, all of the question at once; return how many there are of each kind."""
        rows = keyed(self.name, stack(self._answers, *frames))
        if len(rows):
            self._publisher.rows(self.name, entries_of(rows), parquet_of(rows))
        return rows.groupby("kind", sort=False).agg(results=("name", "nunique"), rows=("key", "size"))


def parquet_of(rows: pd.DataFrame) -> bytes:
    """Return rows as a Parquet file; the same rows give the same bytes."""
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), stream)
    return stream.getvalue()


def read_rows(root: Path) -> pd.DataFrame:
    """Return all published rows; none: no question has published any."""
    frames = []
    for path in sorted((root / GENERATED / "rows").glob("*.parquet")):
        table = pq.read_table(path)
        # pandas would make arrays of them
        lists = {name: table[name].to_pylist() for name in ("warnings", "inputs")}
        frames.append(table.to_pandas().assign(**lists))
    return stack(*frames)
