# SPDX-License-Identifier: Apache-2.0
"""The first moments of a spawned process; run as a file, never imported.

A program of its own and not ``preexec_fn``: Python code between ``fork`` and ``exec`` of a process with threads may
hang on a lock. Starting it costs some 25 ms, so it reports the clocks as its last act: launch is that moment. Stdin:
the order, one line of JSON. Argument 1: the descriptor for the report, ``{"wall_epoch_s", "monotonic_s", "cpu_s"}`` on
a line and ``{"error"}`` on another when the program cannot be executed.
"""

import ctypes
import json
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1


def main() -> None:
    with open(0, encoding="utf-8", closefd=False) as stream:
        order = json.loads(stream.readline())
    report = int(sys.argv[1])
    os.set_inheritable(report, False)
    try:
        prepare(order)
        now = {"wall_epoch_s": time.time(), "monotonic_s": time.monotonic(), "cpu_s": time.process_time()}
        tell(report, now)
        os.execvpe(order["argv"][0], order["argv"], order["environment"])
    except (OSError, ValueError) as problem:  # ValueError: a NUL in a word
        tell(report, {"error": str(problem)})
    os._exit(127)


def tell(report: int, what: dict) -> None:  # type: ignore[type-arg]  # a file of its own: no typing module at start
    os.write(report, json.dumps(what).encode() + b"\n")


def prepare(order: dict) -> None:  # type: ignore[type-arg]  # a file of its own: no typing module at start
    os.setsid()
    forget_signals()
    for cgroup_procs in order.get("groups", ()):
        with open(cgroup_procs, "w") as stream:
            stream.write("0")  # moves the process that writes it
    if order["cpus"] is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, order["cpus"])
    os.chdir(order["folder"])
    redirect(os.devnull, 0, os.O_RDONLY)
    redirect(order["stdout"] or os.devnull, 1, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    redirect(order["stderr"] or os.devnull, 2, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    if order["run_as"] is not None:
        become(*order["run_as"])
    die_with(order["parent"])  # last: the kernel forgets it when a process becomes another user's


def become(user: int, group: int) -> None:
    """Become another user for good, in no group but that one."""
    import warnings  # noqa: F401 - execvpe imports it, and the other user may not reach the library

    os.setgroups([])
    os.setgid(group)
    os.setuid(user)


def die_with(parent: int) -> None:
    """Be killed when the thread that started us ends, also if it has ended already."""
    # of Linux; elsewhere orphans are looked for
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
    if prctl is not None and prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os._exit(127)


def forget_signals() -> None:
    """Undo what Python, nohup or a shell set: ignored and blocked signals are inherited over exec."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def redirect(path: str, descriptor: int, flags: int) -> None:
    opened = os.open(path, flags, 0o644)
    os.dup2(opened, descriptor)
    os.close(opened)


main()
