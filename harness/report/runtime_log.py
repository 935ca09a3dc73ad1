# SPDX-License-Identifier: Apache-2.0
"""The log of a service's runtime that is reported on beside its requests."""

from __future__ import annotations

from pathlib import Path

from harness.formats.gc_events import GcLog
from harness.formats.gctrace import read_gctrace
from harness.formats.jfr_json import read_jfr_json
from harness.formats.jvm_log import read_jvm_log
from harness.formats.source import read_head
from harness.formats.unified_log import rotated_parts


def read_runtime_log(path: Path, process_start_epoch_s: float | None = None) -> GcLog:
    """Read a JVM's unified log (with its rotated parts), a flight recording as JSON or Go's gctrace, whichever it is.

    ``process_start_epoch_s`` places a log that counts from the start of its process.

    Raises:
        InputError: it is none of them.
    """
    if read_head(path).lstrip().startswith("{"):
        return read_jfr_json(path).log
    trace = read_gctrace(path)
    log = trace if trace.n_lines else read_jvm_log(*rotated_parts(path))
    if log.clock == "epoch" or process_start_epoch_s is None:
        return log
    return log.placed(process_start_epoch_s)
