# SPDX-License-Identifier: Apache-2.0
"""Classes of warm-up, as numbers and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.warmup.curves import WarmUpRow
from harness.publish.cells import Cell
from harness.publish.results import NO_TEXT, Absent, Tree, for_each


def results(rows: Sequence[WarmUpRow], variants: Mapping[str, str]) -> Tree:
    """Return ``{steady_from,cold,classes}.<variant>`` for every variant of the definition, measured or not."""
    return {
        "steady_from": for_each(variants, {row.variant: row.steady_from_s for row in rows}, Absent(unit="s")),
        "cold": for_each(variants, {row.variant: row.cold_ratio for row in rows}, Absent()),
        "classes": for_each(variants, {row.variant: classes(row) for row in rows}, NO_TEXT),
    }


def classes(row: WarmUpRow) -> str:
    """Return the classes of a variant's trials in words: ``3 warm-up, 2 undecidable``."""
    return ", ".join(f"{n} {kind}" for kind, n in row.classes.items() if n)


def warm_up_rows(rows: Sequence[WarmUpRow]) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant, trials, classes, both estimates."""
    return [
        {
            "variant": row.label,
            "trials": row.n_trials,
            "classes": classes(row),
            "steady_from_s": row.steady_from_s,
            "cold_ratio": row.cold_ratio,
        }
        for row in rows
    ]
