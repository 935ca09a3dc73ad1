# SPDX-License-Identifier: Apache-2.0
"""A limit of processes and threads: a control group for root, whom the usual limit does not bind."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from harness.verify.faults.lacking import Lacking

#: Where groups of the controller ``pids`` may be made, version 1 and version 2.
PARENTS = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))


class ProcessLimit:
    """``more`` processes and threads may run in ``order``'s session. A context."""

    def __init__(self, more: int) -> None:
        self._more = more
        self._group: Path | None = None
        self.order: dict[str, Any] = {}

    def __enter__(self) -> ProcessLimit:
        """Make the limit.

        Raises:
            Lacking: root may make no group here.
        """
        if os.geteuid() != 0:
            now = sum(path.stat().st_uid == os.geteuid() for path in _tasks())
            self.order = {"limits": {"RLIMIT_NPROC": now + self._more}}
            return self
        why = "there is no controller of processes"
        for parent in PARENTS:
            group = parent / f"rematch-faults-{os.getpid()}"
            if not (parent / "cgroup.procs").exists():
                continue
            try:
                group.mkdir(exist_ok=True)
                (group / "pids.max").write_text(str(self._more))
            except OSError as problem:
                why = str(problem)
                with contextlib.suppress(OSError):
                    group.rmdir()
                continue
            self._group, self.order = group, {"groups": [str(group / "cgroup.procs")]}
            return self
        raise Lacking(f"root is bound by a control group alone: {why}")

    def __exit__(self, *_: object) -> None:
        until = time.monotonic() + 20.0
        while self._group is not None and self._group.exists() and time.monotonic() < until:
            try:
                self._group.rmdir()
            except OSError:  # the kernel still puts away who was in it
                time.sleep(0.02)


def _tasks() -> list[Path]:
    """Every thread of this machine that can be seen."""
    found: list[Path] = []
    for entry in Path("/proc").glob("[0-9]*/task"):
        with contextlib.suppress(OSError):
            found += [path for path in entry.iterdir() if path.exists()]
    return found
