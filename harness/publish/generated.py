# SPDX-License-Identifier: Apache-2.0
"""What each notebook contributed, kept apart and merged: the order of the notebooks leaves no trace.

``paper/generated/<notebook>.json`` holds one notebook's contribution. ``values.json`` and ``figures.json`` are merged
from all of them, sorted by key, whenever one changes; ``values.tex`` is written when the paper is built.
"""

from __future__ import annotations

import difflib
import fcntl
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import InputError, UnknownKey
from harness.publish.contribution import (
    KINDS,
    Contribution,
    Part,
    keep,
    merged_json,
    parsed,
    read_part,
    read_text,
)

GENERATED = Path("paper") / "generated"
VALUES = "values.json"
FIGURES = "figures.json"
MACROS = "values.tex"
#: The paper, and the supplement with every table and figure.
DOCUMENTS = ("main", "supplement")
#: In the environment of notebooks that ``run_all`` executes, which alone write contributions: the folder to write into,
#: whose content takes the place of the notebook's earlier contribution once the notebook has ended well.
PUBLISHING = "REMATCH_PUBLISH"
_MERGED = (VALUES, FIGURES)
#: Kinds that a notebook shows in an order.
_SHOWN = ("tables", "figures")

#: Every published value by key, as in ``values.json``.
Values = Mapping[str, Mapping[str, Any]]


def paper_sources(paper: Path) -> list[Path]:
    """Return the LaTeX files that are written by hand: the documents and the paper's text."""
    documents = (path for name in DOCUMENTS if (path := paper / f"{name}.tex").is_file())
    return [*documents, *sorted((paper / "text").glob("*.tex"))]


def update(generated: Path, notebook: str, entries: Sequence[tuple[str, str, Contribution]]) -> None:
    """Put entries (kind, key, entry) into a notebook's contribution and merge anew, once for all of them.

    A table or figure gets its ``place`` among those of the notebook.

    Raises:
        InputError: another notebook has published one of the keys; nothing is put then.
    """
    path = generated / f"{notebook}.json"
    with _locked(generated):
        others = [part for part in _parts(generated) if part.notebook != notebook]
        for kind, key, _ in entries:
            _refuse_foreign(others, notebook, kind, key)
        mine = read_part(path) or Part(notebook, {})
        n = sum(len(mine.entries.get(kind, ())) for kind in _SHOWN)
        mine = mine.with_entries(
            (kind, key, {**entry, "place": n + place} if kind in _SHOWN else entry)
            for place, (kind, key, entry) in enumerate(entries)
        )
        text = mine.text
        _replace(path, text)
        keep(path, text, mine)
        _merge(generated, {kind for kind, _, _ in entries})


def text_entry(
    text: str, *, notebook: str, method: str = "text", n_trials: int = 0, inputs: Sequence[str] = ()
) -> Contribution:
    """Return the entry of a fact in words; ``method``: "text", or "verdict" for the words of a comparison."""
    return {
        "value": None,
        "low": None,
        "high": None,
        "unit": "",
        "text": text,
        "interval_text": text,
        "method": method,
        "estimand": "",
        "n_trials": n_trials,
        "inputs": list(inputs),
        "notebook": notebook,
    }


def replace(root: Path, notebook: str, fresh: Path) -> None:
    """Put what a notebook wrote into the folder ``fresh`` in the place of its earlier contribution.

    Keys and files that it no longer has go. ``fresh`` is removed. A notebook that published nothing has no
    contribution any more.

    Raises:
        InputError: another notebook has published one of the keys; the earlier contribution stays then.
    """
    generated = root / GENERATED
    name = f"{notebook}.json"
    part = read_part(fresh / name)
    with _locked(generated):
        if part is not None:
            others = [other for other in _parts(generated) if other.notebook != notebook]
            for kind, entries in part.entries.items():
                for key in entries:
                    _refuse_foreign(others, notebook, kind, key)
        _remove(generated, notebook)
        for path in sorted(fresh.rglob("*")):
            within = path.relative_to(fresh)
            if path.is_file() and (len(within.parts) > 1 or path.name == name):
                (generated / within).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, generated / within)
        _merge(generated)
    shutil.rmtree(fresh, ignore_errors=True)


