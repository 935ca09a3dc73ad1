# SPDX-License-Identifier: Apache-2.0
"""From the words of a command line to audited files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.audit.figures import Audited, Plan
from harness.audit.files import audit_file
from harness.audit.tables import audit_table, looks_published, published_tables
from harness.errors import InputError
from harness.formats.source import read_head


def audit_paths(paths: Sequence[Path], plan: Plan) -> tuple[tuple[Audited, ...], tuple[str, ...]]:
    """Audit files, and all files of folders; return what was found, and what was left out of folders.

    Raises:
        InputError: a file that was named cannot be audited, or a folder holds none that can.
    """
    results: list[Audited] = []
    left_out: list[str] = []
    for path in paths:
        if not path.is_dir():
            results.append(_audit(path, plan))
            continue
        files = sorted(
            item
            for item in path.rglob("*")
            if item.is_file() and not item.relative_to(path).as_posix().startswith(".")
        )
        inside = _audit_each(files, plan, left_out, _audit)
        if not inside:
            raise InputError(
                "holds no result of a load tool and no published table",
                file=path,
                allowed="files that `rematch report` reads, or tables as docs/your-own-results.md says",
            )
        results += inside
    return tuple(results), tuple(left_out)


def audit_published(root: Path, plan: Plan) -> tuple[tuple[Audited, ...], tuple[str, ...]]:
    """Audit the project's own tables of published numbers.

    Raises:
        InputError: there are none.
    """
    left_out: list[str] = []
    return tuple(_audit_each(published_tables(root), plan, left_out, audit_table)), tuple(left_out)


def _audit_each(
    files: Sequence[Path], plan: Plan, left_out: list[str], audit: Callable[[Path, Plan], Audited]
) -> list[Audited]:
    results = []
    for file in files:
        try:
            results.append(audit(file, plan))
        except InputError as problem:
            left_out.append(f"{file} was left out: {problem.problem}")
    return results


def _audit(path: Path, plan: Plan) -> Audited:
    if not path.exists():
        raise InputError("does not exist", file=path, allowed="a file or a folder")
    if looks_published(read_head(path)):
        return audit_table(path, plan)
    return audit_file(path, plan)
