# SPDX-License-Identifier: Apache-2.0
"""Counts that may only fall: lines, packages, imports inside functions, pronouns as names, functions of sentences.

``python -m harness.tests.support.ratchet`` prints each count beside the largest number allowed; exit status 1: one is
larger. ``--write`` makes the counts the largest numbers allowed.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ALLOWED = ROOT / "harness" / "tests" / "project" / "ratchet.json"
#: Names that say nothing of what they stand for.
PRONOUNS = frozenset(
    ("found", "told", "said", "mine", "ours", "theirs", "one", "other", "others", "both", "there", "here", "these",
     "those", "kept")
)  # fmt: skip
#: A field of stored records, and a parameter of ``InputError``: files and callers have it.
_FIELD = "found"
_BLANK = re.compile(r"\w,? \w")
#: A text with so many blanks between words is a sentence or a clause of one.
_CLAUSE = 3


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What may only fall. Lines and modules are those of ``harness`` and ``setup``."""

    product_lines: int
    test_lines: int
    packages: int
    imports_in_functions: int
    pronoun_names: int
    functions_of_sentences: int

    def above(self, allowed: Counts) -> list[str]:
        """Return one line for each count that is larger than allowed."""
        return [
            f"{one.name.replace('_', ' ')}: {getattr(self, one.name)}, allowed {getattr(allowed, one.name)}"
            for one in fields(Counts)
            if getattr(self, one.name) > getattr(allowed, one.name)
        ]


def count(root: Path = ROOT) -> Counts:
    """Return the counts of a source tree."""
    tests = sorted((root / "harness" / "tests").rglob("*.py"))
    product = sorted({*(root / "harness").rglob("*.py"), *(root / "setup").rglob("*.py")} - {*tests})
    texts = [path.read_text("utf-8") for path in product]
    seen = Seen()
    for text in texts:
        seen.visit(ast.parse(text))
    return Counts(
        product_lines=sum(text.count("\n") for text in texts),
        test_lines=sum(path.read_text("utf-8").count("\n") for path in tests),
        packages=sum(path.name == "__init__.py" for path in product),
        imports_in_functions=seen.imports,
        pronoun_names=sum(name in PRONOUNS for name in seen.names),
        functions_of_sentences=seen.functions,
    )


class Seen:
    """What a walk over syntax trees has seen: ``names`` that are given, ``imports`` inside functions, and
    ``functions`` that return a text in which words of a sentence are written out."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.imports = self.functions = 0
        self._sentences: list[bool] = []

    def visit(self, node: ast.AST, *, returned: bool = False) -> None:
        """Count a node and what is below it; ``returned``: it is part of a value that a function returns."""
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                self.names.append(node.id)
            return
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == _FIELD and not node.value:
            return
        if isinstance(node, ast.arg):
            self.names.append(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self.imports += bool(self._sentences)
        elif returned and isinstance(node, ast.Constant | ast.JoinedStr):
            self._sentences[-1] |= len(_BLANK.findall(_text(node))) >= _CLAUSE
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.names.append(node.name.strip("_"))
        if is_function:
            self._sentences.append(False)
        below = returned or isinstance(node, ast.Return)
        for child in ast.iter_child_nodes(node):
            self.visit(child, returned=below)
        if is_function:
            self.functions += self._sentences.pop()
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for _ in (arg for arg in node.args.kwonlyargs if arg.arg == _FIELD):
                self.names.remove(_FIELD)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def allowed(path: Path = ALLOWED) -> Counts:
    """Return the largest numbers allowed."""
    return Counts(**json.loads(path.read_text("utf-8")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="make the counts the largest numbers allowed")
    counts = count()
    if parser.parse_args(arguments).write:
        ALLOWED.write_text(json.dumps(asdict(counts), indent=2) + "\n", "utf-8")
        return 0
    largest = allowed()
    for name, number in asdict(counts).items():
        print(f"{name:<24}{number:>8}  allowed {getattr(largest, name)}")
    return 1 if counts.above(largest) else 0


if __name__ == "__main__":
    raise SystemExit(main())
