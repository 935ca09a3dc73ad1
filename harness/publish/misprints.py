# SPDX-License-Identifier: Apache-2.0
"""Sentences, labels and captions that cannot be true, or that keep back what decides their numbers.

Each rule is of a kind of mistake that a reader found once. A paper that has any of them is not built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harness.model.formatting import DASH
from harness.model.naming import UNOFFICIAL
from harness.publish.generated import GENERATED, contributions

#: The key of the labels whose builds are unofficial, joined by ``SEPARATOR``.
UNOFFICIAL_KEY, SEPARATOR = "session.unofficial", "; "
_NUMBER = r"(\d[\d.]*)"
_ALIKE = re.compile(
    rf"(?:is|are) not shown to (?:differ|be)[^.;()]*\({_NUMBER}(?: times, | \(){_NUMBER} to {_NUMBER}"
)
_MARGINS = re.compile(r"Margin of equivalence: ([^.]*(?:\.\d[^.]*)*)\.")
_TRIALS = re.compile(r"\b\d+ trials?\b")
_CODING = re.compile(r"\bcoding: ")


class Printed(NamedTuple):
    """A text as it is printed, and where: ``values``, ``tables`` or ``figures``, and its key."""

    kind: str
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.text}"


def misprints(root: Path) -> tuple[str, ...]:
    """Return what is wrong with the published texts of a project, one line each; empty: nothing."""
    parts = contributions(root / GENERATED)
    values = {key: entry for part in parts for key, entry in part["values"].items()}
    labels = [
        label for label in str(values.get(UNOFFICIAL_KEY, {}).get("text", "")).split(SEPARATOR) if label
    ]
    found = []
    for printed in _printed(parts):
        if printed.key == UNOFFICIAL_KEY:
            continue
        found += [f"{printed}: {why}" for rule in _RULES for why in rule(printed)]
        if not _is_name_of_nothing(printed.key, values):
            found += [f"{printed}: {why}" for why in _unmarked(printed, labels)]
    for part in parts:
        for kind in ("tables", "figures"):
            found += [f"{kind} {key}: {why}" for key, one in part[kind].items() for why in _uncoded(one)]
    return tuple(found)


def _printed(parts: tuple[dict[str, Any], ...]) -> Iterator[Printed]:
    """Every sentence, caption and note, and every cell of a table."""
    for part in parts:
        for key, entry in part["values"].items():
            if entry["method"] in ("text", "verdict"):
                yield Printed("values", key, str(entry["text"]))
        for key, table in part["tables"].items():
            texts = [table["caption"], *table["notes"]]
            cells = [cell for row in table["rows"] if row for cell in row]
            yield from (Printed("tables", key, str(text)) for text in [*texts, *cells])
        for key, figure in part["figures"].items():
            yield Printed("figures", key, str(figure["caption"]))


def _hole(printed: Printed) -> Iterator[str]:
    """A dash that stands for a number, inside a sentence."""
    if printed.kind == "values" and re.search(rf"(?:^|\s|\(){DASH}(?:\s|\)|,|\.|$)", printed.text):
        yield "a hole: there is no number for a dash in a sentence"


def _alike(printed: Printed) -> Iterator[str]:
    """A ratio whose interval leaves out 1, called not shown to differ."""
    for match in _ALIKE.finditer(printed.text.replace("\N{NARROW NO-BREAK SPACE}", " ")):
        low, high = (float(match[place]) for place in (2, 3))
        if not low <= 1 <= high:
            yield f"not shown to differ, with an interval from {match[2]} to {match[3]}"


def _margins(printed: Printed) -> Iterator[str]:
    """Two margins of one note that do not say which is whose."""
    for match in _MARGINS.finditer(printed.text):
        wheres = re.findall(r"\(([^()]*)\)", match[1])
        if len(wheres) != len(set(wheres)):
            yield "two margins of equivalence for the same cells"


def _unmarked(printed: Printed, labels: list[str]) -> Iterator[str]:
    """A label of an unofficial build without that word."""
    for label in labels:
        if re.search(rf"{re.escape(label)}(?! {re.escape(UNOFFICIAL)})", printed.text):
            yield f"{label} without {UNOFFICIAL}"


def _is_name_of_nothing(key: str, values: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a key is of what a variant is called of which no number was measured, so that it has no build either."""
    question, called, variant = key.partition(".name.")
    return bool(called) and not any(
        entry["value"] is not None
        for other, entry in values.items()
        if other.startswith(f"{question}.") and other.endswith(f".{variant}")
    )


def _uncoded(entry: Mapping[str, Any]) -> Iterator[str]:
    """A figure or table of trials that does not say how the programs are written."""
    caption = str(entry["caption"])
    if _TRIALS.search(caption) and not _CODING.search(caption):
        yield f"no coding in its caption: {caption}"


_RULES: tuple[Callable[[Printed], Iterator[str]], ...] = (_hole, _alike, _margins)

__all__ = ["SEPARATOR", "UNOFFICIAL_KEY", "Printed", "misprints"]
