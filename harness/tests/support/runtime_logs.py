# SPDX-License-Identifier: Apache-2.0
"""Logs of runtimes as text: read as if they were files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness.formats.gc_events import GcLog
from harness.formats.runtime_log import read_runtime_log


def read_log(*parts: str, process_start_epoch_s: float | None = None) -> GcLog:
    """Read what stands in these parts of one log, the first of them the newest, as rotation names them."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / ("gc.log" if not k else f"gc.log.{k - 1}") for k in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            path.write_text(part, "utf-8", newline="")
        return read_runtime_log(paths[0], process_start_epoch_s=process_start_epoch_s)


def read_trace(text: str) -> GcLog:
    """Read what a Go process wrote to stderr."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "service.stderr.txt"
        path.write_text(text, "utf-8", newline="")
        return read_runtime_log(path, of_go=True)
