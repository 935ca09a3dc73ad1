# SPDX-License-Identifier: Apache-2.0
"""What each notebook contributed, kept apart and merged: the order of the notebooks leaves no trace.

``paper/generated/<notebook>.json`` holds one notebook's contribution. ``values.json``, ``values.tex``
and ``figures.json`` are merged from all of them, sorted by key, whenever one changes.
"""

from __future__ import annotations

import difflib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import InputError, UnknownKey
from harness.publish.latex import render_values

GENERATED = Path("paper") / "generated"
VALUES = "values.json"
FIGURES = "figures.json"
MACROS = "values.tex"
#: Set to 1 in the environment of notebooks that ``run_all`` executes: they alone write contributions.
PUBLISHING = "REMATCH_PUBLISH"
_MERGED = (VALUES, FIGURES)
KINDS = ("values", "tables", "figures")

Contribution = dict[str, Any]
#: Every published value by key, as in ``values.json``.
Values = Mapping[str, Mapping[str, Any]]


def update(generated: Path, notebook: str, entries: Sequence[tuple[str, str, Contribution]]) -> None:
    """Put entries (kind, key, entry) into a notebook's contribution and merge anew, once for all of them.

    Raises:
        InputError: another notebook has published one of the keys; nothing is put then.
    """
    with _locked(generated):
        mine = _read(generated / f"{notebook}.json") or _empty(notebook)
        others = [part for part in contributions(generated) if part["notebook"] != notebook]
        for kind, key, entry in entries:
            _refuse_foreign(others, notebook, kind, key)
            mine[kind][key] = entry
        for kind in KINDS:
            mine[kind] = dict(sorted(mine[kind].items()))
        write_json(generated / f"{notebook}.json", mine)
        _merge(generated)


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


def clear(root: Path, notebook: str) -> None:
    """Forget what a notebook contributed, before it is executed as a whole: renamed keys must not linger."""
    generated = root / GENERATED
    with _locked(generated):
        mine = _read(generated / f"{notebook}.json")
        if mine is None:
            return
        for entry in [*mine["figures"].values(), *mine["tables"].values()]:
            for name in entry["files"]:
                (generated / name).unlink(missing_ok=True)
        (generated / f"{notebook}.json").unlink()
        _merge(generated)


def merge(root: Path) -> None:
    """Write ``values.json``, ``values.tex`` and ``figures.json`` from all contributions."""
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


def write_json(path: Path, content: object) -> None:
    """Replace a JSON file atomically; the same content gives the same bytes."""
    _replace(path, json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def contributions(generated: Path) -> tuple[Contribution, ...]:
    """Return all contributions, by name of the notebook."""
    paths = sorted(path for path in generated.glob("*.json") if path.name not in _MERGED)
    return tuple(content for path in paths if (content := _read(path)) is not None)


def _merge(generated: Path) -> None:
    parts = contributions(generated)
    values = {key: entry for part in parts for key, entry in part["values"].items()}
    figures = {key: entry for part in parts for key, entry in part["figures"].items()}
    tables = [key for part in parts for key in part["tables"]]
    write_json(generated / VALUES, values)
    write_json(generated / FIGURES, figures)
    _replace(generated / MACROS, render_values(values, figures, tables))


def _refuse_foreign(others: Sequence[Contribution], notebook: str, kind: str, key: str) -> None:
    for part in others:
        if key in part[kind]:
            raise InputError(
                f"published by {part['notebook']} already; one key, one notebook",
                place=key,
                found=notebook,
                allowed="another key",
            )


def _empty(notebook: str) -> Contribution:
    return {"notebook": notebook, **{kind: {} for kind in KINDS}}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InputError(f"damaged ({error}); delete it and run its notebook again", file=path) from None
    return dict(content)


def _replace(path: Path, text: str) -> None:
    if path.is_file() and path.read_text("utf-8") == text:
        return  # unchanged: leave the time stamp, so that latexmk has nothing to do
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, "utf-8")
    os.replace(fresh, path)


@contextmanager
def _locked(generated: Path) -> Iterator[None]:
    """Two notebooks open at once must not lose each other's numbers."""
    generated.mkdir(parents=True, exist_ok=True)
    with (generated / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
