# SPDX-License-Identifier: Apache-2.0
"""A load tool is one row of the registry: adapters, readers, pages and messages follow from it."""

from __future__ import annotations

import re
from typing import get_args

from harness.loadgen.base import Installed
from harness.loadgen.tools import adapter_of
from harness.model import LOAD_TOOLS, GeneratorName
from harness.project import find_root
from harness.tests.support import load_tool_table

HARNESS = find_root() / "harness"


def test_types_rows_and_adapters_have_the_same_names() -> None:
    modules = (HARNESS / "loadgen" / "tools").glob("*.py")
    adapters = {
        path.stem
        for path in modules
        if re.search(r"^(def )?adapter\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert get_args(GeneratorName) == tuple(tool.name for tool in LOAD_TOOLS)
    assert adapters == {*get_args(GeneratorName)}
    assert len({tool.title for tool in LOAD_TOOLS}) == len(LOAD_TOOLS)
    assert all(adapter_of(tool.name, Installed()).name == tool.name for tool in LOAD_TOOLS)


def test_the_table_of_the_page_is_what_the_adapters_say() -> None:
    page = (find_root() / load_tool_table.PAGE).read_text("utf-8")
    assert load_tool_table.written(page) == page, "run: python -m harness.tests.support.load_tool_table"
