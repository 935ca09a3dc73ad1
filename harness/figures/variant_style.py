# SPDX-License-Identifier: Apache-2.0
"""Which variant is drawn how: hue is the language, marker and line style the implementation."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import pandas as pd

#: Okabe and Ito (2008). Go and Java differ in lightness too, so they stay apart in grey.
COLOURS = {"go": "#0072B2", "java": "#E69F00"}
OTHER_COLOUR = "#CC79A7"

#: implementation -> marker and line style; one not listed here takes a spare, always the same one.
_SHAPES: dict[str, tuple[str, Any]] = {
    "go-kit": ("o", "-"),
    "go-kit-2020": ("o", ":"),
    "go-nethttp": ("^", "--"),
    "java-helidon": ("s", "-"),
    "java-helidon2-published": ("X", (0, (5, 1))),
    "java-jaxrs": ("D", "--"),
    "java-jaxrs-2020": ("D", ":"),
    "java-jaxrs-published": ("D", "--"),
    "java-jdkhttp": ("v", ":"),
    "go-gorilla": ("o", "-"),
    "go-pgx": ("P", "--"),
    "java-spring": ("s", "-"),
    "java-quarkus": ("s", "-"),
    "java-vertx": ("X", (0, (5, 1))),
}
_SPARE: tuple[tuple[str, Any], ...] = (
    ("P", "-."),
    ("X", (0, (5, 1))),
    ("<", (0, (3, 1, 1, 1))),
    (">", (0, (1, 1))),
    ("p", (0, (6, 2, 1, 2))),
)


@dataclass(frozen=True, kw_only=True)
class VariantStyle:
    """How one variant is drawn."""

    label: str
    colour: str
    marker: str
    line: Any
    face: str

    @property
    def dots(self) -> dict[str, Any]:
        """Keywords of a scatter of trials."""
        return {
            "marker": self.marker,
            "linestyle": "none",
            "markerfacecolor": self.face,
            "markeredgecolor": self.colour,
            "markeredgewidth": 0.9,
            "alpha": 0.85,
        }

    @property
    def line_of_medians(self) -> dict[str, Any]:
        """Keywords of a line with markers that is named in a legend."""
        return {
            "label": self.label,
            "color": self.colour,
            "linestyle": self.line,
            "marker": self.marker,
            "markerfacecolor": self.face,
            "markeredgecolor": self.colour,
        }


def variant_styles(trials: pd.DataFrame) -> dict[str, VariantStyle]:
    """Return variant -> look. The implementation decides marker and line; a variant of it that is not
    the plain one (its name differs from the implementation's) is hollow."""
    rows = trials.drop_duplicates("variant").sort_values("variant")
    return {str(row["variant"]): _look(row) for _, row in rows.iterrows()}


def ordered(trials: pd.DataFrame) -> list[str]:
    """Return the variants in the order of every figure: by language, then name; Go first."""
    rows = trials.drop_duplicates("variant").sort_values(["language", "variant"])
    return [str(name) for name in rows["variant"]]


def _look(row: pd.Series) -> VariantStyle:
    implementation, variant = str(row["implementation"]), str(row["variant"])
    spare = _SPARE[zlib.crc32(implementation.encode()) % len(_SPARE)]
    marker, line = _SHAPES.get(implementation, spare)
    colour = COLOURS.get(str(row["language"]).lower(), OTHER_COLOUR)
    plain = variant == implementation
    label = row.get("label")
    return VariantStyle(
        label=variant if label is None or pd.isna(label) else str(label),
        colour=colour,
        marker=marker,
        line=line,
        face=colour if plain else "white",
    )
