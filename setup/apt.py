# SPDX-License-Identifier: Apache-2.0
"""Debian's and Ubuntu's packages: what is on offer, who may install, ask, install, wait for the lock."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .say import SetupError, run, step

#: apt itself waits so long while another apt installs.
LOCK_TIMEOUT_S = 900


def is_interactive(environ: Mapping[str, str]) -> bool:
    """Return whether a user can answer; CI=true and YES=1 both say that none should be asked."""
    unasked = environ.get("CI", "").lower() in ("1", "true") or environ.get("YES", "") not in ("", "0")
    return not unasked and sys.stdin.isatty() and sys.stdout.isatty()


def privilege(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the words before ``apt-get``: none as root, sudo where it exists (it may still refuse), else None."""
    if os.geteuid() == 0:
        return ()
    sudo = shutil.which("sudo")
    if sudo is None:
        return None
    return (sudo,) if is_interactive(environ) else (sudo, "-n")


def candidate(package: str) -> str | None:
    """Return the version that apt would install, or None when the package is not on offer."""
    answer = subprocess.run(
        ["apt-cache", "policy", package],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    ).stdout  # fmt: skip
    match = re.search(r"^\s*Candidate: (\S+)$", answer, flags=re.MULTILINE)
    return match.group(1) if match and match.group(1) != "(none)" else None


def install(wanted: Mapping[str, tuple[str, ...]], environ: Mapping[str, str]) -> None:
    """Install the packages of all tools (a tool with its reason -> packages) in one call of apt.

    Raises SetupError: nobody may install here, the user said no, or apt failed.
    """
    if not wanted:
        return
    packages = list(dict.fromkeys(package for own in wanted.values() for package in own))
    command = f"apt-get install -y {' '.join(packages)}"
    words = privilege(environ)
    for tool, own in wanted.items():
        step(f"missing: {tool}: {' '.join(own)}")
    if words is None:
        raise SetupError(f"not root and no sudo here; run `{command}` as root, then call this again")
    if is_interactive(environ):
        answer = input(f"Run `{' '.join((*words, command))}` now? [Y/n] ").strip().lower()
        if answer not in ("", "y", "yes"):
            raise SetupError(f"nothing was installed; install the missing packages with: {command}")
    step(f"installing with apt: {' '.join(packages)}")
    update(words)
    run(
        [*words, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT_S}",
         "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold",
         "install", "-y", "-qq", "--no-install-recommends", *packages],
        doing=f"installing {' '.join(packages)}",
    )  # fmt: skip


def read_first_lists(environ: Mapping[str, str]) -> None:
    """Read the package lists where there are none (as in a new container) and somebody may."""
    words = privilege(environ)
    if words is not None and not any(Path("/var/lib/apt/lists").glob("*_Packages*")):
        update(words)


def update(words: Sequence[str]) -> None:
    """Read the package lists again."""
    run([*words, "apt-get", "update", "-qq"], doing="reading the package lists")


def debian_mirror() -> str:
    """Return the address of the Debian archive that this machine's apt is configured with.

    Raises SetupError: it has none.
    """
    targets = run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)\t$(LABEL)\t$(COMPONENT)\t$(IDENTIFIER)"],
        doing="asking apt for its archives",
    )
    rows = [line.split("\t") for line in targets.splitlines()]
    for address, label, component, identifier in (row for row in rows if len(row) == 4):
        if label == "Debian" and component == "main" and identifier == "Packages":
            return address
    raise SetupError("apt is configured with no Debian archive, so a newer JDK cannot be fetched from one")
