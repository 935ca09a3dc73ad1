# SPDX-License-Identifier: Apache-2.0
"""From chunks of rows to one table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from harness.errors import InputError
from harness.formats.rows import Layout
from harness.formats.table import CodeArray, RequestChunk, RequestSource, RequestTable, Unreadable


def collect(
    chunks: Iterable[RequestChunk], *, path: Path, source: RequestSource, resolution_s: float, layout: Layout
) -> RequestTable:
    """Put chunks together, with one list of labels in order of appearance.

    Raises:
        InputError: there are whole lines, and not one of them could be read.
    """
    parts: list[RequestChunk] = []
    codes: list[CodeArray] = []
    label_codes: dict[str, int] = {}
    unreadable = Unreadable()
    for chunk in chunks:
        unreadable = unreadable.plus(chunk.unreadable)
        if not len(chunk.latency_s):
            continue
        parts.append(chunk)
        known = [label_codes.setdefault(label, len(label_codes)) for label in chunk.label.categories]
        codes.append(np.asarray(known, dtype=np.int32)[chunk.label.codes])
    if not parts and unreadable.n > unreadable.n_cut:
        raise InputError(
            "not one line could be read",
            file=path,
            place=f"line {unreadable.first_line}",
            found=unreadable.first_text,
            allowed=f"{layout.n_columns} columns, separated by {layout.delimiter!r}"
            + (f": {layout.delimiter.join(layout.header)}" if layout.header else ""),
        )
    keep, n_left_out = _without_sums(parts)
    return RequestTable(
        path=path,
        source=source,
        start_epoch_s=_join([part.start_epoch_s for part in parts], keep, np.float64),
        latency_s=_join([part.latency_s for part in parts], keep, np.float64),
        ok=_join([part.ok for part in parts], keep, np.bool_),
        label_codes=_join(codes, keep, np.int32),
        labels=tuple(label_codes),
        resolution_s=resolution_s,
        unreadable=unreadable,
        n_transactions_left_out=n_left_out,
        has_start_times=layout.start is not None,
        ok_known=layout.ok is not None or layout.code is not None,
        notes=(f"{n_left_out} rows of transaction controllers left out",) if n_left_out else (),
    )


def _without_sums(parts: list[RequestChunk]) -> tuple[np.ndarray | None, int]:
    """Which rows to keep (None: all): a transaction's row repeats the time of the rows it sums up."""
    n_sums = sum(int(np.count_nonzero(part.transaction)) for part in parts)
    n_rows = sum(len(part.transaction) for part in parts)
    if n_sums in {0, n_rows}:
        return None, 0
    return ~np.concatenate([part.transaction for part in parts]), n_sums


def _join(arrays: list[np.ndarray], keep: np.ndarray | None, kind: type[np.generic]) -> np.ndarray:
    if not arrays:
        return np.zeros(0, dtype=kind)
    joined = np.concatenate(arrays)
    return joined if keep is None else joined[keep]
