# SPDX-License-Identifier: Apache-2.0
"""What one trial left in the store: whether its files are whole, its single requests, its resource samples."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from harness.errors import InputError
from harness.formats.detect import read_any
from harness.formats.table import RequestTable, together
from harness.formats.wrk_histogram import (
    UNDONE,
    LatencyHistogram,
    expected_interval_us,
    read_wrk_histogram,
    undo_correction,
)
from harness.model import ClosedLoad, TrialRecord
from harness.store import SessionFolder

SAMPLES = "samples.csv"
HISTOGRAM = "load/wrk_latency.csv"
#: Answers per second of a load whose rows were counted.
SECONDS = "load/seconds.csv"


def damage_of(session: SessionFolder, record: TrialRecord) -> str | None:
    """Return why a trial's files cannot be those it was recorded with; their size tells nearly always."""
    for name, stored in sorted(record.files.items()):
        found_bytes = session.size_bytes(record.planned.trial_id, name)
        if found_bytes is None:
            return f"damaged: {name} is missing"
        if found_bytes != stored.bytes:
            return f"damaged: {name} has {found_bytes} bytes, recorded were {stored.bytes}"
    return None


def read_requests(session: SessionFolder, record: TrialRecord) -> RequestTable | None:
    """Read the single requests of a trial, as its record says that there are some; of several generators
    all together, on the first one's clock."""
    if record.load is None or not record.load.has_requests:
        return None
    if not record.generators:
        return _rows_in(session, record, "load", record.load.start_epoch_s)
    tables = [
        _rows_in(session, record, one.folder, one.load.start_epoch_s if one.load else None)
        for one in record.generators
    ]
    return together(tables, [one.clock_shift_s for one in record.generators])


def _rows_in(
    session: SessionFolder, record: TrialRecord, folder: str, start_epoch_s: float | None
) -> RequestTable:
    """Read the one file in a generator's folder that holds single requests."""
    for path in _load_files(session, record, folder):
        table = read_any(path)
        if isinstance(table, RequestTable):
            return table.placed(start_epoch_s) if table.from_zero else table
    raise InputError(
        "the record says that single requests were kept, but none are there",
        file=session.folder,
        place=folder,
    )


def _load_files(session: SessionFolder, record: TrialRecord, folder: str) -> Iterator[Path]:
    trial_id = record.planned.trial_id
    for name in sorted(record.files):
        plain = name.removesuffix(".gz")
        if plain.startswith(f"{folder}/samples.") and plain.endswith((".jtl", ".csv", ".db")):
            if session.sha256(trial_id, name) != record.files[name].sha256:
                raise InputError("its bytes are not those of the record", file=session.where(trial_id, name))
            yield session.content_path(trial_id, name)


def read_restored(session: SessionFolder, record: TrialRecord) -> LatencyHistogram | None:
    """Restore the latencies of a trial of wrk from its file once more; ``None``: its record has none that were, or
    those of several generators."""
    load, planned = record.load, record.planned.configuration.load
    if load is None or planned is None or load.latency_method != UNDONE or record.generators:
        return None
    kinds = load.errors_by_kind
    n_answers = load.n_requests - sum(kinds.get(kind, 0) for kind in ("connect", "read", "write"))
    assert isinstance(planned.profile, ClosedLoad)  # wrk offers no other
    interval_us = expected_interval_us(
        duration_us=round(load.duration_s * 1e6), n_answers=n_answers, connections=planned.profile.users
    )
    corrected = read_wrk_histogram(session.path(record.planned.trial_id, HISTOGRAM))
    return undo_correction(corrected, interval_us, n_recorded=n_answers - kinds.get("timeout", 0))


def read_seconds(session: SessionFolder, trial_id: str) -> pd.DataFrame | None:
    """Read how many answers came in each second of a load whose rows were counted; ``None``: they were not."""
    if not session.has(trial_id, SECONDS):
        return None
    with session.open(trial_id, SECONDS) as stream:
        return pd.read_csv(stream)


def read_samples(session: SessionFolder, record: TrialRecord) -> pd.DataFrame | None:
    """Read the samples that were taken of a trial's processes, with ``since_launch_s``; ``None``: there are none."""
    trial_id = record.planned.trial_id
    if not session.has(trial_id, SAMPLES):
        return None
    try:
        with session.open(trial_id, SAMPLES) as stream:
            frame = pd.read_csv(stream, dtype={"role": "str"})
        if frame.empty and "monotonic_s" in frame:  # a service that ended before the first tick
            frame = frame.astype({"monotonic_s": "float64"})
        if not {"monotonic_s", "role"} <= set(frame.columns) or frame["monotonic_s"].dtype.kind not in "if":
            raise ValueError("it lacks the columns monotonic_s and role, or has a time that is no number")
    except (EOFError, OSError, ValueError, zlib.error) as error:  # pandas' errors are values' errors
        raise InputError(
            f"cannot be read: {' '.join(str(error).split())[:120]}", file=session.where(trial_id, SAMPLES),
            allowed="the samples that a trial writes",
        ) from error  # fmt: skip
    if record.instance is not None:
        frame["since_launch_s"] = frame["monotonic_s"] - record.instance.launched.monotonic_s
    return frame