def clear(root: Path, notebook: str) -> None:
    """Remove what a notebook contributed."""
    with _locked(root / GENERATED):
        if _remove(root / GENERATED, notebook):
            _merge(root / GENERATED)


def _remove(generated: Path, notebook: str) -> bool:
    """Remove a notebook's contribution with its files; return whether there was one."""
    content = _read(generated / f"{notebook}.json")
    if content is None:
        return False
    for entry in [*content["figures"].values(), *content["tables"].values()]:
        for name in entry["files"]:
            (generated / name).unlink(missing_ok=True)
    for path in (generated / "rows").glob(f"{notebook}.*"):
        path.unlink()
    (generated / f"{notebook}.json").unlink()
    return True


def rows_file(generated: Path, notebook: str, question: str) -> Path:
    """Return the file of the rows of a notebook's question; most notebooks have one."""
    return generated / "rows" / f"{notebook}.{question}.parquet"


def merge(root: Path) -> None:
    """Write ``values.json`` and ``figures.json`` from all contributions."""
    with _locked(root / GENERATED):
        _merge(root / GENERATED)


def read_values(root: Path) -> dict[str, dict[str, Any]]:
    """Return every published value by key; empty when nothing was published."""
    return _read(root / GENERATED / VALUES) or {}


def text_of(values: Values, key: str, *, interval: bool = False) -> str:
    """Return what was published under a key in words; ``interval``: with its interval.

    Raises:
        UnknownKey: nothing was.
    """
    if key not in values:
        raise UnknownKey(f"{key} was not published; execute the notebooks first: make paper")
    return str(values[key]["interval_text" if interval else "text"])


def trace(root: Path, key: str) -> dict[str, Any]:
    """Return one published value with the trials it came from (``inputs``).

    Raises:
        UnknownKey: nothing was published under this key; names the nearest ones.
    """
    values = read_values(root)
    if key not in values:
        near = difflib.get_close_matches(key, values, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"see {GENERATED / VALUES}"
        raise UnknownKey(f"no notebook published {key!r}; {hint}")
    return values[key]


def contributions(generated: Path) -> tuple[Contribution, ...]:
    """Return all contributions, by name of the notebook."""
    return tuple(content for path in _files(generated) if (content := _read(path)) is not None)


def in_order(part: Contribution) -> list[tuple[str, str, dict[str, Any]]]:
    """Return tables and figures of a contribution (kind, key, entry) in the order in which they were published."""
    shown = [(kind, key, entry) for kind in _SHOWN for key, entry in part[kind].items()]
    return sorted(shown, key=lambda one: (one[2].get("place", 0), one[1]))


def _files(generated: Path) -> list[Path]:
    return sorted(path for path in generated.glob("*.json") if path.name not in _MERGED)


def _parts(generated: Path) -> tuple[Part, ...]:
    return tuple(part for path in _files(generated) if (part := read_part(path)) is not None)


def _merge(generated: Path, changed: Collection[str] = KINDS) -> None:
    """Merge all contributions, of which entries of these kinds have changed: there are megabytes of values."""
    parts = _parts(generated)
    for name, kind in ((VALUES, "values"), (FIGURES, "figures")):
        if kind in changed or not (generated / name).is_file():
            _replace(generated / name, merged_json(parts, kind))


def _refuse_foreign(others: Sequence[Part], notebook: str, kind: str, key: str) -> None:
    for part in others:
        if key in part.entries[kind]:
            raise InputError(
                f"published by {part.notebook} already; one key, one notebook",
                place=key,
                found=notebook,
                allowed="another key",
            )


def _read(path: Path) -> Contribution | None:
    text = read_text(path)
    return None if text is None else parsed(path, text)


def _replace(path: Path, text: str) -> None:
    content = text.encode()
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return  # unchanged: leave the time stamp, so that latexmk has nothing to do
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(content)
    os.replace(fresh, path)


@contextmanager
def _locked(generated: Path) -> Iterator[None]:
    """Two notebooks open at once must not lose each other's numbers."""
    generated.mkdir(parents=True, exist_ok=True)
    with (generated / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
