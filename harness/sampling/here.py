# SPDX-License-Identifier: Apache-2.0
"""How processes and the machine are read here: the one place that chooses."""

from __future__ import annotations

from harness.agent.platforms import has_proc
from harness.agent.process_tree import TreeReader
from harness.agent.processes import look_through
from harness.agent.ticks import PythonTicks, TickSource
from harness.sampling.native_ticks import native_glancer

NO_PROC = (
    "this system does not show processes as files: psutil reads them, at a higher cost and without "
    "proportional memory, pressure, steal and throttling"
)


def tick_source_here() -> tuple[TickSource, str | None]:
    """Return the cheapest glancer that this machine has, and why it is not the native one (``None``: it is)."""
    if not has_proc():
        from harness.sampling.portable import PortableTicks

        return PortableTicks(), NO_PROC
    try:
        return native_glancer(), None
    except OSError as problem:
        return PythonTicks(), str(problem)


def readers_here() -> TickSource:
    """Return a glancer for its readers of processes and machine, which all but the portable one share."""
    return PythonTicks() if has_proc() else tick_source_here()[0]


def tree_here() -> type[TreeReader]:
    """Return what reads a process and its children on this machine."""
    return readers_here().tree


if not has_proc():
    from harness.sampling.portable import PsutilProcesses

    look_through(PsutilProcesses())

__all__ = ["readers_here", "tick_source_here", "tree_here"]
