# SPDX-License-Identifier: Apache-2.0
"""Which modules of the project a module imports, directly and through others, read from the sources.

What is computed by code is stale when that code changes: the planner hashes the modules a notebook
imports, and those that make tables. Nothing is imported to find them.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

#: The folder that holds the package ``harness``.
SOURCES = Path(__file__).resolve().parent.parent


#: What notebooks import from: of these only the modules behind the names that are asked for are followed.
#: Otherwise every change of the project would be one of every notebook. A process loads more than that, but only
#: modules whose names nobody asked for.
FACES = frozenset({"harness.notebook", "harness.pipeline", "harness.rows"})
#: Where a statement holds other statements: an expression, of which a module has most, holds no import.
_STATEMENTS = ("body", "handlers", "orelse", "finalbody", "cases")


def closure_sha256(root: Path, modules: set[str]) -> str:
    """Return one hash of the sources of these modules and of everything of the project they import."""
    digest = hashlib.sha256()
    for module in closure(root, modules):
        path = module_path(root, module)
        assert path is not None, module  # closure() returns modules that have a file
        digest.update(f"{module}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def packages(sources: Iterable[str]) -> set[str]:
    """Return the packages that these sources cannot do without; the project and the standard library are left out."""
    names = {target.partition(".")[0] for text in sources for target, _ in imports(text, guarded=False)}
    return names - {"harness", *sys.stdlib_module_names}


def closure(root: Path, modules: set[str], *, faces: frozenset[str] = FACES) -> tuple[str, ...]:
    """Return these modules of the project and everything of it they import, sorted.

    Args:
        faces: modules of which an import by name leads to the modules of these names alone.
    """
    seen: set[str] = set()
    # most of what is imported is a name that many modules import, and no module itself
    asked: set[str] = set()
    waiting = sorted(modules)
    while waiting:
        module = waiting.pop()
        if module in asked:
            continue
        asked.add(module)
        path = module_path(root, module)
        if path is None:
            continue
        seen.add(module)
        for target, names in imports(path.read_text("utf-8")):
            waiting += behind(root, target, names, faces)
    return tuple(sorted(seen))


def behind(root: Path, target: str, names: tuple[str, ...], faces: frozenset[str] = FACES) -> list[str]:
    """Return the modules that an import leads to; of names that come through faces, those that have them."""
    if target.split(".", maxsplit=1)[0] != "harness":
        return []
    if target not in faces or not names:
        return [target, *(f"{target}.{name}" for name in names)]
    path = module_path(root, target)
    origins = (
        {name: module for module, there in imports(path.read_text("utf-8")) for name in there} if path else {}
    )
    return [
        found
        for name in names
        for found in (behind(root, origins[name], (name,), faces) if name in origins else [target])
    ]


def module_path(root: Path, module: str) -> Path | None:
    """Return the file of a module of this project; ``None`` when the name is not one."""
    stem = root.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache  # a plan reads the same modules for every notebook, twice, and again at each one's turn
def imports(source: str, *, guarded: bool = True) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (module, names) of every import that can run; those for type checkers alone cannot.

    ``guarded``: with those that may fail, because an ``ImportError`` is caught.
    """
    found: list[tuple[str, tuple[str, ...]]] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append((node.module, tuple(alias.name for alias in node.names)))
        elif isinstance(node, ast.Import):
            found += [(alias.name, ()) for alias in node.names]
        may_fail = isinstance(node, ast.Try) and any(_catches_import(handler) for handler in node.handlers)
        for part in _STATEMENTS:
            if guarded or not (may_fail and part == "body"):
                waiting += getattr(node, part, ())
    return tuple(found)


def _catches_import(handler: ast.ExceptHandler) -> bool:
    return handler.type is not None and "ImportError" in ast.unparse(handler.type)
