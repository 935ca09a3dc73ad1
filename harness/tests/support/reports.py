# SPDX-License-Identifier: Apache-2.0
"""Reports of whole files, as ``rematch report FILE`` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.formats.detect import files_of_run
from harness.formats.gc_events import GcLog
from harness.formats.jtl_units import How
from harness.report.analyse import read_files, report_table
from harness.report.result import QUANTILES, Report


def report_file(
    path: Path, gc_log: GcLog | None = None, *, quantiles: Mapping[str, float] = QUANTILES, **how: Any
) -> Report:
    """Read a file and report on it; ``how``: its numbers are written, as of ``How``."""
    return report_table(read_files(files_of_run(path), How(**how)), gc_log, quantiles)
