# SPDX-License-Identifier: Apache-2.0
"""Where numbers come from: commit, definition, machine, versions, clocks.

No secret, no user name and no path of this machine enters the data.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import AnyStr

from harness.agent.machine_info import machine_facts, text_of
from harness.model import Machine, Provenance
from harness.project import commit_of, git_output, has_changes

#: Command lines and messages stand in small files; samples have no paths in them.
_SMALL_BYTES = 1 << 20
#: What may stand behind a path of a command line, and behind a place in a file, so that it is that path.
_AFTER_PATH = re.compile(r"(?=/|$|[:,])")
_AFTER_PLACE = re.compile(rb"(?![\w.-])")
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
    far = dict(machines or {})
    return Provenance(
        commit=commit_of(root),
        dirty=has_changes(root),
        definition_sha256=definition_sha256,
        lock_sha256=_sha256(root / "requirements.lock"),
        machine=far.get("service") or read_machine(),
        machines={**far, "harness": read_machine()} if far else {},
        tools={"python": platform.python_version(), **tools},
        python_packages=_packages(),
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
    longest_first = sorted(places.items(), key=lambda place: len(str(place[1])), reverse=True)
    home = os.environ.get("HOME", "")
    words: list[str] = []
    for word in argv:
        for name, path in longest_first:
            word = _replaced(word, str(path), f"{{{name}}}", _AFTER_PATH)  # noqa: PLW2901 - rewritten step by step
        words.append(word.replace(home, "{home}") if len(home) > 1 else word)
    return tuple(words)


def _replaced(text: AnyStr, old: AnyStr, new: AnyStr, after: re.Pattern[AnyStr]) -> AnyStr:
    """Replace ``old`` where ``after`` matches behind it.

    Places differ from trial to trial: a pattern with one in it would be compiled and kept for each of them.
    """
    parts: list[AnyStr] = []
    begin = at = 0
    while (at := text.find(old, at)) >= 0:
        end = at + len(old)
        if after.match(text, end):
            parts += [text[begin:at], new]
            begin = at = end
        else:
            at += 1
    parts.append(text[begin:])
    return text[:0].join(parts)


def name_places(folder: Path, *, places: Mapping[str, Path]) -> None:
    """Replace places of this machine by their names in what small text files below ``folder`` say."""
    longest_first = sorted(places.items(), key=lambda place: len(str(place[1])), reverse=True)
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _SMALL_BYTES:
            continue
        before = after = path.read_bytes()
        for name, place in longest_first:
            after = _replaced(after, bytes(place), b"{" + name.encode() + b"}", _AFTER_PLACE)
        if after != before:
            path.write_bytes(after)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"


def _packages() -> dict[str, str]:
    results: dict[str, str] = {}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            results[name] = importlib.metadata.version(name)
    return results


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
