# SPDX-License-Identifier: Apache-2.0
"""The requests of each name in a file: how many, how many failed, how fast, how long."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.formats.table import AggregateRow, RequestTable
from harness.report.latencies import summarise_latencies
from harness.report.result import LABEL_QUANTILES, LabelRow, in_ms
from harness.report.spread import EveryLatency

#: Names with a row of their own, those with the most requests first.
MOST_LABELS = 100


class Labels:
    """How many requests of each label have been seen so far, and how many of them failed."""

    def __init__(self, resolution_s: float) -> None:
        self._resolution_s = resolution_s
        self._names: tuple[str, ...] = ()
        self._requests = self._errors = np.zeros(0, dtype=np.int64)
        # Of each successful request, in as few bytes as there are names.
        self._codes: list[npt.NDArray[np.unsignedinteger]] = []

    def take(self, table: RequestTable, successful: npt.NDArray[np.intp]) -> None:
        """Add the next stretch.

        Args:
            successful: which rows succeeded, as an index in the order of their latencies.
        """
        self._names = table.labels  # of one file: a stretch knows the names of those before it
        n = len(self._names)
        self._requests = _sum(self._requests, np.bincount(table.label_codes, minlength=n))
        failed = table.label_codes[~table.ok] if table.n_errors else table.label_codes[:0]
        self._errors = _sum(self._errors, np.bincount(failed, minlength=n))
        self._codes.append(table.label_codes[successful].astype(np.uint8 if n <= 256 else np.uint32))

    def rows(self, latency: EveryLatency, duration_s: float | None, text: list[str]) -> tuple[LabelRow, ...]:
        """Return a row for each name, the most frequent first; none where the file names nothing.

        Args:
            latency: of all successful requests that were taken.
            duration_s: of the whole file; ``None``: unknown.
            text: what is to be known about them is added here.
        """
        frequent = np.argsort(-self._requests, kind="stable")
        frequent = frequent[self._requests[frequent] > 0]
        if not len(frequent) or [self._names[i] for i in frequent] == [""]:
            return ()
        if len(frequent) > MOST_LABELS:
            text.append(
                f"{len(frequent):,} different names of requests: the {MOST_LABELS} with most requests are shown"
            )
        if len(frequent) == 1:
            return (self._row(int(frequent[0]), latency, duration_s),)
        codes = np.concatenate(self._codes)
        return tuple(
            self._row(int(i), EveryLatency(latency.latency_s[codes == i]), duration_s)
            for i in frequent[:MOST_LABELS]
        )

    def _row(self, code: int, latency: EveryLatency, duration_s: float | None) -> LabelRow:
        result = summarise_latencies(latency, self._resolution_s, LABEL_QUANTILES)
        n = int(self._requests[code])
        return LabelRow(
            label=self._names[code],
            requests=n,
            errors=int(self._errors[code]),
            throughput_per_s=n / duration_s if duration_s else None,
            latency_ms=result.values,
            intervals=result.intervals,
        )


def of_aggregate(row: AggregateRow) -> LabelRow:
    """Return the row of a name in a tool's own totals: without intervals."""
    known = row.latency_quantiles_s
    return LabelRow(
        label=" ".join(filter(None, (row.method, row.name))),
        requests=row.n_requests,
        errors=row.n_errors,
        throughput_per_s=row.answers_per_s,
        latency_ms={
            "mean": in_ms(row.latency_mean_s),
            **{name: in_ms(known.get(name)) for name in LABEL_QUANTILES},
            "max": in_ms(row.latency_max_s),
        },
        intervals=dict.fromkeys(["mean", *LABEL_QUANTILES]),
    )


def _sum(some: npt.NDArray[np.int64], more: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    total = np.zeros(max(len(some), len(more)), dtype=np.int64)
    total[: len(some)] += some
    total[: len(more)] += more
    return total
