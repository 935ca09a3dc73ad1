# SPDX-License-Identifier: Apache-2.0
"""Segments of a load and a slow start of the clients, as numbers and as a table."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from harness.analysis.load.load_segments import COLUMN as PART
from harness.analysis.stats.comparisons import compare
from harness.evidence import Evidence
from harness.evidence.load_response import every
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug
from harness.publish.results import mean_of, publish_levels


def publish_slow_start(
    publisher: Publisher, table: pd.DataFrame | None, variants: Mapping[str, str], *, prefix: str
) -> Published:
    """Publish ``<prefix>.slow.<variant>``: for how long requests that kept coming met a slow service."""
    said = []
    with publisher.together():
        for name in variants:
            mine = None if table is None else every(table[table["variant"] == name])
            key = f"{prefix}.slow.{slug(name)}"
            if mine is None or mine.empty:
                said.append(publisher.absent(key, "s", NOT_MEASURED))
            else:
                said.append(publisher.number(key, mean_of(mine, "slow_s", "s")))
    return joined(said)


def publish_parts(
    publisher: Publisher,
    parts: pd.DataFrame | None,
    variants: Mapping[str, str],
    *,
    reference: str | None,
    prefix: str,
) -> Published:
    """Publish what the parts of a load say, for mean latency, p99 and CPU.

    Keys: ``<prefix>.last_over_first.<word>.{ratio,verdict}.<variant>`` within a variant, and
    ``<prefix>.last.<word>.{ratio,verdict}.<variant>`` against the reference in the last part.
    """
    metrics = {"mean": "latency_mean_s", "p99": "latency_p99_s", "cpu": "service_cores"}
    names = [] if parts is None else sorted(set(parts[PART]), key=int)
    first, last = (names[0], names[-1]) if names else ("1", "1")
    said = publish_levels(
        publisher,
        parts,
        variants,
        factor=PART,
        base=first,
        other=last,
        metrics=metrics,
        prefix=f"{prefix}.last_over_first",
    )
    at_last = None if parts is None else parts[parts[PART] == last]
    with publisher.together():
        for word, metric in metrics.items():
            told = None if at_last is None else at_last.dropna(subset=[metric])
            some = told is not None and reference is not None and reference in set(told["variant"])
            found = compare(told, metric, reference=reference) if some else ()  # type: ignore[arg-type]  # some says so
            publisher.comparisons(
                f"{prefix}.last.{word}",
                found,
                variants=[name for name in variants if name != reference],
                main={},
            )
    return said


def parts_cells(parts: pd.DataFrame, evidence: Evidence) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: part, variant, and every estimate of a part."""
    metrics = [
        "latency_mean_s",
        "latency_p99_s",
        "latency_max_s",
        "throughput_per_s",
        "service_cores",
        "rss_max_bytes",
    ]
    return evidence.rows(parts, metrics, by=[PART])
