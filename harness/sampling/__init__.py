# SPDX-License-Identifier: Apache-2.0
"""Memory, CPU, threads and descriptors of processes; pressure, steal and throttling of the machine."""

from harness.sampling.cgroup import read_throttling
from harness.sampling.edge import as_reading, machine_window, read_resources
from harness.sampling.machine import MachineReading, read_machine
from harness.sampling.native_glancer import glancer_here
from harness.sampling.process import ProcessReader, ProcessReading, TreeReader, TreeResources, read_tree
from harness.sampling.rows import merge, on_our_clock
from harness.sampling.sampler import Sampler, SamplerSummary, Watched

__all__ = [
    "MachineReading",
    "ProcessReader",
    "ProcessReading",
    "Sampler",
    "SamplerSummary",
    "TreeReader",
    "TreeResources",
    "Watched",
    "as_reading",
    "glancer_here",
    "machine_window",
    "merge",
    "on_our_clock",
    "read_machine",
    "read_resources",
    "read_throttling",
    "read_tree",
]
