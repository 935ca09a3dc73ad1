# SPDX-License-Identifier: Apache-2.0
"""Counts that may only fall: lines, packages, imports inside functions, pronouns as names, functions of sentences.

``python -m harness.tests.support.ratchet`` prints each count beside the largest number allowed; exit status 1: one is
larger. ``--write`` makes the counts the largest numbers allowed.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ALLOWED = ROOT / "harness" / "tests" / "project" / "ratchet.json"
#: Names that say nothing of what they stand for.
PRONOUNS = frozenset(
    ("found", "told", "said", "mine", "ours", "theirs", "one", "other", "others", "both", "there", "here", "these",
     "those", "kept")
)  # fmt: skip
#: A field of stored records, and a parameter of ``InputError``: files and callers have it.
FIELD = "found"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
BLANK = re.compile(r"\w,? \w")
#: A text with so many blanks between words is a sentence or a clause of one.
CLAUSE = 3


def count(root: Path = ROOT) -> dict[str, int]:
    """Return the counts of a source tree; lines and modules are those of ``harness`` and ``setup``."""
    tests = sorted((root / "harness" / "tests").rglob("*.py"))
    product = sorted({*(root / "harness").rglob("*.py"), *(root / "setup").rglob("*.py")} - {*tests})
    nodes = [node for path in product for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    functions = [list(statements(node)) for node in nodes if isinstance(node, FUNCTIONS)]
    return {
        "product_lines": sum(path.read_text("utf-8").count("\n") for path in product),
        "test_lines": sum(path.read_text("utf-8").count("\n") for path in tests),
        # a package's own folders are parts of it
        "packages": len({path.relative_to(root).parts[:-1][:2] for path in product}),
        "imports_in_functions": sum(isinstance(node, IMPORTS) for function in functions for node in function),
        "pronoun_names": sum(name in PRONOUNS for name in names(nodes)),
        "functions_of_sentences": sum(any(map(returns_sentence, function)) for function in functions),
    }


def names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that are given; what is outside of a node comes before it."""
    fields = set[int]()
    for node in nodes:
        if isinstance(node, ast.AnnAssign) and not node.value:
            fields.add(id(node.target))
        elif isinstance(node, FUNCTIONS) and node.name == "__init__":
            fields.update(map(id, node.args.kwonlyargs))
        name = _given(node)
        if name and (name != FIELD or id(node) not in fields):
            yield name


def _given(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else None
    if isinstance(node, ast.arg):
        return node.arg
    return node.name.strip("_") if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else None


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a function, without those of functions inside."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, STATEMENTS):
            yield child
            if not isinstance(child, FUNCTIONS):
                yield from statements(child)


def returns_sentence(statement: ast.AST) -> bool:
    """Return whether it returns a text that is a clause."""
    for node in ast.walk(statement) if isinstance(statement, ast.Return) else ():
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        constants = [part.value if isinstance(part, ast.Constant) else "x" for part in parts]
        text = "".join(part for part in constants if isinstance(part, str))
        if len(BLANK.findall(text)) >= CLAUSE:
            return True
    return False


def allowed() -> dict[str, int]:
    """Return the largest numbers allowed."""
    numbers: dict[str, int] = json.loads(ALLOWED.read_text("utf-8"))
    return numbers


def main() -> int:
    """Print the counts, or write them."""
    counts = count()
    if "--write" in sys.argv[1:]:
        ALLOWED.write_text(json.dumps(counts, indent=2) + "\n", "utf-8")
    for name, number in counts.items():
        print(f"{name:<24}{number:>8}  allowed {allowed()[name]}")
    return int(any(number > allowed()[name] for name, number in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
