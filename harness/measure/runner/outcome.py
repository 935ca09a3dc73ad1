# SPDX-License-Identifier: Apache-2.0
"""How a trial ended and what to distrust in it: from its evidence to its outcome and its flags.

Outcomes. ``nonconforming``: a case of the contract was answered wrongly. ``failed``: the service or the generator
ended early or left nothing to read. ``timed out``: never ready, or the load took more than three times as long as
expected and half a minute. ``out of memory``: failed, and its log or its control group says so. ``overloaded``: more
than half of the requests went wrong (of a flow: of its passes), or an open loop got less than half of its arrivals
answered. A wrong answer under a right status is as wrong as an error.

Flags are those of the table in ``trial_flags``, with the limits below.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Sequence
from itertools import pairwise

from harness.errors import HostError, TrialFailure
from harness.measure.runner.context import Notes
from harness.model import (
    Flag,
    GeneratorRecord,
    HostClock,
    InstanceRecord,
    LoadSummary,
    MachineWindow,
    Outcome,
    Phase,
)
from harness.model.load_tools import BY_NAME
from harness.model.trial import sent_late
from harness.places.launchers.base import Instance

OVERLOADED_SHARE = 0.5
#: Below, the generator was the limit: times as much against echo (closed loop), of the rate there (open loop). Above,
#: of the CPUs that were its own.
HEADROOM_ENOUGH, OPEN_LOOP_KEPT_SHARE, GENERATOR_BUSY_SHARE = 1.25, 0.95, 0.9
#: Of the arrivals: what was answered too late to be noted speaks too well of the service.
DROPPED_SHARE = 0.001
#: Of the load: the service waited for a CPU, and others used one.
WAITED_SHARE = 0.05
SAMPLING_GAP_S = 0.25
FEW_REQUESTS = 1_000
#: Pauses are placed by wall clocks; this is far below the pauses that matter, and above what NTP leaves.
CLOCK_SKEW_S = 0.005
#: A shell's way to tell the signal that ended a program: 128 + its number.
SIGNALLED = 128
_TAIL_BYTES = 65_536


def refuse_crashed(instance: Instance, when: str, notes: Notes) -> None:
    """Go on with a service that runs.

    Raises:
        TrialFailure: it has ended on its own; with the last line that it wrote to stderr on its host.
    """
    exit_code = instance.exited()
    if exit_code is None:
        return
    tail = ""
    with contextlib.suppress(HostError):
        file = notes.service_folder / "service.stderr.txt"
        tail = notes.context.host.read(file, _TAIL_BYTES).decode("utf-8", "replace")
    last = tail.strip().rpartition("\n")[2][:200]
    how = f"signal {exit_code - SIGNALLED}" if exit_code > SIGNALLED else f"exit code {exit_code}"
    if exit_code == SIGNALLED + signal.SIGKILL:
        how += (
            ", which another program sent, or the kernel because memory was out: its log says which (dmesg)"
        )
    text = f"; last line of stderr: {last}" if last else ""
    raise TrialFailure("failed", f"the service ended {when} ({how}){text}")


def judge_load(load: LoadSummary) -> tuple[Outcome, str | None]:
    """Return whether the service bore the load, and why it did not."""
    if load.n_requests == 0:
        return Outcome.FAILED, "the load generator reported no request"
    begun, what = (load.n_requests, "requests") if load.n_flows is None else (load.n_flows, "passes")
    if load.n_errors > OVERLOADED_SHARE * begun:
        return Outcome.OVERLOADED, f"{load.n_errors} of {begun} {what} went wrong{kinds_of_errors(load)}"
    offered_per_s = load.offered_per_s
    if offered_per_s is None:
        return Outcome.OK, None
    # of an open loop: whether enough of its arrivals were answered rightly
    arrivals, right = begun + (load.n_dropped or 0), load.n_requests - load.n_errors
    text: str | None = None
    if load.n_flows_right is not None and load.n_flows_right < OVERLOADED_SHARE * arrivals:
        text = f"{load.n_flows_right} of {arrivals} arrivals went rightly through all steps"
    elif load.n_flows is None and load.n_dropped is not None:  # however late they came
        if right < OVERLOADED_SHARE * arrivals:
            text = f"{right} of {arrivals} arrivals answered rightly"
    elif (right_per_s := load.achieved_per_s * right / load.n_requests) < OVERLOADED_SHARE * offered_per_s:
        unit = "arrivals/s" if load.n_flows is None else "requests/s of its arrivals"
        text = f"{right_per_s:.0f} of {offered_per_s:.0f} {unit} answered"
    return (Outcome.OK, None) if text is None else (Outcome.OVERLOADED, text + kinds_of_errors(load))


def kinds_of_errors(load: LoadSummary) -> str:
    """Return what went wrong most often, in the generator's words."""
    most = sorted(load.errors_by_kind.items(), key=lambda kind: -kind[1])[:3]
    return f" ({', '.join(f'{n} {words}' for words, n in most)})" if most else ""


