# SPDX-License-Identifier: Apache-2.0
"""Tables of the sessions that come with the project, derived once for all tests, workers and runs.

They are kept below ``.cache`` and laid into the project of a test, which then finds every trial unchanged. Tidying
itself decides that, by the hash of its code and of each record: what is stale is derived anew, there and in the test.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
from functools import cache
from pathlib import Path

from harness.analysis.tables.layout import tables_folder
from harness.analysis.tables.tidy import tidy
from harness.import_closure import SOURCES, closure_sha256
from harness.store import Store
from harness.tests.support.sessions import REPOSITORY

KEPT = REPOSITORY / ".cache" / "tests" / "tables"


def lay_tables(root: Path, *experiments: str) -> None:
    """Lay the tables of these experiments' bundled sessions into a project that has none of them yet."""
    for experiment in experiments:
        shutil.copytree(_derived(experiment), tables_folder(root, experiment, "bundled"))


@cache
def _derived(experiment: str) -> Path:
    """The folder of an experiment's tables, derived from what is in the repository now."""
    _lay_out()
    made, of = KEPT / f"{experiment}.made", _content(experiment)
    with (KEPT / f"{experiment}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.is_file() or made.read_text() != of:
            made.unlink(missing_ok=True)
            tidy(KEPT, [experiment], sources=["bundled"])
            _forget_other_sessions(experiment)
            made.write_text(of)
    return tables_folder(KEPT, experiment, "bundled")


def _forget_other_sessions(experiment: str) -> None:
    """Remove the tables of sessions that came with the project once: each test would be given them."""
    there = {session.folder.name for session in Store(REPOSITORY).sessions(experiment, bundled=True)}
    for folder in tables_folder(KEPT, experiment, "bundled").glob("*/*"):
        if folder.is_dir() and folder.name not in there:
            shutil.rmtree(folder)


def _lay_out() -> None:
    (KEPT / "data" / "raw").mkdir(parents=True, exist_ok=True)
    bundled = KEPT / "data" / "raw" / "bundled"
    with contextlib.suppress(FileExistsError):
        bundled.symlink_to(REPOSITORY / "data" / "raw" / "bundled")


def _content(experiment: str) -> str:
    """A hash of the code that derives tables and of the archives they are derived from."""
    archives = sorted(
        session.archive.sha256
        for session in Store(REPOSITORY).sessions(experiment, bundled=True)
        if session.archive is not None
    )
    code = closure_sha256(SOURCES, {tidy.__module__})
    return hashlib.sha256("\0".join((code, *archives)).encode()).hexdigest()
