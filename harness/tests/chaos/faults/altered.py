# SPDX-License-Identifier: Apache-2.0
"""The command line with one thing about it changed: its limits, what it leaks, or that its syncs are noted.

``python -m harness.tests.chaos.faults.altered CHANGES WORD...``; CHANGES: JSON, name of a change -> its arguments.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.cli import main as command_line
from harness.session import measuring
from harness.tests.chaos.faults.power import record_syncs

#: Of each kind, what a trial leaves behind in a session that leaks.
LEAK_BYTES = 64 << 10


def open_files(limit: int) -> None:
    """Allow so many open files."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def syncs(below: str, record: str) -> None:
    """Note what is synced below a folder."""
    record_syncs(Path(below), Path(record))


def leaks() -> None:
    """Have each trial leave memory, a descriptor, a thread and a file behind."""
    run, forever = vars(measuring)["run_trials"], threading.Event()
    left: list[tuple[bytearray, int]] = []

    def leaking(*args: Any) -> Any:
        left.append((bytearray(b"x" * LEAK_BYTES), os.open(os.devnull, os.O_RDONLY)))
        threading.Thread(target=forever.wait, daemon=True).start()
        descriptor, _ = tempfile.mkstemp()
        os.write(descriptor, bytes(LEAK_BYTES))
        os.close(descriptor)
        return run(*args)

    vars(measuring).update(run_trials=leaking)


def main() -> None:
    """Make the changes, then be the command line."""
    changes: dict[str, Callable[..., None]] = {
        "open_files": open_files, "syncs": syncs, "leaks": leaks,
    }  # fmt: skip
    for name, arguments in json.loads(sys.argv[1]).items():
        changes[name](**arguments)
    sys.argv = ["rematch", *sys.argv[2:]]
    command_line()


if __name__ == "__main__":
    main()
