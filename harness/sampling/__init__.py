# SPDX-License-Identifier: Apache-2.0
"""Records of readings, and a native way to take them; the readers themselves stand in ``harness.agent``."""

from harness.sampling.native_ticks import glancer_here
from harness.sampling.records import as_reading, machine_window, merge, on_our_clock, read_resources

__all__ = [
    "as_reading",
    "glancer_here",
    "machine_window",
    "merge",
    "on_our_clock",
    "read_resources",
]
