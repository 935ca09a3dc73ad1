# SPDX-License-Identifier: Apache-2.0
"""What the paper says of pauses, loops and warm-up: one key for each variant of the definition, measured or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.attribution.rows import AttributionRow
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug
from harness.publish.results import publish_names

#: part of the key -> (field of the row, unit)
_GC: Mapping[str, tuple[str, str]] = {
    "memory": ("rss_bytes", "B"),
    "latency": ("latency_s", "s"),
    "pauses": ("pauses_per_s", "1/s"),
    "paused": ("paused_share", "share"),
    "longest": ("longest_pause_s", "s"),
    "median": ("median_pause_s", "s"),
    "collections": ("collections", "1"),
    "limit": ("detectability_s", "s"),
    "share": ("share", "share"),
    "lower": ("share_lower", "share"),
    "upper": ("share_upper", "share"),
    "most": ("most_share", "share"),
    "service_tail": ("service_tail", "share"),
    "generator_tail": ("generator_tail", "share"),
    "connect_tail": ("connect_tail", "share"),
    "unexplained": ("unexplained_tail", "share"),
    "throttle_most": ("throttle_most", "share"),
    "jit_most": ("jit_most", "share"),
    "run_queue_most": ("run_queue_most", "share"),
    "cycles": ("cycles_per_s", "1/s"),
    "cycle_excess": ("cycle_excess", "share"),
}


def publish_attribution(
    publisher: Publisher, rows: Sequence[AttributionRow], variants: Mapping[str, str], *, prefix: str = "gc"
) -> Published:
    """Publish ``<prefix>.{latency,pauses,...,unexplained}.<variant>`` for every variant of the definition.

    Args:
        rows: of one quantile and one combination of levels; empty where nothing was measured.
        variants: all of the definition with their labels; one that was not measured is published as absent.
    """
    with publisher.together():
        return _attribution(publisher, rows, variants, prefix)


def _attribution(
    publisher: Publisher, rows: Sequence[AttributionRow], variants: Mapping[str, str], prefix: str
) -> Published:
    by_name = {row.variant: row for row in rows}
    said = []
    publish_names(publisher, variants, prefix=prefix)
    for name in variants:
        for part, (field, unit) in _GC.items():
            key = f"{prefix}.{part}.{slug(name)}"
            found: Estimate | None = getattr(by_name[name], field) if name in by_name else None
            said.append(
                publisher.absent(key, unit, NOT_MEASURED) if found is None else publisher.number(key, found)
            )
    refused = sorted({row.label for row in rows if row.n_refused})
    words = (
        ", ".join(refused)
        if refused
        else "none of the variants measured"
        if rows
        else "none: " + NOT_MEASURED
    )
    publisher.text(f"{prefix}.refused", words)
    if rows:
        publisher.text(f"{prefix}.measured", "measured")
    return joined(said) if rows else Published(NOT_MEASURED)


def attribution_cells(rows: Sequence[AttributionRow]) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: variant, levels, and every estimate of ``AttributionRow``."""
    return [
        {
            "variant": row.label,
            **row.levels,
            "memory": row.memory,
            "trials": row.n_trials,
            "refused": row.n_refused or None,
            **{field: getattr(row, field) for field, _ in _GC.values()},
        }
        for row in rows
    ]
