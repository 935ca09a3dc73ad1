# SPDX-License-Identifier: Apache-2.0
"""``rematch verify fuzz``: changed and hostile files for every reader."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.errors import InputError
from harness.project import find_root

if TYPE_CHECKING:
    from harness.verify.fuzz.campaign import Campaign

FUZZ = "fuzz"
#: Inputs without --sims and --minutes: some minutes.
INPUTS = 10_000
#: A campaign writes and reads millions of small files.
MEMORY, ROOM_BYTES = Path("/dev/shm"), 2 << 30
FOUND = Path("results") / "fuzz"


def run_fuzz(
    *, inputs: int | None, minutes: float | None, seed: int, write: bool, as_json: bool, jobs: int
) -> None:
    """Run a campaign, print its table, save the files that break a promise; exit status 1: there are some."""
    from harness.provenance import describe_place
    from harness.verify.fuzz.campaign import save
    from harness.verify.fuzz.jobs import run_jobs
    from harness.verify.fuzz.page import KEPT, kept, table
    from harness.verify.fuzz.readers import readers
    from harness.verify.stopping import stopping

    if (minutes is not None and not minutes > 0) or (inputs is not None and inputs < 1):
        raise InputError("nothing to do", place="--minutes, --sims", allowed="more than 0")
    if jobs < 1:
        raise InputError("nobody to do it", place="--jobs", found=jobs, allowed="1 or more")
    root = find_root()
    began_s = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="rematch-fuzz-", dir=_in_memory()) as scratch,
        stopping() as stopped,
    ):
        found = run_jobs(
            readers(root),
            Path(scratch),
            seed=seed,
            jobs=jobs,
            inputs=INPUTS if inputs is None and minutes is None else inputs,
            seconds=None if minutes is None else minutes * 60,
            say=None if as_json else _say,
        )
    one = kept(found, seed=seed, place=describe_place(root), wall_s=time.monotonic() - began_s)
    if as_json:
        print(json.dumps(one.model_dump(mode="json"), indent=2))
    else:
        print(table((one,)))
    if write:
        KEPT.write(root, one)
    if found.findings:
        for path, finding in zip(
            save(list(found.findings.values()), root / FOUND), found.findings.values(), strict=True
        ):
            n = found.seen[finding.key]
            print(f"{os.path.relpath(path)}: {finding.what} ({finding.where}); {n} files", file=sys.stderr)
        raise typer.Exit(1)
    if stopped:
        print("stopped; another --seed adds further files", file=sys.stderr)
        raise typer.Exit(130)


def _in_memory() -> Path | None:
    """Return a folder whose files are in memory and that has room; ``None``: the usual one for temporary files."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM_BYTES:
        return MEMORY
    return None


def _say(found: Campaign) -> None:
    print(f"{found.inputs:,} inputs, {len(found.findings)} faults", file=sys.stderr, flush=True)
