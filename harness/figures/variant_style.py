# SPDX-License-Identifier: Apache-2.0
"""Which variant is drawn how: hue is the language, the marker the implementation."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import pandas as pd

#: Okabe and Ito (2008). Go and Java differ in lightness too, so they stay apart in grey.
COLOURS = {"go": "#0072B2", "java": "#E69F00"}
OTHER_COLOUR = "#CC79A7"

#: Implementation -> marker; one not listed here takes a spare, always the same one.
_MARKERS = {
    "go-kit": "o",
    "go-kit-2020": "o",
    "go-nethttp": "^",
    "java-helidon": "s",
    "java-helidon2-published": "X",
    "java-jaxrs": "D",
    "java-jaxrs-2020": "D",
    "java-jaxrs-published": "D",
    "java-jdkhttp": "v",
    "go-gorilla": "o",
    "go-pgx": "P",
    "java-spring": "s",
    "java-quarkus": "s",
    "java-vertx": "X",
}
_SPARE = ("P", "X", "<", ">", "p")


@dataclass(frozen=True, kw_only=True)
class VariantStyle:
    """How one variant is drawn."""

    label: str
    colour: str
    marker: str
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


def variant_styles(trials: pd.DataFrame) -> dict[str, VariantStyle]:
    """Return variant -> look. The implementation decides the marker; a variant of it that is not
    the plain one (its name differs from the implementation's) is hollow."""
    rows = trials.drop_duplicates("variant").sort_values("variant")
    return {str(row["variant"]): _look(row) for _, row in rows.iterrows()}


def _look(row: pd.Series) -> VariantStyle:
    implementation, variant = str(row["implementation"]), str(row["variant"])
    spare = _SPARE[zlib.crc32(implementation.encode()) % len(_SPARE)]
    colour = COLOURS.get(str(row["language"]).lower(), OTHER_COLOUR)
    label = row.get("label")
    return VariantStyle(
        label=variant if label is None or pd.isna(label) else str(label),
        colour=colour,
        marker=_MARKERS.get(implementation, spare),
        face=colour if variant == implementation else "white",
    )
