# SPDX-License-Identifier: Apache-2.0
"""The one object through which a notebook speaks to the paper."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from harness.errors import InputError
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.model.session import UNOFFICIAL, UNOFFICIAL_NOTE
from harness.project import find_root
from harness.publish import generated
from harness.publish.display import (
    Cell,
    Published,
    cell_texts,
    estimates_of,
    figure_page,
    inputs_of,
    shown_table,
)
from harness.publish.figures.style import COLUMN_INCHES, png_of, save, stamp, texts_of
from harness.publish.latex import render_table

_KEY = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")


class Publisher:
    """Publishes one notebook's values, tables and figures into ``paper/generated``.

    Args:
        notebook: its name without ending; each key belongs to one notebook.
        root: the project's root; found from here when absent.
        draft: what figures are stamped with, such as "draft measurement: quick"; ``None``: no stamp.
        publish: whether to write; ``None``: when the notebook runs under ``run_all``, whose environment names the
            folder. A notebook opened alone shows the same and leaves ``paper/generated`` as it is.
    """

    def __init__(
        self, notebook: str, *, root: Path | None = None, draft: str | None = None, publish: bool | None = None
    ) -> None:  # fmt: skip
        self.notebook = notebook
        self.draft = draft
        self.root = root or find_root()
        folder = os.environ.get(generated.PUBLISHING, "")
        self._generated = Path(folder) if folder else self.root / generated.GENERATED
        self._publish = bool(folder) if publish is None else publish

    def values(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        r"""Publish values by key: rows, or facts in words (:func:`harness.publish.generated.fact_entry`).

        Raises:
            InputError: what is no key, or belongs to another notebook.
        """
        self._put("values", {key: {**entry, "notebook": self.notebook} for key, entry in entries.items()})

    def rows(self, question: str, entries: Mapping[str, Mapping[str, Any]], table: bytes) -> None:
        """Publish the rows of a question: each entry under its key, and ``table``, a Parquet file, below ``rows/``."""
        self.values(entries)
        self._write(f"rows/{self.notebook}.{question}.parquet", table)

    def data(self, name: str, text: str) -> None:
        """Publish a text for pages as ``data/<notebook>.<name>``."""
        self._write(f"data/{self.notebook}.{name}", text)

    def table(
        self,
        key: str,
        columns: Mapping[str, str],
        rows: Sequence[Mapping[str, Cell]],
        *,
        caption: str,
        notes: Sequence[str] = (),
        widths: Mapping[str, float] | None = None,
    ) -> Published:
        """Publish a table as ``tables/<key>.tex``; without rows it says that nothing was measured.

        Args:
            columns: name of a cell -> head of its column. rows: cells by name; an ``Estimate`` is printed with its
                interval in the unit of its column, what is absent as a dash, with the reason below the table.
            widths: columns of long text -> share of the table's width; their text is set in lines.
        """
        if not rows:
            return Published(NOT_MEASURED)
        heads, body, reasons = cell_texts(columns, rows)
        numeric = [any(isinstance(row.get(name), Estimate | int) for row in rows) for name in columns]
        below = [*notes, *reasons, *_notes_on_builds([caption, *(cell for row in body for cell in row)])]
        file = f"tables/{_file(key)}.tex"
        source = render_table(
            notebook=self.notebook, key=key, header=heads, rows=body, caption=caption, notes=below, numeric=numeric,
            widths=[(widths or {}).get(name) for name in columns],
        )  # fmt: skip
        entry = {
            "caption": caption, "columns": list(columns), "header": heads, "rows": body, "notes": below,
            "files": [file], "inputs": inputs_of(rows), "estimates": estimates_of(rows, columns),
        }  # fmt: skip
        self._put("tables", {key: entry})
        self._write(file, source)
        return shown_table(heads, body, caption, below)

    def figure(self, key: str, figure: Figure, *, alt: str, caption: str) -> Published:
        """Publish a figure as ``figures/<key>.pdf`` (byte-stable), with PNG and SVG for other readers.

        Args:
            alt: what a reader who cannot see it should know. caption: with n, trials and duration.
        """
        if not alt.strip():
            raise InputError("a figure needs an alternative text", place=key, found=alt)
        if self.draft:
            stamp(figure, self.draft)
        saved = save(figure, self._generated / "figures" / _file(key)) if self._publish else ()
        png = saved[-1].read_bytes() if saved else png_of(figure)  # to draw it again takes a second
        caption = " ".join([caption, *_notes_on_builds(texts_of(figure))])
        if saved:
            files = [f"figures/{path.name}" for path in saved]
            entry = {
                "alt": alt, "caption": caption, "file": files[0], "files": files,
                "wide": bool(figure.get_figwidth() > COLUMN_INCHES), "notebook": self.notebook,
            }  # fmt: skip
            self._put("figures", {key: entry})
        return Published(alt, page=figure_page(png, alt, caption, figure.get_figwidth()))

    def _put(self, kind: str, entries: Mapping[str, dict[str, Any]]) -> None:
        for key in entries:
            if not _KEY.fullmatch(key):
                raise InputError(
                    "not a key", place=key, found=key, allowed="lower-case words joined by . _ or -"
                )
        if self._publish:
            new = [(kind, key, entry) for key, entry in entries.items()]
            generated.update(self._generated, self.notebook, new)

    def _write(self, name: str, content: str | bytes) -> None:
        if self._publish:
            path = self._generated / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _notes_on_builds(texts: Iterable[str]) -> list[str]:
    """What a reader must be told where any of these texts names a program as an unofficial build."""
    return [UNOFFICIAL_NOTE] if any(UNOFFICIAL in text for text in texts) else []


def _file(key: str) -> str:
    return key.replace(".", "-")  # LaTeX takes what follows the first dot for the ending
