# SPDX-License-Identifier: Apache-2.0
"""What each notebook contributed, kept apart: the order of the notebooks leaves no trace.

``paper/generated/<notebook>.json`` holds one notebook's values, tables and figures, ``rows/`` its rows, ``data/`` what
only pages read. The build of the paper writes ``values.tex`` and ``values.json``, with the values that the paper cites.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from harness.errors import InputError

GENERATED = Path("paper") / "generated"
VALUES = "values.json"
MACROS = "values.tex"
#: The paper, and the supplement with every table and figure.
DOCUMENTS = ("main", "supplement")
#: In the environment of notebooks that ``run_all`` executes, which alone write contributions: the folder to write into,
#: whose content takes the place of the notebook's earlier contribution once the notebook has ended well.
PUBLISHING = "REMATCH_PUBLISH"
KINDS = ("values", "tables", "figures")
#: Kinds that a notebook shows in an order.
_SHOWN = ("tables", "figures")

#: What one notebook published: kind -> key -> entry, and its name.
Contribution = dict[str, Any]


def paper_sources(paper: Path) -> list[Path]:
    """Return the LaTeX files that are written by hand: the documents and the paper's text."""
    documents = (path for name in DOCUMENTS if (path := paper / f"{name}.tex").is_file())
    return [*documents, *sorted((paper / "text").glob("*.tex"))]


def update(generated: Path, notebook: str, entries: Sequence[tuple[str, str, dict[str, Any]]]) -> None:
    """Put entries (kind, key, entry) into a notebook's contribution.

    A table or figure gets its ``place`` among those of the notebook.
    """
    path = generated / f"{notebook}.json"
    content = _read(path) or {"notebook": notebook, **{kind: {} for kind in KINDS}}
    _refuse_foreign(generated, notebook, [new[:2] for new in entries if new[1] not in content[new[0]]])
    for kind, key, entry in entries:
        place = content[kind].get(key, {}).get("place", sum(len(content[shown]) for shown in _SHOWN))
        content[kind][key] = {**entry, "place": place} if kind in _SHOWN else entry
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, content)


def write_json(path: Path, content: object) -> None:
    """Write a JSON file; the same content gives the same bytes, and an unchanged file is left alone."""
    text = (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    if path.is_file() and path.stat().st_size == len(text) and path.read_bytes() == text:
        return
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(text)
    os.replace(fresh, path)


def fact_entry(text: str) -> Contribution:
    """Return the value of a fact in words, such as the name of a processor."""
    none = dict.fromkeys(("label", "value", "low", "high", "reason", "verdict"))
    about = {"kind": "fact", "unit": "", "method": "text", "estimand": "", "n_trials": 0}
    return {**none, **about, "text": text, "interval_text": text, "inputs": [], "warnings": []}


def replace(root: Path, notebook: str, fresh: Path) -> None:
    """Move what a notebook wrote into the folder ``fresh`` to the place of its earlier contribution, which goes.

    Raises:
        InputError: another notebook has published one of the keys; the earlier contribution stays then.
    """
    generated, name = root / GENERATED, f"{notebook}.json"
    if (content := _read(fresh / name)) is not None:
        _refuse_foreign(generated, notebook, [(kind, key) for kind in KINDS for key in content[kind]])
    clear(root, notebook)
    for path in sorted(fresh.rglob("*")):
        within = path.relative_to(fresh)
        if path.is_file() and (len(within.parts) > 1 or path.name == name):
            (generated / within).parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, generated / within)
    shutil.rmtree(fresh, ignore_errors=True)


def clear(root: Path, notebook: str) -> None:
    """Remove what a notebook contributed."""
    generated = root / GENERATED
    content = _read(generated / f"{notebook}.json")
    if content is None:
        return
    shown = [name for kind in _SHOWN for entry in content[kind].values() for name in entry["files"]]
    beside = [path for folder in ("rows", "data") for path in (generated / folder).glob(f"{notebook}.*")]
    for path in (*(generated / name for name in shown), *beside, generated / f"{notebook}.json"):
        path.unlink(missing_ok=True)


def read_values(root: Path) -> dict[str, dict[str, Any]]:
    """Return every published value by key; empty when nothing was published."""
    return {key: entry for part in contributions(root / GENERATED) for key, entry in part["values"].items()}


def contributions(generated: Path) -> tuple[Contribution, ...]:
    """Return all contributions, by name of the notebook."""
    paths = sorted(path for path in generated.glob("*.json") if path.name != VALUES)
    return tuple(content for path in paths if (content := _read(path)) is not None)


def in_order(part: Contribution) -> list[tuple[str, str, dict[str, Any]]]:
    """Return tables and figures of a contribution (kind, key, entry) in the order in which they were published."""
    shown = [(kind, key, entry) for kind in _SHOWN for key, entry in part[kind].items()]
    return sorted(shown, key=lambda item: (item[2]["place"], item[1]))


def _refuse_foreign(generated: Path, notebook: str, keys: Iterable[tuple[str, str]]) -> None:
    foreign = [part for part in contributions(generated) if part["notebook"] != notebook]
    for part, (kind, key) in product(foreign, keys):
        if key in part[kind]:
            problem = f"published by {part['notebook']} already; one key, one notebook"
            raise InputError(problem, place=key, found=notebook, allowed="another key")


def _read(path: Path) -> Contribution | None:
    """Return the content of a file; ``None``: there is none."""
    try:
        content = dict(json.loads(path.read_text("utf-8")))
        if "values" not in content:
            raise ValueError("no values")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"damaged ({error}); delete it and run its notebook again", file=path) from None
    return content
