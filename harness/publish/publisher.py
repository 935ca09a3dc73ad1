# SPDX-License-Identifier: Apache-2.0
"""The one object through which a notebook speaks to the paper."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from harness.analysis.stats.comparisons import Comparison
from harness.errors import InputError, NothingToDraw
from harness.figures.marks import marks_of
from harness.figures.style import COLUMN_INCHES, png_of, save, stamp, texts_of
from harness.model import Estimate
from harness.model.age import ratio_with_age
from harness.model.formatting import NOT_COMPARED, NOT_MEASURED, show, verdict_words
from harness.model.session import UNOFFICIAL, UNOFFICIAL_NOTE
from harness.project import find_root
from harness.publish import generated
from harness.publish.cells import Cell, cell_texts, estimates_of, inputs_of
from harness.publish.display import (
    Compared,
    Published,
    Result,
    compared_words,
    figure_page,
    joined,
    plain_table,
    result_of,
    table_page,
    words_of,
)
from harness.publish.latex import render_table
from harness.publish.results import (
    NAME,
    Absent,
    Leaf,
    Tree,
    Words,
    as_is,
    leaves,
    measured,
    nothing,
    rows_of,
)

_KEY = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")


class Publisher:
    """Publishes one notebook's numbers, verdicts, tables and figures into ``paper/generated``.

    Args:
        notebook: its name without ending; each key belongs to one notebook.
        root: the project's root; found from here when absent.
        draft: what figures are stamped with, such as "draft measurement: quick"; ``None``: no stamp.
        publish: whether to write; ``None``: when the notebook runs under ``run_all``, whose environment names the
            folder. A notebook opened alone shows the same and leaves ``paper/generated`` as it is.
    """

    def __init__(
        self,
        notebook: str,
        *,
        root: Path | None = None,
        draft: str | None = None,
        publish: bool | None = None,
    ) -> None:
        self.notebook = notebook
        self.draft = draft
        self.root = root or find_root()
        folder = os.environ.get(generated.PUBLISHING, "")
        self._generated = Path(folder) if folder else self.root / generated.GENERATED
        self._publish = bool(folder) if publish is None else publish
        self._waiting: list[tuple[str, str, dict[str, Any]]] | None = None
        self._shown = Published()

    @contextmanager
    def together(self) -> Iterator[Published]:
        """Publish all that is published inside at once, at its end: for many keys, as each write merges all files.

        What it yields shows all results published inside. Inside another one there is nothing to do: the
        outer one publishes.
        """
        if self._waiting is not None:
            yield self._shown
            return
        self._waiting, self._shown = [], Published()
        try:
            yield self._shown
        finally:
            waiting, self._waiting = self._waiting, None
            if self._publish:
                generated.update(self._generated, self.notebook, waiting)

    def number(self, key: str, estimate: Estimate, *, young: bool = False) -> Published:
        r"""Publish an estimate as ``\val{key}`` and, with its interval, ``\valci{key}``; ``young``: it is a ratio of
        young processes."""
        shown = show(estimate)
        entry = {
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "level": estimate.level,
            "unit": estimate.unit,
            "text": shown.text,
            "interval_text": ratio_with_age(shown.interval, young and estimate.value is not None),
            "reason": shown.reason,
            "method": estimate.method,
            "estimand": estimate.estimand,
            "n_trials": estimate.n_trials,
            "inputs": list(estimate.inputs),
            "warnings": list(estimate.warnings),
            "notebook": self.notebook,
        }
        self._put("values", key, entry)
        return self._show(result_of(key, estimate))

    def verdict(self, key: str, comparison: Compared) -> Published:
        r"""Publish what a comparison says as ``\verdict{key}``: words that fit between two names."""
        words = verdict_words(comparison)
        self._text(key, words, "verdict", comparison.ratio.n_trials, comparison.ratio.inputs)
        return self._show(Result(compared_words(comparison, ""), f"{words} {comparison.reference}"))

    def text(self, key: str, text: str, *, inputs: Sequence[str] = (), shown: bool = True) -> Published:
        r"""Publish a fact in words, such as the name of the processor, as ``\val{key}``.

        Args:
            shown: whether the notebook shows it; a key that ends in ``.measured`` is for the paper alone.
        """
        self._text(key, text, "text", 0, inputs)
        if not shown or key.endswith(".measured"):
            return Published()
        return self._show(Result(words_of(key), text, absent=text == NOT_MEASURED))

    def value(self, key: str, value: float | None, unit: str, what: str) -> Published:
        r"""Publish a plain number that is no estimate over trials: a count, a published number."""
        return self.number(key, as_is(value, unit, what))

    def comparisons(
        self, prefix: str, found: Sequence[Comparison], *, variants: Iterable[str], main: Mapping[str, str]
    ) -> Published:
        r"""Publish ratio and verdict of every variant: ``<prefix>.ratio.<variant>`` for the main cell, with the
        other cells' levels behind for the rest.

        A variant that was not measured in the main cell is published as absent, so that the text of the
        paper need not know what a profile leaves out.
        """
        said: list[Published] = []
        with self.together():
            for comparison in found:
                levels = (
                    ""
                    if comparison.levels == dict(main)
                    else "." + slug(*map("-".join, comparison.levels.items()))
                )
                name = slug(comparison.variant)
                said.append(self._compared(prefix, name + levels, comparison, comparison.variant))
            there = {comparison.variant for comparison in found if comparison.levels == dict(main)}
            for variant in variants:
                if variant not in there:
                    said.append(self.absent(f"{prefix}.ratio.{slug(variant)}", "ratio", NOT_MEASURED))
                    self._text(f"{prefix}.verdict.{slug(variant)}", NOT_COMPARED, "verdict", 0, ())
        return joined(said)

    def comparison(self, prefix: str, name: str, found: Compared | None) -> Published:
        r"""Publish one comparison as ``<prefix>.ratio.<name>`` and ``<prefix>.verdict.<name>``; ``None``: absent."""
        key = slug(*name.split("."))
        if found is not None:
            return self._compared(prefix, key, found, name.partition(".")[0])
        self._text(f"{prefix}.verdict.{key}", NOT_COMPARED, "verdict", 0, ())
        return self.absent(f"{prefix}.ratio.{key}", "ratio", NOT_MEASURED)

    def absent(self, key: str, unit: str, why: str) -> Published:
        """Publish that there is no number, and why: a dash with the reason."""
        return self.number(key, nothing(unit, why))

    def put(self, prefix: str, tree: Tree, *, guards: Collection[str] = (), whole: bool = True) -> Published:
        r"""Publish the results of a question: each leaf's key is ``prefix`` and its path, joined by dots.

        An estimate is ``\val{key}`` and ``\valci{key}``; a comparison at ``a.b.name`` becomes ``a.b.ratio.name`` and
        ``a.b.verdict.name``; a text is ``\val{key}``. What is absent has the same keys, with the reason.
        ``<prefix>.measured`` is published when any leaf says anything, ``<prefix>.<guard>.measured`` when any leaf
        below the branch ``guard`` (a path joined by dots) does: the sections of the paper ask for these. Leaves of
        a branch ``name`` are what variants are called: published, not shown, and never counted as measured.

        Args:
            whole: whether to publish ``<prefix>.measured``; not of what another notebook or an article says.

        Raises:
            InputError: a guard that is no branch of the tree, or two leaves with one key.
        """
        found = {".".join((prefix, *map(slug, path))): (path, leaf) for path, leaf in leaves(tree)}
        if len(found) < len(list(leaves(tree))):
            raise InputError("two results of one key", place=prefix)
        told = [key for key, (path, leaf) in found.items() if measured(leaf) and NAME not in path[-2:-1]]
        with self.together() as published:
            for key, (path, leaf) in found.items():
                if NAME in path[-2:-1]:
                    self.text(key, str(leaf), shown=False)
                else:
                    self._put_leaf(key, path[-1], leaf)
            for branch in [prefix] * whole + [f"{prefix}.{guard}" for guard in guards]:
                if not any(f"{key}.".startswith(f"{branch}.") for key in found):
                    raise InputError("no branch of the results", place=prefix, found=branch)
                if any(f"{key}.".startswith(f"{branch}.") for key in told):
                    self.text(f"{branch}.measured", "measured")
        return published

    def _put_leaf(self, key: str, name: str, leaf: Leaf) -> None:
        if isinstance(leaf, Estimate):
            self.number(key, leaf)
        elif isinstance(leaf, str):
            self.text(key, leaf)
        elif isinstance(leaf, Words):
            self.text(key, leaf.text, inputs=leaf.inputs)
        elif not isinstance(leaf, Absent):
            self.comparison(key.rpartition(".")[0], name, leaf)
        elif leaf.kind == "comparison":
            self.comparison(key.rpartition(".")[0], name, None)
        elif leaf.kind == "text":
            self.text(key, leaf.why)
        else:
            self.absent(key, leaf.unit, leaf.why)

    def _compared(self, prefix: str, key: str, found: Compared, name: str) -> Published:
        n_shown = len(self._shown.results)
        self.number(f"{prefix}.ratio.{key}", found.ratio, young=found.young)
        self.verdict(f"{prefix}.verdict.{key}", found)
        del self._shown.results[n_shown:]  # shown as one result below
        shown = show(found.ratio)
        return self._show(
            Result(
                compared_words(found, name),
                shown.interval if shown.reason is None else shown.reason,
                f"{verdict_words(found)} {found.reference}",
                found.ratio.n_trials,
                absent=shown.reason is not None,
            )
        )

    def _show(self, result: Result) -> Published:
        """Keep a result for what is published together with it, and return it."""
        if self._waiting is not None:
            self._shown.results.append(result)
        return Published(results=[result])

    def table(
        self,
        key: str,
        columns: Mapping[str, str],
        rows: Sequence[Mapping[str, Cell] | None] | Tree | None,
        *,
        caption: str,
        notes: Sequence[str] = (),
        wide: bool = False,
        right: Sequence[str] = (),
        widths: Mapping[str, float] | None = None,
    ) -> Published:
        """Publish a table as ``tables/<key>.tex``; without rows it says that nothing was measured.

        Args:
            columns: name of a cell -> head of its column; order counts.
            rows: a tree of results, of which columns are paths (:func:`harness.publish.results.rows_of`), or
                cells by name. An ``Estimate`` is printed with its interval in the unit of its column,
                ``None`` (and an estimate without value) as a dash, with the reason below the table.
                A row that is ``None`` leaves a small gap.
            wide: over both columns of the page. right: columns of text to be set flush right.
            widths: columns of long text -> share of the table's width; their text is set in lines.
        """
        if isinstance(rows, Mapping):
            rows = rows_of(rows, columns)
        if not rows:
            return Published(NOT_MEASURED)
        heads, body, reasons = cell_texts(columns, rows)
        numeric = [
            name in right
            or any(row is not None and isinstance(row.get(name), Estimate | int) for row in rows)
            for name in columns
        ]
        below = [
            *notes,
            *reasons,
            *_notes_on_builds([caption, *(cell for row in body if row for cell in row)]),
        ]
        name = f"tables/{_file(key)}.tex"
        self._write(
            name,
            render_table(
                notebook=self.notebook,
                key=key,
                header=heads,
                rows=body,
                caption=caption,
                notes=below,
                wide=wide,
                numeric=numeric,
                widths=[(widths or {}).get(name) for name in columns],
            ),
        )
        self._put(
            "tables",
            key,
            {
                "caption": caption,
                "columns": list(columns),
                "header": heads,
                "rows": body,
                "notes": below,
                "files": [name],
                "inputs": inputs_of(rows),
                "estimates": estimates_of(rows, columns),
            },
        )
        return Published(plain_table(heads, body), page=table_page(heads, body, caption, below, numeric))

    def figure(
        self,
        key: str,
        draw: Figure | Callable[..., Figure | None],
        *arguments: Any,
        alt: str,
        caption: str,
        simulated: bool = False,
        **options: Any,
    ) -> Published:
        """Publish a figure as ``figures/<key>.pdf`` (byte-stable), with PNG and SVG for other readers.

        Args:
            draw: the function that draws it from ``arguments`` and ``options``. It is not called, and the result
                says that nothing was measured, where an argument is ``None`` or empty; it returns ``None`` or
                raises ``NothingToDraw`` where there is nothing to draw.
            alt: what a reader who cannot see it should know. caption: with n, trials and duration.
                simulated: no draft stamp, since nothing in it was measured here.
        """
        if not alt.strip():
            raise InputError("a figure needs an alternative text", place=key, found=alt)
        if isinstance(draw, Figure):
            figure: Figure | None = draw
        else:
            try:
                figure = None if any(map(_is_nothing, arguments)) else draw(*arguments, **options)
            except NothingToDraw:
                figure = None
        if figure is None:
            return Published(NOT_MEASURED)
        if self.draft and not simulated:
            stamp(figure, self.draft)
        if self._publish:
            saved = save(figure, self._generated / "figures" / _file(key))
        png = saved[-1].read_bytes() if self._publish else png_of(figure)  # to draw it again takes a second
        caption = " ".join([caption, *_notes_on_builds(texts_of(figure))])
        if self._publish:
            files = [f"figures/{path.name}" for path in saved]
            if (marks := marks_of(figure)) is not None:
                files.append(f"figures/{_file(key)}.json")
                self._write(files[-1], json.dumps(marks, ensure_ascii=False, separators=(",", ":")) + "\n")
            entry = {
                "alt": alt,
                "caption": caption,
                "file": files[0],
                "files": files,
                "wide": bool(figure.get_figwidth() > COLUMN_INCHES),
                "notebook": self.notebook,
            }
            self._put("figures", key, entry)
        return Published(alt, page=figure_page(png, alt, caption, figure.get_figwidth()))

    def rows(self, question: str, entries: Mapping[str, Mapping[str, Any]], table: bytes) -> None:
        """Publish the rows of a question: each as a value under its key, and all as a Parquet file below ``rows/``.

        Args:
            entries: key -> entry. table: the bytes of the file.
        """
        with self.together():
            for key, entry in entries.items():
                self._put("values", key, {**entry, "notebook": self.notebook})
        if self._publish:
            path = generated.rows_file(self._generated, self.notebook, question)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(table)

    def _text(self, key: str, text: str, method: str, n_trials: int, inputs: Sequence[str]) -> None:
        entry = generated.text_entry(
            text, notebook=self.notebook, method=method, n_trials=n_trials, inputs=inputs
        )
        self._put("values", key, entry)

    def _put(self, kind: str, key: str, entry: dict[str, Any]) -> None:
        if not _KEY.fullmatch(key):
            raise InputError("not a key", place=key, found=key, allowed="lower-case words joined by . _ or -")
        if self._waiting is not None:
            self._waiting.append((kind, key, entry))
        elif self._publish:
            generated.update(self._generated, self.notebook, [(kind, key, entry)])

    def _write(self, name: str, text: str) -> None:
        if not self._publish:
            return
        path = self._generated / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _notes_on_builds(texts: Iterable[str]) -> list[str]:
    """What a reader must be told where any of these texts names a program as an unofficial build."""
    return [UNOFFICIAL_NOTE] if any(UNOFFICIAL in text for text in texts) else []


def _is_nothing(argument: object) -> bool:
    """Tell whether there is nothing in an argument to draw: ``None``, or a table or collection without entries."""
    if isinstance(argument, pd.DataFrame):
        return argument.empty
    return argument is None or (isinstance(argument, Sized) and len(argument) == 0)


def slug(*words: str) -> str:
    """Return words as a part of a key: ``java-helidon`` is ``java_helidon``."""
    return ".".join(re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_") for word in words)


def _file(key: str) -> str:
    return key.replace(".", "-")  # LaTeX takes what follows the first dot for the ending
