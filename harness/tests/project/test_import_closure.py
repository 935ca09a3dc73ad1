# SPDX-License-Identifier: Apache-2.0
"""What a module depends on: all that it imports, and through a face only the names that it asks for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from harness import notebook
from harness.import_closure import FACES, closure, module_path

ROOT = Path(__file__).resolve().parents[3]
USED = frozenset({"harness.face", "harness.outer"})
FACE = '"""A face."""\nfrom harness.one import first\nfrom harness.two import second\n__all__ = ["first", "second"]\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    sources = {
        "__init__": "",
        "face": FACE,
        "outer": '"""A face of a face."""\nfrom harness.face import first\n__all__ = ["first"]\n',
        "one": "import harness.deep\nfirst = 1\n",
        "two": "second = 2\n",
        "deep": "",
        "package/__init__": '"""A package."""\nfrom harness.two import second\n__all__ = ["second"]\n',
        "package/inner": "",
    }
    for name, source in sources.items():
        path = tmp_path / "harness" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from harness.face import first", {"harness.one", "harness.deep"}),
        ("from harness.outer import first", {"harness.one", "harness.deep"}),
        ("from harness.face import second", {"harness.two"}),
        ("import harness.face", {"harness.face", "harness.one", "harness.deep", "harness.two"}),
        ("from harness.package import second", {"harness.package", "harness.two"}),
    ],
)
def test_only_the_names_taken_from_a_face_are_followed(root: Path, source: str, expected: set[str]) -> None:
    (root / "harness" / "user.py").write_text(source + "\n")
    assert set(closure(root, {"harness.user"}, faces=USED)) == expected | {"harness.user"}


def test_a_name_that_a_face_does_not_have_leads_to_the_face_itself(root: Path) -> None:
    (root / "harness" / "user.py").write_text("from harness.face import third\n")
    assert "harness.face" in closure(root, {"harness.user"}, faces=USED)


def test_a_face_holds_a_docstring_imports_by_name_and_its_list_and_nothing_that_runs() -> None:
    for name in FACES:
        path = module_path(ROOT, name)
        assert path is not None
        tree = ast.parse(path.read_text("utf-8"))
        docstring, *imports, listed = tree.body
        assert isinstance(docstring, ast.Expr)
        assert all(isinstance(node, ast.ImportFrom) for node in imports)
        names = [alias.name for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names]
        assert isinstance(listed, ast.Assign)
        assert ast.literal_eval(listed.value) == sorted(names)


def test_notebooks_have_at_most_16_general_names() -> None:
    assert len(notebook.__all__) <= 16
