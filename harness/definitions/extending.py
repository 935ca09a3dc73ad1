# SPDX-License-Identifier: Apache-2.0
"""``extends``: a definition on top of its bases, with the variants that it names.

Tables merge and the definition's own values win; lists are replaced; ``NAME = false`` takes an inherited table out.
Of variants a definition has those that it names, in its order (none named: all inherited ones).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.definitions.strict_files import short, text_of, toml_of, unknown
from harness.errors import InputError
from harness.project import EXPERIMENTS, LEDGERS

#: The folder of bases, beside the experiments.
BASES = "bases"
EXTENDS = "extends"
#: A table that is laid under every variant of its file, on top of what each inherits.
ALL_VARIANTS = "all_variants"
VARIANTS = "variants"

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Definition:
    """The file of an experiment or base, its text, and what it extends."""

    path: Path
    text: str
    bases: tuple[Definition, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that it is made of: bases in the order in which they are merged, its own last."""
        return (*dict.fromkeys(file for base in self.bases for file in base.files), self.path)

    def content(self) -> dict[str, Any]:
        """Return what all files say together.

        Raises:
            InputError: a variant extends none, or itself; ``all_variants`` is no table.
        """
        inherited: dict[str, Any] = {}
        for base in self.bases:
            inherited = _on_top(inherited, base.content())
        try:
            return _extended(inherited, _parsed(self.path, self.text), short(self.path))
        except RecursionError:
            raise InputError("variants extend one another too deeply", file=short(self.path)) from None

    def file_of(self, place: str | None) -> Path:
        """Return the last file that has a dotted place of the content; its own where none has it."""
        if place:
            for file in reversed(self.files):
                if _has(_parsed(file, text_of(file)), place):
                    return short(file)
        return short(self.path)


def read_definition(root: Path, path: Path, *, below: tuple[Path, ...] = ()) -> Definition:
    """Read a definition's file with all that it extends.

    A base is looked for beside the file, in the folder ``bases`` there, and among those of the project.

    Args:
        below: the files that lead to this one.

    Raises:
        InputError: a file cannot be read, extends what is not there, or leads back to itself.
    """
    text = text_of(short(path))
    names = _parsed(path, text).get(EXTENDS, [])
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            "must be a name or a list of names", file=short(path), place=EXTENDS, found=names,
            allowed="bases and experiments by name",
        )  # fmt: skip
    bases = []
    for name in names:
        base = _base(root, path, name)
        if base.resolve() in {file.resolve() for file in (*below, path)}:
            raise InputError(
                "leads back to itself", file=short(path), place=EXTENDS,
                found=" -> ".join(file.stem for file in (*below, path, base)),
                allowed="a base that does not extend this file",
            )  # fmt: skip
        bases.append(read_definition(root, base, below=(*below, path)))
    return Definition(path, text, tuple(bases))


def _base(root: Path, path: Path, name: str) -> Path:
    """Return the file of a base; what is beside the file that extends it comes first."""
    folders = (path.parent / BASES, path.parent, root / EXPERIMENTS / BASES, root / EXPERIMENTS)
    for folder in folders if "/" not in name and name not in LEDGERS else ():
        if os.path.isfile(folder / f"{name}.toml"):  # also tells of a name that no file can have
            return folder / f"{name}.toml"
    known = {file.stem for folder in folders for file in folder.glob("*.toml")} - {*LEDGERS}
    raise unknown("base", name, known, file=short(path), place=EXTENDS)


@lru_cache(maxsize=256)
def _parsed(path: Path, text: str) -> Table:
    """Return what a file says, which nobody changes; the same text is read once in a process."""
    return toml_of(text, short(path))


def _on_top(inherited: Table, own: Table) -> dict[str, Any]:
    result = dict(inherited)
    for key, value in own.items():
        before = result.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            result[key] = _on_top(before, value)
        elif isinstance(before, dict) and value is False:
            del result[key]
        else:
            result[key] = value
    return result


def _extended(inherited: Table, own: Table, path: Path) -> dict[str, Any]:
    rest = {key: value for key, value in own.items() if key not in (EXTENDS, ALL_VARIANTS, VARIANTS)}
    result = _on_top(inherited, rest)
    if VARIANTS in own or ALL_VARIANTS in own:
        result[VARIANTS] = _variants(inherited.get(VARIANTS, {}), own, path)
    return result


def _variants(inherited: Table, own: Table, path: Path) -> dict[str, Any]:
    given, for_all = own.get(VARIANTS, {}), own.get(ALL_VARIANTS, {})
    tables = {VARIANTS: given, ALL_VARIANTS: for_all}
    if isinstance(given, dict):
        tables |= {f"{VARIANTS}.{name}": variant for name, variant in given.items() if variant is not False}
    for place, table in tables.items():
        if not isinstance(table, dict):
            allowed = "a table; false takes an inherited variant out"
            raise InputError("must be a table", file=path, place=place, found=table, allowed=allowed)
    for name, variant in given.items():
        if variant is False and name not in inherited:
            raise unknown("inherited variant", name, inherited, file=path, place=f"{VARIANTS}.{name}")
    named = {name: variant for name, variant in given.items() if variant is not False}
    if not named:
        named = {name: {} for name in inherited if name not in given}

    def resolved(name: str, above: tuple[str, ...] = ()) -> dict[str, Any]:
        variant = named[name]
        source = variant.get(EXTENDS, name)
        place = f"{VARIANTS}.{name}.{EXTENDS}"
        if not isinstance(source, str) or source not in {*named, *inherited}:
            raise unknown("variant", str(source), {*named, *inherited} - {name}, file=path, place=place)
        if source in above:
            raise InputError(
                "leads back to itself", file=path, place=place, found=" -> ".join((*above, name, source)),
                allowed="a variant that does not extend this one",
            )  # fmt: skip
        if source != name and source in named:
            base = resolved(source, (*above, name))
        else:
            base = _on_top(inherited.get(source, {}), for_all)
        return _on_top(base, {key: value for key, value in variant.items() if key != EXTENDS})

    return {name: resolved(name) for name in named}


def _has(content: Any, place: str) -> bool:
    """Tell whether a dotted place, of keys that may have dots themselves, is in the content."""
    if not isinstance(content, dict):
        return False
    return place in content or any(
        place.startswith(f"{key}.") and _has(value, place[len(key) + 1 :]) for key, value in content.items()
    )