def trial_flags(
    *,
    load: LoadSummary | None,
    generator: GeneratorRecord | None,
    instance: InstanceRecord | None,
    machine: MachineWindow | None,
    longest_gap_s: float | None,
    phases: Sequence[Phase],
    shared: bool,
    clocks: Sequence[HostClock] = (),
    shared_by_design: bool = False,
    service_wait_s: float | None = None,
) -> tuple[Flag, ...]:
    """Return the reasons to look twice, in a fixed order.

    ``shared``: service and generator may compete for CPUs; ``shared_by_design``: by the plan, without an echo reading.
    ``service_wait_s``: for how long its threads, all together, waited for a CPU during the load.
    """
    window_s = sum(
        phase.end.monotonic_s - phase.start.monotonic_s
        for phase in phases
        if phase.name in ("measurement", "idle")
    )
    flags: list[tuple[Flag, bool]] = []
    if load is not None and generator is not None:
        flags += [
            ("generator_bottleneck", _is_bottleneck(load, generator, window_s)),
            ("generator_late", sent_late(load.late_share)),
            ("headroom_unknown", generator.echo_achieved_per_s is None and not shared_by_design),
            ("errors_seen", load.n_errors > 0),
            ("arrivals_dropped", _has_dropped(load)),
            ("few_requests", load.n_requests < FEW_REQUESTS),
            ("shared_cores", shared and not shared_by_design),
        ]
    flags += [
        ("throttled", bool(machine and machine.n_throttled)),
        ("service_waited", _has_waited(service_wait_s, machine, window_s)),
        ("noisy_machine", machine is not None and machine.is_noisy(window_s)),
        ("killed_on_stop", instance is not None and instance.stop_signal == "SIGKILL"),
        ("limits_not_enforced", bool(instance and instance.limits and instance.limits.enforced_by is None)),
        ("clock_skew", _is_skewed(clocks)),
        ("sampling_gap", longest_gap_s is not None and longest_gap_s > SAMPLING_GAP_S),
    ]
    return tuple(flag for flag, holds in flags if holds)


def _is_bottleneck(load: LoadSummary, generator: GeneratorRecord, window_s: float) -> bool:
    n_cpus = len(generator.cpu_affinity)
    cores_used = generator.cpu_s / window_s if generator.cpu_s is not None and window_s > 0 else 0.0
    tool = BY_NAME.get(generator.name)
    if n_cpus and cores_used > GENERATOR_BUSY_SHARE * n_cpus and not (tool and tool.never_sleeps):
        return True
    if load.offered_per_s is not None:
        echo = generator.echo_achieved_per_s
        return echo is not None and echo < OPEN_LOOP_KEPT_SHARE * load.offered_per_s
    return generator.headroom_ratio is not None and generator.headroom_ratio < HEADROOM_ENOUGH


def _has_waited(wait_s: float | None, machine: MachineWindow | None, window_s: float) -> bool:
    """Whether others had the service's CPUs while it waited for them.

    Its threads wait behind each other, too: no more of that is others' doing than they used CPU time.
    """
    if wait_s is None or machine is None or machine.other_cpu_s is None or window_s <= 0:
        return False
    return min(wait_s, machine.other_cpu_s) > WAITED_SHARE * window_s


def _is_skewed(clocks: Sequence[HostClock]) -> bool:
    """Whether a far wall clock was certainly wrong against ours, or moved against it during the load."""
    if any(abs(clock.wall_offset_s) - clock.uncertainty_s > CLOCK_SKEW_S for clock in clocks):
        return True
    places: dict[tuple[str, str], list[HostClock]] = {}
    for clock in clocks:
        places.setdefault((clock.role, clock.host), []).append(clock)
    return any(
        abs(after.wall_offset_s - before.wall_offset_s) - before.uncertainty_s - after.uncertainty_s
        > CLOCK_SKEW_S
        for readings in places.values()
        for before, after in pairwise(readings)
    )


def _has_dropped(load: LoadSummary) -> bool:
    dropped = load.n_dropped or 0
    begun = load.n_requests if load.n_flows is None else load.n_flows
    return dropped > DROPPED_SHARE * (begun + dropped)
