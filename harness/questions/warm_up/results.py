# SPDX-License-Identifier: Apache-2.0
"""Classes of warm-up, as numbers and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.warmup.curves import WarmUpRow
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher, slug


def publish_warm_up(
    publisher: Publisher, rows: Sequence[WarmUpRow], variants: Mapping[str, str], *, prefix: str = "warmup"
) -> Published:
    """Publish ``<prefix>.{steady_from,cold,classes}.<variant>`` for every variant of the definition."""
    by_name = {row.variant: row for row in rows}
    for name in variants:
        row = by_name.get(name)
        for part, unit in (("steady_from", "s"), ("cold", "ratio")):
            key = f"{prefix}.{part}.{slug(name)}"
            if row is None:
                publisher.absent(key, unit, NOT_MEASURED)
            else:
                publisher.number(key, row.steady_from_s if part == "steady_from" else row.cold_ratio)
        publisher.text(f"{prefix}.classes.{slug(name)}", NOT_MEASURED if row is None else classes(row))
    if rows:
        publisher.text(f"{prefix}.measured", "measured")
    return Published("\n".join(f"{row.label}: {classes(row)}" for row in rows) or NOT_MEASURED)


def classes(row: WarmUpRow) -> str:
    """Return the classes of a variant's trials in words: ``3 warm-up, 2 undecidable``."""
    return ", ".join(f"{n} {kind}" for kind, n in row.classes.items() if n)


def warm_up_cells(rows: Sequence[WarmUpRow]) -> list[Mapping[str, Cell] | None]:
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
