# SPDX-License-Identifier: Apache-2.0
"""What a recorded program is called, and that types, rows and adapters call the load tools the same."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from harness.loadgen.base import Installed
from harness.loadgen.tools import adapter_of
from harness.model import LOAD_TOOLS, BuildRecord, FormBuild, GeneratorName, RuntimeSettings, Variant
from harness.model.session import UNOFFICIAL, coding_of, label_of
from harness.project import find_root
from harness.tests.support import load_tool_table

NATIVE = Variant(implementation="java", label="Java native", runtime=RuntimeSettings(form="native"))
PLAIN = Variant(implementation="java", label="Java")


def built(tool: str) -> BuildRecord:
    form = FormBuild(form="native", tool=tool, argv=(), build_s=1.0, image_bytes=1)
    return BuildRecord(
        implementation="java", source_sha256="0", argv=(), build_s=1.0, artifact_bytes=1, artifact_sha256="0",
        form=form,
    )  # fmt: skip


def test_a_native_image_is_called_unofficial_where_its_compiler_says_so() -> None:
    ours = {NATIVE.build_name: built("native-image 25 (own C shims; unofficial; not GraalVM CE)")}
    assert label_of("java-native", NATIVE, ours) == f"Java native {UNOFFICIAL}"
    assert label_of("java", PLAIN, ours) == "Java"
    released = {NATIVE.build_name: built("native-image 25; GraalVM Runtime Environment 25")}
    assert label_of("java-native", NATIVE, released) == "Java native"
    assert label_of("java-native", NATIVE.model_copy(update={"label": None}), {}) == "java-native"


@pytest.mark.parametrize(
    ("workload", "settings", "coding"),
    [
        ("strings", {}, "tuned"),
        ("strings", {"face": "matched", "craft": "idiomatic"}, "idiomatic"),
        ("strings", {"face": "published"}, "as published"),
        ("bank", {"face": "repaired"}, "as repaired"),
        ("clients", {}, "idiomatic"),
        ("accounts", {}, None),
    ],
)
def test_a_coding_is_asked_for_or_usual(workload: str, settings: dict[str, str], coding: str | None) -> None:
    assert coding_of(workload, Variant(implementation="x", settings=dict(settings))) == coding
    # a handler that answers a constant has none
    assert coding_of(workload, Variant(implementation="x", lean=True)) is None


HARNESS = find_root() / "harness"


def test_types_rows_and_adapters_have_the_same_names() -> None:
    modules = (HARNESS / "loadgen" / "tools").glob("*.py")
    adapter = re.compile(r"^(def )?adapter\b", re.MULTILINE)
    adapters = {path.stem for path in modules if adapter.search(path.read_text("utf-8"))}
    assert get_args(GeneratorName) == tuple(tool.name for tool in LOAD_TOOLS)
    assert adapters == {*get_args(GeneratorName)}
    assert len({tool.title for tool in LOAD_TOOLS}) == len(LOAD_TOOLS)
    assert all(adapter_of(tool.name, Installed()).name == tool.name for tool in LOAD_TOOLS)


def test_the_table_of_the_page_is_what_the_adapters_say() -> None:
    page = (find_root() / load_tool_table.PAGE).read_text("utf-8")
    assert load_tool_table.written(page) == page, "run: python -m harness.tests.support.load_tool_table"
