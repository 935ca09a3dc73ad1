# SPDX-License-Identifier: Apache-2.0
"""Whether a Go program keeps to its memory limit.

``GOMEMLIMIT`` is soft: a program that needs more takes more, and collects all the time. So a limit is enough only where
what the runtime holds, by its own account, is no more than the limit when the program has answered.
"""

from __future__ import annotations

from pathlib import Path

from harness.errors import TrialFailure
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.model import Outcome
from harness.model.endpoint import Endpoint
from harness.runner.snapshots import save_metrics

#: A runtime that paces itself may be so far above its limit at one moment.
OVER_SHARE = 0.05
_OBTAINED, _RETURNED = "go_memstats_sys_bytes", "go_memstats_heap_released_bytes"


def managed_bytes(metrics: str) -> int | None:
    """Return what the limit bounds, from a Go program's own metrics: memory of the runtime that it has not returned;
    ``None``: they do not tell."""
    told = parse_runtime_metrics(metrics).gauges
    if _OBTAINED not in told or _RETURNED not in told:
        return None
    return int(told[_OBTAINED] - told[_RETURNED])


def over_limit(metrics: str | None, limit_bytes: int) -> str | None:
    """Return why a program does not keep to its limit, or ``None``."""
    held = None if metrics is None else managed_bytes(metrics)
    if held is None:
        return "its metrics do not tell what its runtime holds"
    if held <= (1 + OVER_SHARE) * limit_bytes:
        return None
    return f"its runtime holds {held / 2**20:.1f} MiB, more than its limit of {limit_bytes / 2**20:.1f} MiB"


def refuse_over_limit(endpoint: Endpoint, folder: Path, limit_bytes: int) -> None:
    """Ask a running program for its metrics.

    Raises:
        TrialFailure: out of memory: it holds more than its limit.
    """
    file = folder / "limit.prom"
    told = file.read_text("utf-8") if save_metrics(endpoint, file) else None
    reason = over_limit(told, limit_bytes)
    if reason is not None:
        raise TrialFailure(Outcome.OUT_OF_MEMORY, reason)
