# SPDX-License-Identifier: Apache-2.0
"""Modules of the project that a module imports, directly and through others, read from the sources: what is computed
by code is stale when that code changes. Nothing is imported to find them."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

#: The folder that holds the package ``harness``.
SOURCES = Path(__file__).resolve().parent.parent
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


def closure(root: Path, modules: Iterable[str]) -> tuple[str, ...]:
    """Return these modules of the project and everything of it they import, sorted."""
    seen: set[str] = set()
    # most of what is imported is a name that many modules import, and no module itself
    asked: set[str] = set()
    waiting = sorted(modules)
    while waiting:
        module = waiting.pop()
        if module in asked or module.partition(".")[0] != "harness":
            continue
        asked.add(module)
        path = module_path(root, module)
        if path is not None:
            seen.add(module)
            waiting += imports(path.read_text("utf-8"))
    return tuple(sorted(seen))


def module_path(root: Path, module: str) -> Path | None:
    """Return the file of a module of this project; ``None`` when the name is not one."""
    stem = root.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache  # a plan reads the same modules for every notebook, twice, and again at each one's turn
def imports(source: str) -> tuple[str, ...]:
    """Return what every import that can run may name: modules, and names of theirs behind a dot.

    Imports for type checkers alone cannot run.
    """
    names: list[str] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        for part in _STATEMENTS:
            waiting += getattr(node, part, ())
    return tuple(names)
