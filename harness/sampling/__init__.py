# SPDX-License-Identifier: Apache-2.0
"""Memory, CPU, threads and descriptors of processes; pressure, steal and throttling of the machine."""

from harness.sampling.cgroup import read_throttling
from harness.sampling.machine import MachineReading, machine_window, read_machine
from harness.sampling.process import ProcessReader, ProcessReading, TreeReader, read_resources
from harness.sampling.sampler import Sampler, SamplerSummary, Watched

__all__ = [
    "MachineReading",
    "ProcessReader",
    "ProcessReading",
    "Sampler",
    "SamplerSummary",
    "TreeReader",
    "Watched",
    "machine_window",
    "read_machine",
    "read_resources",
    "read_throttling",
]
