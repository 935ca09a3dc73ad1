# SPDX-License-Identifier: Apache-2.0
"""The command line in forks of one process: to start a Python that imports all of it takes seconds.

``python -m harness.tests.chaos.faults.prefork`` imports what a session needs, then reads one JSON order a line and
answers with one JSON line. ``{"op": "start", ...}`` runs the command line in a fork of its own session and process group, with the
standard streams, environment and limits of the order; the answer names the process. ``{"op": "wait", "pid": n,
"timeout_s": s}`` answers with its exit code, negative for a signal, or ``null`` when it still runs. An order may have
a ``number``, which its answer has too: who was interrupted while he waited for one finds the next one. At the end of
its input it ends, and every fork that still runs is killed by the kernel.

What differs from a process of its own: nothing is imported any more, and tools are asked for their versions once.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

#: What sessions import, some of it only when it is needed.
PACKAGES = ("session", "runner", "store", "launchers", "backing", "hosts", "loadgen", "definitions")
NETWORK = 0x40000000  # CLONE_NEWNET
#: Of a session that is to leak, by trial.
LEAK_BYTES = 64 << 10
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Serve orders; in a fork, be the command line."""
    prepare()
    order = serve()
    if order is not None:
        become(order)


def prepare() -> None:
    """Import what sessions import, and have every tool looked for only once."""
    import harness
    from harness.project import find_root
    from harness.session import wiring
    from harness.toolchains import Surroundings, Tool, find_jdks, find_tool

    for name in PACKAGES:
        package = importlib.import_module(f"{harness.__name__}.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                importlib.import_module(module.name)
            except ImportError:  # of an optional part
                continue
    for name in ("app", "measure"):
        importlib.import_module(f"harness.cli.{name}")
    around = Surroundings(project=find_root())
    tools, jdks = {name: find_tool(name, around) for name in wiring.TOOLS}, find_jdks(around)

    def known_tool(name: str, around: Surroundings) -> Tool:
        return tools[name] if name in tools else find_tool(name, around)

    vars(wiring).update(find_tool=known_tool, find_jdks=lambda _around: jdks)


def serve() -> dict[str, Any] | None:
    """Answer orders until the input ends; in a fork return its order."""
    print(json.dumps({"ready": os.getpid()}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if order["op"] == "wait":
            said: dict[str, Any] = {"code": wait(order["pid"], order["timeout_s"])}
        else:
            pid = os.fork()
            if pid == 0:
                return dict(order)
            said = {"pid": pid}
        print(json.dumps({**said, "number": order.get("number")}), flush=True)
    return None


def wait(pid: int, timeout_s: float) -> int | None:
    """Return the exit code of a fork, negative for a signal; ``None``: it still runs after ``timeout_s``."""
    until = time.monotonic() + timeout_s
    while True:
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # told already, to one who was interrupted before reading it
            return -signal.SIGKILL
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            return None
        time.sleep(0.005)


def become(order: dict[str, Any]) -> None:
    """Be the command line as the order says."""
    from harness.cli import main as command_line

    os.setsid()
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, order["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, order["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, flags, 0o644)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    for door in order.get("groups", ()):
        Path(door).write_text("0")  # whoever writes that is meant
    if order.get("network"):
        _enter(order["network"])
    if order.get("clock"):
        _step(**order["clock"])
    if order.get("leaks"):
        _leak()
    if order.get("syncs"):
        from harness.tests.chaos.faults.power import record_syncs

        record_syncs(**{name: Path(path) for name, path in order["syncs"].items()})
    sys.argv = ["rematch", *order["argv"]]
    for name, limit in order.get("limits", {}).items():
        resource.setrlimit(getattr(resource, name), (limit, limit))
    command_line()


def _enter(network: str) -> None:
    """Be in another network namespace, with this thread and those it starts."""
    library = ctypes.CDLL(None, use_errno=True)
    with open(network, "rb") as stream:
        if library.setns(stream.fileno(), NETWORK) != 0:
            raise OSError(ctypes.get_errno(), f"setns: {network}")


def _leak() -> None:
    """Have each trial of this process leave memory, a descriptor, a thread and a file behind."""
    import tempfile
    import threading

    from harness.session import measuring

    run, forever = vars(measuring)["run_trials"], threading.Event()
    kept: list[tuple[bytearray, int]] = []

    def leaking(*args: Any) -> Any:
        kept.append((bytearray(b"x" * LEAK_BYTES), os.open(os.devnull, os.O_RDONLY)))
        threading.Thread(target=forever.wait, daemon=True).start()
        descriptor, _ = tempfile.mkstemp()
        os.write(descriptor, bytes(LEAK_BYTES))
        os.close(descriptor)
        return run(*args)

    vars(measuring).update(run_trials=leaking)


def _step(after_s: float, by_s: float) -> None:
    """Have the wall clock of this process jump by ``by_s``, ``after_s`` from now."""
    wall, at_s = time.time, time.monotonic() + after_s
    time.time = lambda: wall() + (by_s if time.monotonic() >= at_s else 0.0)


if __name__ == "__main__":
    main()
