# SPDX-License-Identifier: Apache-2.0
"""From the words of a command line to arms: which files are one run, and which runs are one arm.

A file is a run. ``FILE+FILE`` is one run that several generators wrote. A folder stands for its runs: each result
file in it is one, and each folder in it is one whose files several generators wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.formats.detect import JOIN, files_of_run, open_any

#: What Locust writes beside ``_stats.csv`` about the same run.
_BESIDE_STATS = ("_stats_history.csv", "_failures.csv", "_exceptions.csv")


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """One run: its name, as it is printed, and its files."""

    name: str
    paths: tuple[Path, ...]


def runs_named(words: Sequence[str], arm: str) -> tuple[tuple[RunFiles, ...], tuple[str, ...]]:
    """Return the runs that the words of one arm name, and what was left out of folders.

    Args:
        words: files, ``FILE+FILE`` and folders. arm: its name, for messages.

    Raises:
        InputError: nothing was named, a file is missing, or a folder holds no result.
    """
    runs: list[RunFiles] = []
    left_out: list[str] = []
    for word in words:
        paths = files_of_run(word)
        if len(paths) == 1 and paths[0].is_dir():
            runs += _of_folder(paths[0], left_out)
            continue
        for path in paths:
            if not path.is_file():
                raise InputError(
                    "does not exist", file=path, allowed=f"files, FILE{JOIN}FILE for the files of one run, or folders"
                )
        runs.append(RunFiles(name=JOIN.join(map(str, paths)), paths=paths))
    if not runs:
        raise InputError("has no run", place=f"arm {arm}", allowed="files or folders: A... -- B...")
    return tuple(runs), tuple(left_out)


def _of_folder(folder: Path, left_out: list[str]) -> list[RunFiles]:
    runs = [RunFiles(name=str(path), paths=(path,)) for path in _results_in(folder, left_out)]
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        paths = _results_in(inner, left_out)
        if paths:
            runs.append(RunFiles(name=str(inner), paths=tuple(paths)))
    if not runs:
        raise InputError(
            "holds no result of a load tool",
            file=folder,
            allowed="result files, one a run, or folders of them, one folder a run",
        )
    return runs


def _results_in(folder: Path, left_out: list[str]) -> list[Path]:
    """Result files directly in a folder; what belongs to another file, or to no load tool, is left out."""
    results = []
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    names = {path.name for path in files}
    for path in files:
        stem = next((path.name.removesuffix(end) for end in _BESIDE_STATS if path.name.endswith(end)), None)
        if stem is not None and f"{stem}_stats.csv" in names:
            continue
        try:
            open_any(path)
        except InputError as problem:
            left_out.append(f"{path} was left out: {problem.problem}")
            continue
        results.append(path)
    return results
