# SPDX-License-Identifier: Apache-2.0
"""What a runtime said of itself at the edges of a trial's phases: Go's collections, the JVM's native memory."""

from __future__ import annotations

import zlib

import pandas as pd

from harness.errors import InputError
from harness.formats.nmt import parse_nmt
from harness.formats.runtime_metrics import RuntimeMetrics, parse_runtime_metrics
from harness.model import TrialRecord
from harness.store import SessionFolder

#: Columns of the table of native memory; ``category`` "Total" is the JVM's own sum.
NATIVE_COLUMNS = ("boundary", "category", "reserved_bytes", "committed_bytes")
TOTAL = "Total"


def runtime_columns(session: SessionFolder, record: TrialRecord) -> dict[str, object]:
    """Return the ``go_*`` columns of one trial; none where its runtime is another one, or nothing was asked.

    Collections and pauses are those between the edges of the load, memory is that at its end.
    """
    variant = record.planned.configuration.variant
    implementation = session.header.implementations.get(variant.implementation)
    if implementation is None or implementation.runtime != "go":
        return {}
    before, after = (
        boundary_metrics(session, record, "before-load"),
        boundary_metrics(session, record, "after-load"),
    )
    if after is None:
        return {}
    columns: dict[str, object] = {
        "go_heap_bytes": after.memory_classes_bytes.get("heap_objects"),
        "go_memory_bytes": after.memory_classes_bytes.get("total"),
    }
    if before is None:
        return columns
    if before.n_collections is not None and after.n_collections is not None:
        columns["go_collections"] = after.n_collections - before.n_collections
    if before.pauses is not None and after.pauses is not None:
        columns["go_paused_s"] = after.pauses.since(before.pauses).sum_s
    return columns


def native_memory(session: SessionFolder, record: TrialRecord) -> pd.DataFrame | None:
    """Return ``NATIVE_COLUMNS``, a row for each category at each boundary; ``None``: the JVM was not asked.

    Raises:
        InputError: an answer is none; names the file.
    """
    trial = record.planned.trial_id
    rows: list[tuple[str, str, int, int]] = []
    for boundary in record.boundaries:
        if boundary.nmt_file is None or not session.has(trial, boundary.nmt_file):
            continue
        try:
            found = parse_nmt(_text(session, trial, boundary.nmt_file))
        except InputError as error:
            raise InputError(str(error), file=session.path(trial, boundary.nmt_file)) from error
        rows.append((boundary.name, TOTAL, found.total.reserved_bytes, found.total.committed_bytes))
        rows += [
            (boundary.name, category, of.reserved_bytes, of.committed_bytes)
            for category, of in found.categories.items()
        ]
    return pd.DataFrame(rows, columns=list(NATIVE_COLUMNS)) if rows else None


def boundary_metrics(session: SessionFolder, record: TrialRecord, name: str) -> RuntimeMetrics | None:
    """Return what a service's ``GET /metrics`` said at a boundary; ``None``: it was not asked, or did not answer."""
    trial = record.planned.trial_id
    file = next((b.runtime_metrics_file for b in record.boundaries if b.name == name), None)
    if file is None or not session.has(trial, file):
        return None
    return parse_runtime_metrics(_text(session, trial, file))


def _text(session: SessionFolder, trial: str, name: str) -> str:
    try:
        with session.open(trial, name) as stream:
            return stream.read().decode("utf-8", "replace")
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", file=session.where(trial, name)) from error
