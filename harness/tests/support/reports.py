# SPDX-License-Identifier: Apache-2.0
"""Reports of whole files, as ``rematch report FILE`` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.formats.detect import files_of_run
from harness.formats.gc_events import GcLog
from harness.report.analyse import read_files, report_table
from harness.report.result import QUANTILES, Report


def report_file(
    path: Path, gc_log: GcLog | None = None, *, quantiles: Mapping[str, float] = QUANTILES, **written: Any
) -> Report:
    """Read a file and report on it; ``written``: how its numbers are written, as of ``read_files``."""
    return report_table(read_files(files_of_run(path), **written), gc_log, quantiles)
