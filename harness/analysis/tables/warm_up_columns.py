# SPDX-License-Identifier: Apache-2.0
"""The columns of a warm-up in windows, and its windows as a table; and what JIT compilers did during the load."""

from __future__ import annotations

import pandas as pd

from harness.analysis.tables.resource_columns import reading_at
from harness.analysis.warmup.cold import cold_start
from harness.model import TrialRecord


def warm_up_columns(record: TrialRecord) -> dict[str, object]:
    """Return the columns; what it took to become warm only for the first trial of a process."""
    row: dict[str, object] = {"compile_s": _compile_s(record)}
    warm_up = record.warm_up
    if warm_up is None:
        return row
    row |= {"warm_class": warm_up.end, "earlier_loads": len(record.earlier_loads)}
    if record.planned.process_of is not None:
        return row
    cold, windows = cold_start(warm_up), warm_up.windows
    used = [window.cpu_s for window in windows]
    return row | {
        "warm_up_s": windows[-1].end_s if windows else None,
        "warm_up_requests": sum(window.n_requests for window in windows),
        "warm_up_cpu_s": None if None in used else sum(one for one in used if one is not None),
        "cold_s": cold.seconds,
        "cold_requests": cold.n_requests,
        "cold_cpu_s": cold.cpu_s,
        "cold_extra_cpu_s": cold.extra_cpu_s,
    }


def window_table(record: TrialRecord) -> pd.DataFrame | None:
    """Return one row per window, columns as of ``WarmUpWindow``; ``None``: there is none, or another trial has it."""
    if record.warm_up is None or record.planned.process_of is not None:
        return None
    rows = [window.model_dump() for window in record.warm_up.windows]
    frame = pd.DataFrame(
        rows, columns=["start_s", "duration_s", "n_requests", "n_errors", "cpu_s", "compile_s"]
    )
    whole = dict.fromkeys(("n_requests", "n_errors"), "int64")
    return frame.astype(whole | dict.fromkeys(("start_s", "duration_s", "cpu_s", "compile_s"), "float64"))


def _compile_s(record: TrialRecord) -> float | None:
    before, after = reading_at(record, "before-load"), reading_at(record, "after-load")
    if before is None or after is None or before.compile_s is None or after.compile_s is None:
        return None
    return max(0.0, after.compile_s - before.compile_s)


__all__ = ["warm_up_columns", "window_table"]
