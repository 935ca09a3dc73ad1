# SPDX-License-Identifier: Apache-2.0
"""Notebooks of the workshop: the teacher's, which people edit; ``make workshop-notebooks`` makes the students' of them.

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


def read_books(folder: Path) -> dict[str, Book]:
    """Return the notebooks of a folder by the names of their files.

    Raises:
        InputError: a file is no notebook.
    """
    books: dict[str, Book] = {}
    for path in sorted(folder.glob("[0-9]*.ipynb")):
        try:
            books[path.name] = json.loads(path.read_text("utf-8"))
            list(map(tags_of, books[path.name]["cells"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"is no notebook ({error!r})", file=path) from None
    return books


def tags_of(cell: Book) -> set[str]:
    """Return the tags of a cell."""
    return set(cell["metadata"].get("tags", ()))


def text_of(cell: Book) -> str:
    """Return the text of a cell."""
    return "".join(cell["source"])


def for_students(book: Book) -> Book:
    """Return a notebook without solutions, notes and slides."""
    return book | {"cells": [cell for cell in book["cells"] if not tags_of(cell) & HIDDEN]}


def workshop_code(root: Path) -> str:
    """Return the code of this computer, such as ``3F9-A02``. Tables that are missing are derived, which takes a while.

    It is made of the notebooks, the checksums of the sessions, and numbers computed from them here: two computers with
    one code show the same tables.

    Raises:
        InputError: a session is missing or damaged, or JupyterLab is missing.
    """
    if find_spec("jupyterlab") is None:
        raise InputError(
            "is not installed", place="JupyterLab", found=sys.executable, allowed="make workshop-check"
        )
    code = hashlib.sha256("".join(f"{part}\n" for part in _parts(root)).encode()).hexdigest()[:6].upper()
    return f"{code[:3]}-{code[3:]}"


def _parts(root: Path) -> Iterator[str]:
    books = [for_students(book) for book in read_books(root / TEACHER).values()]
    for book in books:
        yield from map(text_of, book["cells"])
    for name in sorted({name for book in books for name in experiments_of(book)}):
        with redirect_stdout(io.StringIO()):
            evidence = open_evidence(StageParameters(profile="sample", experiments=name), name, root=root)
        yield from (Archive(archive_of(session.folder)).sha256 for session in evidence.sessions)
        totals = evidence.trials[list(_NUMBERS)].sum()
        yield f"{name} {totals.map('{:.5e}'.format).to_dict()}"


def experiments_of(book: Book) -> list[str]:
    """Return the experiments that the parameters of a notebook name."""
    named = re.findall('^experiments = "(.+)"$', "\n".join(map(text_of, book["cells"])), re.MULTILINE)
    return [name for names in named for name in names.split(",")]
