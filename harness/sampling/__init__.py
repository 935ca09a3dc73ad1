# SPDX-License-Identifier: Apache-2.0
"""Records of readings, a native and a portable way to take them; the usual readers are those of ``harness.agent``."""

from harness.sampling.records import (
    as_earlier,
    as_reading,
    machine_window,
    merge,
    on_our_clock,
    readers_here,
    tick_source_here,
    tree_here,
)

__all__ = [
    "as_earlier", "as_reading", "machine_window", "merge", "on_our_clock", "readers_here",
    "tick_source_here", "tree_here",
]  # fmt: skip
