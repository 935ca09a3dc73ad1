# SPDX-License-Identifier: Apache-2.0
"""The command line with one thing about it changed, and what a disk may hold of its data after a loss of power.

``python -m harness.tests.chaos.altered CHANGES WORD...``; CHANGES: JSON, name of a function below -> its arguments.

While a session runs, each of its calls of ``os.fsync`` is recorded: of a file its content, of a folder its entries.
When it was killed, the folder is made again from these records. That shows what the session's own process asked for;
not that kernel and disk obey, nor what becomes of files while other programs (services, load tools) write them.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from harness.cli import main as command_line
from harness.measure.session import measuring

#: Of each kind, what a trial leaves behind in a session that leaks.
LEAK_BYTES = 64 << 10
_FOLDER = "folder"


def open_files(limit: int) -> None:
    """Allow so many open files."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


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


def record_syncs(below: str, record: str) -> None:
    """Record, from now on, what this process syncs below a folder. What is there already counts as synced."""
    Path(record).mkdir(parents=True, exist_ok=True)
    for path in (Path(below), *Path(below).rglob("*")):
        _note(path, Path(record))
    sync = os.fsync

    def recorded(descriptor: int) -> None:
        sync(descriptor)
        link = Path(f"/proc/self/fd/{descriptor}")
        if f"{os.readlink(link)}{os.sep}".startswith(f"{below}{os.sep}"):
            _note(link, Path(record))

    os.fsync = recorded  # type: ignore[assignment]  # it takes what the harness gives it: a number


def lose_power(below: Path, record: Path, *, names: bool, torn: float) -> None:
    """Make a folder what a disk may hold of it. Whoever wrote into it has ended."""
    written = {_key(path): _content(path) for path in (below, *below.rglob("*"))}
    synced = {path.name: path.read_bytes() for path in record.iterdir()}

    def make(key: str, into: Path) -> None:
        into.mkdir(exist_ok=True)
        entries = written.get(key) if names else None
        for name, below_it in json.loads(entries or synced.get(key, b"{}")).items():
            if below_it.startswith(_FOLDER):
                make(below_it, into / name)
                continue
            first = synced.get(below_it, b"")
            last = written.get(below_it, first)
            size = len(first) + round(torn * max(0, len(last) - len(first)))
            (into / name).write_bytes(last[:size] if torn else first)

    top = _key(below)
    for path in below.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    make(top, below)


def _note(path: Path, record: Path) -> None:
    """Keep what a file or folder holds now."""
    fresh = record.with_name(f"{record.name}.{_key(path)}")
    fresh.write_bytes(_content(path))
    fresh.replace(record / _key(path))


def _key(path: Path) -> str:
    return _named(path.is_dir(), path.stat().st_ino)


def _named(is_folder: bool, inode: int) -> str:
    """Kind and number: the number of what is gone is used again, also for the other kind."""
    return f"{_FOLDER if is_folder else 'file'}-{inode}"


def _content(path: Path) -> bytes:
    """The bytes of a file; of a folder, name -> key of what is there, as JSON."""
    if not path.is_dir():
        return path.read_bytes()
    with os.scandir(path) as entries:
        return json.dumps({entry.name: _named(entry.is_dir(), entry.inode()) for entry in entries}).encode()


def main() -> None:
    """Make the changes, then be the command line."""
    for name, arguments in json.loads(sys.argv[1]).items():
        globals()[name](**arguments)
    sys.argv = ["rematch", *sys.argv[2:]]
    command_line()


if __name__ == "__main__":
    main()
