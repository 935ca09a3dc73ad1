# SPDX-License-Identifier: Apache-2.0
"""System calls of a service, by the kernel's tracepoints in a short load of its own, after the one that counts.

Counting makes each call slower, so no other metric may see it. perf mounts the kernel's tracing files by itself; a
mount namespace of its own keeps the machine as it was.
"""

from __future__ import annotations

import shutil

from pydantic import JsonValue

from harness.errors import HostError, TrialFailure
from harness.hosts.base import Command
from harness.launchers.base import Instance
from harness.loadgen.base import LoadSpec
from harness.model import ClosedLoad
from harness.runner.context import Notes, TrialContext, TrialSpec

#: Of the trial's folder, gone afterwards.
FOLDER = "system-calls"
COUNTS = "counts.csv"
LOAD_S = 2
#: Beyond its own time, for the tools to start and stop on a busy machine.
EXTRA_S = 30.0
#: Every call, whatever its name.
ALL = "raw_syscalls:sys_enter"
#: Calls with a count of their own; the rest is what they leave of all.
NAMES = (
    "read", "write", "readv", "writev", "recvfrom", "sendto", "epoll_wait", "epoll_pwait", "epoll_ctl", "poll", "futex",
    "nanosleep", "clock_nanosleep", "sched_yield", "madvise",
)  # fmt: skip
_NAMED = "syscalls:sys_enter_"


def count_system_calls(
    instance: Instance, spec: TrialSpec, context: TrialContext, notes: Notes
) -> dict[str, JsonValue]:
    """Load the instance once more and return ``n_requests`` and ``calls``, name -> count with ``all`` first.

    Where this machine cannot count, ``unavailable`` has the reason in place of both.
    """
    try:
        return _counted(instance, spec, context, notes)
    except TrialFailure as failure:
        return {"unavailable": failure.reason}
    except HostError as problem:
        return {"unavailable": str(problem)}
    finally:
        shutil.rmtree(spec.folder / FOLDER, ignore_errors=True)


def _counted(
    instance: Instance, spec: TrialSpec, context: TrialContext, notes: Notes
) -> dict[str, JsonValue]:
    load, generator, place = spec.planned.configuration.load, spec.generator, context.load_places[0]
    if load is None or generator is None or not isinstance(load.profile, ClosedLoad):
        raise TrialFailure("failed", "only a closed loop is offered again to count calls")
    if not (context.host.here and place.host.here):
        raise TrialFailure("failed", "calls are counted on the machine of this program only")
    programs = [shutil.which(name) for name in ("unshare", "perf")]
    if None in programs:
        raise TrialFailure("failed", "no perf and unshare on this machine (Debian: linux-perf, util-linux)")
    folder = spec.folder / FOLDER
    folder.mkdir()
    profile = ClosedLoad(users=load.profile.users, duration_s=LOAD_S)
    command = generator.command(
        LoadSpec(
            profile=profile, requests=spec.requests, endpoint=instance.endpoint, folder=folder, seed=spec.seed
        )
    )
    for name, content in command.files.items():
        (folder / name).write_text(content, "utf-8")
    unshare, perf = map(str, programs)
    events = ",".join((ALL, *(_NAMED + name for name in NAMES)))
    counting = ("stat", "-x", ",", "-o", str(folder / COUNTS), "-e", events, "-p", str(instance.record.pid))
    done = place.host.run(
        Command(
            argv=(unshare, "--mount", perf, *counting, "--", *command.argv),
            folder=folder,
            environment=command.environment,
            cpus=notes.placement.generator if notes.placement else None,
        ),
        timeout_s=LOAD_S + EXTRA_S,
    )
    file = folder / COUNTS
    calls = counts_of(file.read_text("utf-8", "replace")) if file.is_file() else {}
    if done.exit_code or "all" not in calls:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise TrialFailure(
            "failed", f"perf counted nothing: {lines[0][:200] if lines else 'without a reason'}"
        )
    return {"n_requests": generator.read(folder).n_requests, "calls": dict(calls)}


def counts_of(text: str) -> dict[str, int]:
    """Return name -> count of what ``perf stat -x ,`` wrote, ``all`` first; what was not counted is left out."""
    fields = [line.split(",") for line in text.splitlines()]
    counts = {row[2]: int(row[0]) for row in fields if len(row) > 2 and row[0].isdigit()}
    return ({"all": counts[ALL]} if ALL in counts else {}) | {
        event.removeprefix(_NAMED): n for event, n in counts.items() if event.startswith(_NAMED) and n
    }


__all__ = ["count_system_calls", "counts_of"]
