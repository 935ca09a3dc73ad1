# SPDX-License-Identifier: Apache-2.0
"""A load tool is one row of the registry: adapters, readers, pages and messages follow from it."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from harness.formats.detect import read_any
from harness.loadgen.base import Installed
from harness.loadgen.tools import adapter_of
from harness.model import LOAD_TOOLS, GeneratorName, LoadTool
from harness.model.load_tools import titles
from harness.project import find_root
from harness.tests.support import load_tool_table
from harness.toolchains import wanted

HARNESS = find_root() / "harness"
GOLDEN = HARNESS / "tests" / "golden"
#: A captured output of each tool.
CAPTURED = {
    "jmeter": "jmeter/samples.jtl", "locust": "locust/samples.csv", "wrk": "wrk/latency.txt",
    "wrk2": "wrk2/latency.txt", "k6": "k6/samples.csv", "oha": "oha/oha.csv", "vegeta": "vegeta/results.csv",
    "metronome": "metronome/samples.csv",
}  # fmt: skip
every_tool = pytest.mark.parametrize("tool", LOAD_TOOLS, ids=lambda tool: tool.name)


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


@every_tool
def test_set_up_says_how_to_get_each_program(tool: LoadTool) -> None:
    if tool.runs_as != "python":  # which comes with this project's Python
        assert wanted(tool.name).name == tool.name


@every_tool
def test_a_row_says_of_the_output_what_its_reader_finds(tool: LoadTool) -> None:
    table = read_any(GOLDEN / CAPTURED[tool.name])
    assert table.source == tool.name
    assert table.resolution_s == pytest.approx(tool.resolution_s)
    assert hasattr(table, "start_epoch_s") and (type(table).__name__ == "RequestTable") == tool.has_rows


def test_the_table_of_the_page_is_what_the_adapters_say() -> None:
    page = (find_root() / load_tool_table.PAGE).read_text("utf-8")
    assert load_tool_table.written(page) == page, "run: python -m harness.tests.support.load_tool_table"


def test_the_table_tells_what_a_tool_cannot_do_in_full() -> None:
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in load_tool_table.table().splitlines()}
    columns = [tool.name for tool in LOAD_TOOLS]

    def cell(row: str, tool: GeneratorName) -> str:
        return rows[row].strip("| ").split(" | ")[1 + columns.index(tool)]

    assert cell("closed loop, by loops of each user", "oha") == "-"
    assert cell("closed loop, by duration", "wrk") == "whole seconds"
    assert cell("open loop, evenly spaced", "wrk2") == "whole rates and seconds"
    assert cell("open loop, random arrivals", "jmeter") == "yes"
    assert cell("open loop, random arrivals", "locust") == "-"


def test_a_sentence_names_every_tool() -> None:
    assert titles() == "JMeter, Locust, wrk, wrk2, k6, oha, vegeta or metronome"
