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
from collections.abc import Iterator
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
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
BLANK = re.compile(r"\w,? \w")
#: A text with so many blanks between words is a sentence or a clause of one.
CLAUSE = 3


def count(root: Path = ROOT) -> dict[str, int]:
    """Return the counts of a source tree; lines and modules are those of ``harness`` and ``setup``."""
    tests = sorted((root / "harness" / "tests").rglob("*.py"))
    product = sorted({*(root / "harness").rglob("*.py"), *(root / "setup").rglob("*.py")} - {*tests})
    trees = [ast.parse(path.read_text("utf-8")) for path in product]
    return {
        "product_lines": sum(path.read_text("utf-8").count("\n") for path in product),
        "test_lines": sum(path.read_text("utf-8").count("\n") for path in tests),
        "packages": sum(path.name == "__init__.py" for path in product),
        "imports_in_functions": sum(map(imports_in_functions, trees)),
        "pronoun_names": sum(name in PRONOUNS for tree in trees for name in names(tree)),
        "functions_of_sentences": sum(map(functions_of_sentences, trees)),
    }


def names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that are given in a tree."""
    stored = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and not node.value:
            stored.add(id(node.target))
        elif isinstance(node, FUNCTIONS) and node.name == "__init__":
            stored.update(id(arg) for arg in node.args.kwonlyargs)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, FUNCTIONS | ast.ClassDef):
            name = node.name.strip("_")
        else:
            continue
        if name != FIELD or id(node) not in stored:
            yield name


def imports_in_functions(tree: ast.AST) -> int:
    """Return how many imports are inside functions."""
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    inside = {id(node): node for function in functions for node in ast.walk(function)}
    return sum(isinstance(node, ast.Import | ast.ImportFrom) for node in inside.values())


def functions_of_sentences(tree: ast.AST) -> int:
    """Return how many functions return a text in which words of a sentence are written out."""
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    return sum(any(map(has_sentence, returns(function))) for function in functions)


def returns(node: ast.AST) -> Iterator[ast.Return]:
    """Yield the returns of a function, without those of functions inside."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, FUNCTIONS):
            yield from returns(child)


def has_sentence(tree: ast.AST) -> bool:
    """Return whether a text of a tree is a clause."""
    for node in ast.walk(tree):
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
