# SPDX-License-Identifier: Apache-2.0
"""What a module depends on: all that it imports, directly and through others."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.import_closure import closure, closure_sha256

SOURCES = {
    "__init__": "", "one": "import harness.deep\nfirst = 1\n", "two": "second = 2\n", "deep": "",
    "package/__init__": "from harness.two import second\n", "package/inner": "",
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, source in SOURCES.items():
        path = tmp_path / "harness" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import harness.two", {"harness.two"}),
        ("from harness.one import first", {"harness.one", "harness.deep"}),
        ("from harness.package import second", {"harness.package", "harness.two"}),
        ("from harness.package import inner", {"harness.package", "harness.package.inner", "harness.two"}),
        ("def late():\n    from harness.two import second", {"harness.two"}),
        ("if TYPE_CHECKING:\n    import harness.two\nelse:\n    import harness.deep", {"harness.deep"}),
    ],
)
def test_everything_that_can_be_imported_is_followed(root: Path, source: str, expected: set[str]) -> None:
    (root / "harness" / "user.py").write_text(source + "\n")
    assert set(closure(root, {"harness.user"})) - {"harness"} == expected | {"harness.user"}


def test_the_hash_changes_with_any_module_that_is_reached(root: Path) -> None:
    before = closure_sha256(root, {"harness.one"})
    (root / "harness" / "two.py").write_text("second = 3\n")
    assert closure_sha256(root, {"harness.one"}) == before
    (root / "harness" / "deep.py").write_text("third = 3\n")
    assert closure_sha256(root, {"harness.one"}) != before
