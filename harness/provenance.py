# SPDX-License-Identifier: Apache-2.0
"""Where numbers come from: commit, definition, machine, versions, clocks.

No secret, no user name and no path of this machine enters the data.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.agent.files import file_sha256
from harness.agent.machine_info import machine_facts, text_of
from harness.model import Machine, Provenance
from harness.project import commit_of, git_output, has_changes

#: Command lines and messages stand in small files; samples have no paths in them.
_SMALL_BYTES = 1 << 20
#: What may stand behind a path of a command line, and behind one in a file, so that it is that path.
_AFTER_WORD, _AFTER_TEXT = re.compile(r"/|$|[:,]"), re.compile(r"(?![A-Za-z0-9_.-])")
_PACKAGES = ("locust", "numpy", "pandas", "psutil", "psycopg", "pyarrow", "pydantic", "scipy")


def collect_provenance(
    root: Path,
    *,
    definition_sha256: str,
    tools: Mapping[str, str],
    machines: Mapping[str, Machine] | None = None,
) -> Provenance:
    """Return the provenance of a session that starts now.

    ``tools``: tool -> version as found by ``harness.toolchains``. ``machines``: role -> far machine.
    """
    far, lock = dict(machines or {}), root / "requirements.lock"
    packages: dict[str, str] = {}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    return Provenance(
        commit=commit_of(root),
        dirty=has_changes(root),
        definition_sha256=definition_sha256,
        lock_sha256=file_sha256(lock) if lock.is_file() else "none",
        machine=far.get("service") or read_machine(),
        machines={**far, "harness": read_machine()} if far else {},
        tools={"python": platform.python_version(), **tools},
        python_packages=packages,
        started_epoch_s=time.time(),
        clock_source=text_of(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
    )


def read_machine() -> Machine:
    """Return this machine in the terms a reader needs."""
    return Machine.model_validate(machine_facts())


def without_paths(argv: Sequence[str], *, places: Mapping[str, Path]) -> tuple[str, ...]:
    """Replace every place of this machine by its name in braces, the longest path first.

    >>> without_paths(["/p/x/bin/java", "-jar", "/p/x.jar"], places={"java_home": Path("/p/x"), "root": Path("/p")})
    ('{java_home}/bin/java', '-jar', '{root}/x.jar')
    """
    named = tuple(_without_paths(word, places, _AFTER_WORD) for word in argv)
    home = os.environ.get("HOME", "")
    return tuple(word.replace(home, "{home}") for word in named) if len(home) > 1 else named


def name_places(folder: Path, *, places: Mapping[str, Path]) -> None:
    """Replace places of this machine by their names in what small text files below ``folder`` say."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _SMALL_BYTES:
            continue
        before = path.read_bytes().decode("utf-8", "surrogateescape")
        after = _without_paths(before, places, _AFTER_TEXT)
        if after != before:
            path.write_bytes(after.encode("utf-8", "surrogateescape"))


def _without_paths(text: str, places: Mapping[str, Path], after: re.Pattern[str]) -> str:
    """Replace each place where ``after`` matches behind it, the longest path first."""
    # places differ from trial to trial: no pattern is made of one, which would be kept
    for name, place in sorted(places.items(), key=lambda item: len(str(item[1])), reverse=True):
        first, *parts = text.split(str(place))
        text = first + "".join((f"{{{name}}}" if after.match(part) else str(place)) + part for part in parts)
    return text


def describe_place(root: Path) -> str:
    """Return processor, cores, memory and commit; ``with changes`` when the work tree differs from it."""
    machine = read_machine()
    commit = (git_output(root, "rev-parse", "--short=12", "HEAD") or "unknown").strip()
    # pages are what verifications change
    changed = git_output(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return (
        f"{machine.n_cpus} cores ({machine.cpu_model}), {machine.memory_bytes / 2**30:.0f} GiB, "
        f"commit {commit}{' with changes' if changed else ''}"
    )
