# SPDX-License-Identifier: Apache-2.0
"""The paper's table of keys has what each notebook published, and nothing of the build itself."""

from __future__ import annotations

from harness.publish.contribution import Contribution
from harness.publish.key_index import KEY, index_rows, index_table

PUBLISHED: list[Contribution] = [
    {"notebook": "31-b", "values": {"startup.first.go": {}, "memory.after.go": {}}, "tables": {}, "figures": {}},
    {"notebook": "30-a", "values": {"strings.x": {}}, "tables": {"strings.t": {}}, "figures": {"strings.f": {}}},
    {"notebook": "32-c", "values": {}, "tables": {}, "figures": {}},
]  # fmt: skip


def test_each_notebook_has_a_row_with_the_first_words_of_its_keys() -> None:
    assert index_rows(PUBLISHED) == [
        ["30-a", "strings", "1", "1", "1"],
        ["31-b", "memory, startup", "2", "0", "0"],
    ]


def test_the_table_is_published_like_any_other() -> None:
    text, entry = index_table(PUBLISHED, notebook="paper-build")
    assert rf"\begin{{rematchtab}}{{}}{{{KEY}}}" in text
    assert entry["rows"] == index_rows(PUBLISHED)
    assert {"caption", "columns", "header", "rows", "notes", "files", "inputs", "estimates"} == set(entry)
