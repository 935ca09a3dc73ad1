# SPDX-License-Identifier: Apache-2.0
"""Ticks outside of the interpreter: ``native/glances.c``, which set-up builds where there is a C compiler."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.process_tree import ProcessReader, reading_of
from harness.agent.sampler import Calls, PythonTicks, Schedule
from harness.toolchains import GLANCES

if TYPE_CHECKING:
    from harness.agent.sampler import Tick

#: Set-up builds for the sources that it stands beside.
_TOOLS = Path(__file__).resolve().parents[2] / ".tools"


class _Process(ctypes.Structure):
    """``struct process``."""

    _fields_ = (("cpu_clock", ctypes.c_int32), ("statm", ctypes.c_int32))


#: ``struct glance``: moment, CPU time, pages of the address space (0: it has ended), resident pages.
_GLANCE = struct.Struct("=4q")


class NativeTicks(PythonTicks):
    """Takes the ticks in one call, during which the interpreter's lock is free.

    Raises OSError: the library is not there, or not for this machine; says which.
    """

    name = "native"

    def __init__(self, library: Path) -> None:
        if not library.is_file():
            raise FileNotFoundError("not built for this source yet; install it with: make setup")
        self._native = _loaded(library)

    def take(
        self, schedule: Schedule, before: int, processes: Sequence[ProcessReader], calls: Calls
    ) -> list[Tick]:
        n = len(processes)
        asked = (_Process * n)(*(_Process(process.clock, process.statm) for process in processes))
        seen = ctypes.create_string_buffer(max(0, before - schedule.number) * n * _GLANCE.size)
        n_ticks = self._native(schedule, before, asked, n, ctypes.addressof(calls), ctypes.addressof(seen))
        rows = memoryview(seen)[: n_ticks * n * _GLANCE.size]
        glances = [
            (at_ns / 1e9, reading_of(cpu_ns, size_pages, resident_pages))
            for at_ns, cpu_ns, size_pages, resident_pages in _GLANCE.iter_unpack(rows)
        ]
        return [glances[tick * n : (tick + 1) * n] for tick in range(n_ticks)]


@cache  # a session takes a glancer for each trial, and what ctypes makes for a library is never given back
def _loaded(library: Path) -> Callable[..., int]:
    """Return the loop of a library, which is loaded once a process."""
    take = ctypes.CDLL(str(library)).glances_take
    take.restype = ctypes.c_int64
    take.argtypes = [
        *(ctypes.POINTER(Schedule), ctypes.c_int64, ctypes.POINTER(_Process), ctypes.c_int64),
        *(ctypes.c_void_p, ctypes.c_void_p),
    ]
    return take


def native_glancer() -> NativeTicks:
    """Return the one that set-up built. Raises OSError: as ``NativeTicks``."""
    return NativeTicks(GLANCES.built(_TOOLS))
