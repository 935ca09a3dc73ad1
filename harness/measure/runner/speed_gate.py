# SPDX-License-Identifier: Apache-2.0
"""Wait until the CPUs have their usual speed before a load, and tell a load during which they lost it.

Another guest of the hypervisor slows a CPU for seconds or minutes (:mod:`harness.agent.cpu_speed`), and a trial that
ran beside it is left out of every estimate. Waiting for a moment in which it rests, and offering a load once more that
it disturbed, saves the process that took half a minute to become warm. Both go by the time of a fixed calculation
alone, never by anything of the service, so they favour no service.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.model.started import SLOWED_SHARE, CpuSpeed
from harness.places.hosts.measuring import MeasuringHost

#: Fewer readings of a CPU say nothing of its speed.
FEWEST_READINGS = 8
#: A look at the CPUs: so long, with so many readings a second of all CPUs together.
LOOK_S, LOOK_PER_S = 0.25, 100.0
#: Between two looks.
PAUSE_S = 1.0
#: How often at most a load is offered again for the speed of the CPUs.
REPEATS = 3


@dataclass
class SpeedGate:
    """The fastest that each CPU was in a session, and how long a load may wait for that speed.

    ``wait_s``: of each trial at most, in seconds, over all of its loads.
    ``fastest_ns``: CPU -> the least mean CPU time of a step of the calculation, of all looks and loads so far.
    """

    wait_s: float
    fastest_ns: dict[int, float] = field(default_factory=dict)

    def note(self, read: Sequence[CpuSpeed]) -> None:
        """Learn from readings how fast the CPUs can be."""
        for speed in read:
            if speed.n_readings >= FEWEST_READINGS:
                fastest_ns = self.fastest_ns.get(speed.cpu, speed.step_ns_mean)
                self.fastest_ns[speed.cpu] = min(speed.step_ns_mean, fastest_ns)

    def slowed(self, read: Sequence[CpuSpeed]) -> bool:
        """Return whether a CPU took longer for the calculation than its fastest, by more than a trial is kept with."""
        return any(
            speed.n_readings >= FEWEST_READINGS
            and speed.step_ns_mean > self.fastest_ns.get(speed.cpu, speed.step_ns_mean) * (1 + SLOWED_SHARE)
            for speed in read
        )

    def wait(self, host: MeasuringHost, cpus: Sequence[int], waited_s: float = 0.0) -> float:
        """Look at the CPUs until none is slowed, and return for how long the trial has waited in all, in seconds.

        ``waited_s``: before its earlier loads. When all has come to ``wait_s``, a last look is taken.

        Raises:
            HostError: the host does not answer.
        """
        began_s = time.monotonic() - waited_s
        while True:
            meter = host.speed_meter(cpus, per_s=LOOK_PER_S)
            time.sleep(LOOK_S)
            read = meter.stop()
            slowed = self.slowed(read)
            self.note(read)
            waited_s = time.monotonic() - began_s
            if not slowed or self.is_over(waited_s):
                return waited_s
            time.sleep(PAUSE_S)

    def is_over(self, waited_s: float) -> bool:
        """Return whether a trial has waited for as long as it may."""
        return waited_s + PAUSE_S > self.wait_s
