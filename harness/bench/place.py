# SPDX-License-Identifier: Apache-2.0
"""Where a benchmark or a verification ran, in words that name no machine and no date."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.provenance import read_machine


def describe_place(root: Path) -> str:
    """Return processor, cores, memory and commit; ``with changes`` when the work tree differs from it."""
    machine = read_machine()
    commit = _git(root, "rev-parse", "--short=12", "HEAD") or "unknown"
    # the pages themselves are what benchmarks and verifications change
    pages = (":!docs/benchmarks.md", ":!docs/verify.md", ":!docs/verify.json")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", *pages)
    return (
        f"{machine.n_cpus} cores ({machine.cpu_model}), {machine.memory_bytes / 2**30:.0f} GiB, "
        f"commit {commit}{' with changes' if changed else ''}"
    )


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
