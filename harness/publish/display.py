# SPDX-License-Identifier: Apache-2.0
"""What a publishing call shows of itself in a notebook: sentences, or a table or figure as a page."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED, Judged, show
from harness.publish.metric_words import in_words, metric_name

#: A table in a notebook shows so many rows unasked.
MOST_ROWS = 12


class Compared(Judged, Protocol):
    """A ratio with its verdict and what it is of."""

    @property
    def variant(self) -> str: ...
    @property
    def reference(self) -> str: ...
    @property
    def levels(self) -> Mapping[str, str]: ...
    @property
    def metric(self) -> str: ...


@dataclass(frozen=True)
class Result:
    """One result in words. ``what``: of which quantity; ``value``: with its interval; ``says``: the verdict."""

    what: str
    value: str
    says: str = ""
    n_trials: int = 0
    absent: bool = False

    @property
    def sentence(self) -> str:
        """The result as one line."""
        trials = f" ({self.n_trials} trials)" if self.n_trials else ""
        return f"{self.what}: {self.value}{', ' if self.says else ''}{self.says}{trials}"


class Published:
    """What a publishing call returns: shows itself in a notebook, text and picture alike.

    Args:
        text: what it says, for readers without HTML. page: the same as HTML; ``None``: the text.
        results: in place of a text: single results, shown as sentences and as a table.
    """

    def __init__(self, text: str = "", *, page: str | None = None, results: Iterable[Result] = ()) -> None:
        self.results = list(results)
        self._text = text
        self._page = page

    @property
    def text(self) -> str:
        """What it says, one line for each result; results without a value are counted in the last one."""
        if not self.results:
            return self._text
        lines = [one.sentence for one in self.results if not one.absent]
        return "\n".join([*lines, *_absent_words(self.results)])

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        if self._page is not None:
            return self._page
        if not any(not one.absent for one in self.results):
            return "".join(f"<p>{html.escape(line)}</p>" for line in self.text.splitlines())
        rows = [
            [one.what, one.value, one.says, str(one.n_trials) if one.n_trials else ""]
            for one in self.results
            if not one.absent
        ]
        notes = _absent_words(self.results)
        heads = ["result", "value (95 % interval)", "verdict", "trials"]
        used = [place for place in range(4) if place < 2 or any(row[place] for row in rows)]
        body = [[row[place] for place in used] for row in rows]
        return table_page([heads[p] for p in used], body, "", notes, [p == 3 for p in used])


def result_of(key: str, estimate: Estimate) -> Result:
    """Return an estimate in words: whose it is stands last in its key, what it is in its estimand."""
    shown = show(estimate)
    what = in_words(estimate.estimand)
    return Result(
        f"{words_of(key.rpartition('.')[2])}: {what}" if what else words_of(key),
        shown.interval if shown.reason is None else shown.reason,
        n_trials=estimate.n_trials,
        absent=shown.reason is not None,
    )


def compared_words(found: Compared, name: str) -> str:
    """Return ``throughput, java-jdkhttp over go-nethttp, logging on``, after the name of another subject."""
    levels = "".join(f", {factor.replace('_', '-')} {level}" for factor, level in found.levels.items())
    subject = "" if name in ("", found.variant) else f"{name}: "
    return f"{subject}{metric_name(found.metric)}, {found.variant} over {found.reference}{levels}"


def words_of(key: str) -> str:
    """Return a key as words, without the section that it belongs to."""
    return ", ".join(part.replace("_", "-") for part in key.split(".")[1:] or [key])


def joined(several: Iterable[Published]) -> Published:
    """Return what several publishing calls returned as one."""
    parts = list(several)
    if any(part.results for part in parts):
        return Published(results=[one for part in parts for one in part.results])
    return Published("\n".join(part.text for part in parts))


def _absent_words(results: Sequence[Result]) -> list[str]:
    """Count the results without a value by the reason, in the order of the reasons."""
    reasons = [one.value for one in results if one.absent]
    if reasons and len(reasons) == len(results) and set(reasons) == {NOT_MEASURED}:
        return [NOT_MEASURED]
    return [
        f"{reasons.count(reason)} without a value: {reason}" if reasons.count(reason) > 1 else next(
            f"{one.what}: no value, {reason}" for one in results if one.absent and one.value == reason
        )
        for reason in dict.fromkeys(reasons)
    ]  # fmt: skip


def joined_pages(parts: Sequence[Published]) -> Published:
    """Return several published things as one, to be shown below each other."""
    return Published("\n\n".join(map(repr, parts)), page="".join(part._repr_html_() for part in parts))


def plain_table(heads: Sequence[str], body: Sequence[Sequence[str] | None]) -> str:
    """Return a table as lines of text."""
    return "\n".join(" | ".join(row) for row in [heads, *(row for row in body if row is not None)])


def table_page(
    heads: Sequence[str],
    body: Sequence[Sequence[str] | None],
    caption: str,
    notes: Sequence[str],
    numeric: Sequence[bool],
) -> str:
    """Return a table with caption and notes, its rows beyond ``MOST_ROWS`` folded; ``numeric`` columns flush right."""

    def line(row: Sequence[str], tag: str) -> str:
        return (
            "<tr>"
            + "".join(
                f'<{tag} style="text-align:{"right" if right else "left"}">{html.escape(cell)}</{tag}>'
                for cell, right in zip(row, numeric, strict=True)
            )
            + "</tr>"
        )

    rows = [line(row, "td") for row in body if row is not None]
    head = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    below = "".join(f"<p><small>{html.escape(note)}</small></p>" for note in notes)
    first, rest = rows[:MOST_ROWS], rows[MOST_ROWS:]
    if rest:
        more = f"<table>{line(heads, 'th')}{''.join(rest)}</table>"
        below = f"<details><summary>{len(rest)} more of {len(rows)} rows</summary>{more}</details>{below}"
    return f"<table>{head}{line(heads, 'th')}{''.join(first)}</table>{below}"


def figure_page(png: bytes, alt: str, caption: str, inches: float) -> str:
    """Return a figure with its caption, as wide as in the paper at 150 pixels an inch."""
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<figure style="margin:0"><img style="width:{inches * 150:.0f}px;max-width:100%" alt="{html.escape(alt)}" '
        f'src="data:image/png;base64,{data}"><figcaption>{html.escape(caption)}</figcaption></figure>'
    )
