# SPDX-License-Identifier: Apache-2.0
"""Notebooks of the workshop: the teacher's, which people edit, and the students', which are made of them.

The students' have no cell with a tag of ``HIDDEN``. Other tags: ``exercise``, and ``code`` for a cell whose code stands
on a slide; ``checkpoint``.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.evidence.opening import open_evidence
from harness.evidence.parameters import StageParameters
from harness.store import Archive, archive_of

TEACHER, STUDENTS = Path("docs") / "workshop", Path("notebooks") / "workshop"
HIDDEN = frozenset(("solution", "teacher", "slide"))
#: A notebook as its file has it.
Book = dict[str, Any]
#: The sum of each over the trials of a session goes into the code of a computer.
_NUMBERS = ("throughput_per_s", "latency_mean_s", "cpu_s_per_request")
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read_books(root: Path) -> dict[str, Book]:
    """Return the teacher's notebooks without outputs, by the names of their files.

    Raises:
        InputError: a file is no notebook.
    """
    books = {}
    for path in sorted((root / TEACHER).glob("[0-9]*.ipynb")):
        try:
            cells = [_bare(cell) for cell in json.loads(path.read_text("utf-8"))["cells"]]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"is no notebook ({error!r})", file=path) from None
        books[path.name] = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return books


def _bare(cell: Book) -> Book:
    bare = {
        "cell_type": cell["cell_type"],
        "id": cell["id"],
        "metadata": {"tags": sorted(tags_of(cell))} if tags_of(cell) else {},
        "source": text_of(cell).splitlines(keepends=True),
    }
    return bare | ({"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {})


def tags_of(cell: Book) -> set[str]:
    """Return the tags of a cell."""
    return set(cell["metadata"].get("tags", ()))


def text_of(cell: Book) -> str:
    """Return the text of a cell."""
    return "".join(cell["source"])


def for_students(book: Book) -> Book:
    """Return a notebook without solutions, notes and slides."""
    return book | {"cells": [cell for cell in book["cells"] if not tags_of(cell) & HIDDEN]}


def files_of(root: Path) -> dict[Path, str]:
    """Return the notebooks of teacher and students as they should be, by their paths below the root.

    Raises:
        InputError: as of :func:`read_books`.
    """
    books = read_books(root)
    files = {TEACHER / name: file_text(book) for name, book in books.items()}
    return files | {STUDENTS / name: file_text(for_students(book)) for name, book in books.items()}


def outdated(root: Path) -> list[Path]:
    """Return the paths of notebooks that are not what the teacher's say, and of those that no teacher has."""
    files = files_of(root)
    present = {path.relative_to(root) for path in (root / STUDENTS).glob("*.ipynb")}
    changed = {
        path
        for path, text in files.items()
        if not (root / path).is_file() or (root / path).read_text("utf-8") != text
    }
    return sorted(changed | (present - set(files)))


def write_files(root: Path) -> list[Path]:
    """Write what is out of date, remove what no teacher has, and return the paths of both."""
    files, changed = files_of(root), outdated(root)
    for path in changed:
        if path in files:
            (root / path).write_text(files[path], "utf-8")
        else:
            (root / path).unlink()
    return changed


def workshop_code(root: Path) -> str:
    """Return the code of this computer, such as ``3F9-A02``. Tables that are missing are derived, which takes a while.

    It is made of the notebooks, the checksums of the sessions, and numbers computed from them here: two computers with
    one code show the same tables.

    Raises:
        InputError: a session is missing or damaged, a notebook is out of date, or JupyterLab is missing.
    """
    if find_spec("jupyterlab") is None:
        raise InputError(
            "is not installed", place="JupyterLab", found=sys.executable, allowed="make workshop-check"
        )
    if changed := [path.name for path in outdated(root) if path.parent == STUDENTS]:
        problem = "not what the teacher's say: run make workshop-notebooks, or fetch them again"
        raise InputError(problem, place=str(STUDENTS), found=", ".join(changed))
    code = hashlib.sha256("".join(f"{part}\n" for part in _parts(root)).encode()).hexdigest()[:6].upper()
    return f"{code[:3]}-{code[3:]}"


def _parts(root: Path) -> Iterator[str]:
    books = {name: for_students(book) for name, book in read_books(root).items()}
    yield from map(file_text, books.values())
    for name in sorted({name for book in books.values() for name in experiments_of(book)}):
        with redirect_stdout(io.StringIO()):
            evidence = open_evidence(StageParameters(profile="sample", experiments=name), name, root=root)
        yield from (Archive(archive_of(session.folder)).sha256 for session in evidence.sessions)
        totals = evidence.trials[list(_NUMBERS)].sum()
        yield f"{name} {totals.map('{:.5e}'.format).to_dict()}"


def experiments_of(book: Book) -> list[str]:
    """Return the experiments that the parameters of a notebook name."""
    named = re.findall('^experiments = "(.+)"$', "\n".join(map(text_of, book["cells"])), re.MULTILINE)
    return [name for names in named for name in names.split(",")]


def file_text(book: Book) -> str:
    """Return the text of a notebook's file."""
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"
