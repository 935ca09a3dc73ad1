# SPDX-License-Identifier: Apache-2.0
"""A run of which at least one file holds totals only: sums and means are exact, percentiles have bounds."""

from __future__ import annotations

from collections.abc import Sequence

from harness.compare.run import LATENCIES, NO_VERDICTS, QUANTILES, Key, Run, request_values
from harness.errors import InputError
from harness.formats.table import AggregateRow, AggregateTable, RequestTable
from harness.model.digits import plain

#: What one file says of one name, and the number of requests that its mean is of.
_Total = tuple[AggregateRow, int]


def run_of_totals(name: str, tables: Sequence[AggregateTable | RequestTable]) -> Run:
    """Return the run of summaries, or of summaries and single requests.

    Raises:
        InputError: a file has no totals over all requests.
    """
    results = [_totals(table) for table in tables]
    values: dict[Key, float] = {}
    reasons: dict[Key, str] = {}
    labels: dict[str, int] = {}
    for label in dict.fromkeys(label for item in results for label in item):
        some = [item[label] for item in results if label in item]
        if label is not None:
            labels[label] = sum(row.n_requests for row, _ in some)
        whole, missing = _joined(some)
        values |= {(label, metric): value for metric, value in whole.items()}
        reasons |= {(label, metric): why for metric, why in missing.items()}
    of_all = [item[None][0] for item in results]
    starts = [table.start_epoch_s for table in tables if isinstance(table, AggregateTable)]
    starts += [table.first_start_epoch_s for table in tables if isinstance(table, RequestTable)]
    rates = [row.answers_per_s for row in of_all]
    return Run(
        name=name,
        sources=tuple(dict.fromkeys(table.source for table in tables)),
        n_requests=sum(row.n_requests for row in of_all),
        n_errors=sum(row.n_errors for row in of_all),
        resolution_s=max(table.resolution_s for table in tables),
        values=values,
        reasons=reasons,
        start_epoch_s=min((at for at in starts if at is not None), default=None),
        duration_s=max((table.duration_s for table in tables if table.duration_s is not None), default=None),
        rate_per_s=None if None in rates else sum(rate for rate in rates if rate is not None),
        labels=labels,
        warnings=tuple(dict.fromkeys(note for table in tables for note in _notes(table))),
    )


def _totals(table: AggregateTable | RequestTable) -> dict[str | None, _Total]:
    if isinstance(table, RequestTable):
        values, _ = request_values(table.latency_s[table.ok], table.n_errors, table.duration_s)
        row = AggregateRow(
            name="", n_requests=table.n_requests, n_errors=table.n_errors, latency_mean_s=values.get("mean"),
            latency_quantiles_s={name: values[name] for name in QUANTILES if name in values},
            answers_per_s=table.n_requests / table.duration_s if table.duration_s else None,
        )  # fmt: skip
        return {None: (row, table.n_requests - table.n_errors)}
    if table.total is not None and not table.total.n_requests:
        raise InputError("holds no request", file=table.path, allowed="at least one request or error")
    if table.total is None:
        raise InputError(
            "holds no totals over all requests", file=table.path, found=table.kind,
            allowed="the file _stats.csv beside it, or single requests",
        )  # fmt: skip
    total = table.of_requests or table.total
    n_latencies = total.n_requests if table.n_latencies is None else table.n_latencies
    results: dict[str | None, _Total] = {None: (total, n_latencies)}
    if len(table.rows) > 1:
        results |= {
            " ".join(filter(None, (row.method, row.name))): (row, row.n_requests) for row in table.rows
        }
    return results


def _notes(table: AggregateTable | RequestTable) -> tuple[str, ...]:
    if isinstance(table, RequestTable):
        return table.notes
    unknown = () if table.errors_known else (NO_VERDICTS,)
    reasons = () if table.bounds is None else (table.bounds.reason,)
    return (*unknown, *reasons, *table.notes)


def _joined(some: Sequence[_Total]) -> tuple[dict[str, float], dict[str, str]]:
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    n_requests = sum(row.n_requests for row, _ in some)
    if n_requests:
        values["errors"] = sum(row.n_errors for row, _ in some) / n_requests
    rates = [row.correct_per_s for row, _ in some if row.correct_per_s is not None]
    if len(rates) == len(some):
        values["throughput"] = sum(rates)
    else:
        reasons["throughput"] = "the summary has no rate"
    n_latencies = sum(n for _, n in some)
    sums = [row.latency_mean_s * n for row, n in some if row.latency_mean_s is not None]
    if len(sums) == len(some) and n_latencies:
        values["mean"] = sum(sums) / n_latencies
    for name in QUANTILES:
        present = [row.latency_quantiles_s[name] for row, _ in some if name in row.latency_quantiles_s]
        if len(present) < len(some):
            reasons[name] = f"the summary has no {name}"
        elif len(present) == 1:
            values[name] = present[0]
        else:
            low, high = (f"{plain(1e3 * end)}" for end in (min(present), max(present)))
            reasons[name] = (
                f"percentiles of {len(present)} summaries cannot be merged: {name} lies between {low} and {high} ms"
            )
    reasons |= {
        name: "the summary has no such number"
        for name in LATENCIES
        if name not in values and name not in reasons
    }
    return values, reasons
