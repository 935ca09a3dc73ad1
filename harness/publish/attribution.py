# SPDX-License-Identifier: Apache-2.0
"""The rows of tables on pauses, under an open loop and a closed one alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.attribution.rows import AttributionRow
from harness.model import Estimate
from harness.publish.cells import Cell


def attribution_rows(rows: Sequence[AttributionRow]) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant, levels, memory, and every estimate of ``AttributionRow``.

    None where no trial has enough requests beyond the quantile.
    """
    if all(row.latency_s.value is None for row in rows):
        return []
    return [
        {"variant": row.label, **row.levels, "memory": row.memory}
        | {name: value for name, value in row if isinstance(value, Estimate)}
        for row in rows
    ]
