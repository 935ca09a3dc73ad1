# SPDX-License-Identifier: Apache-2.0
"""Forms that could not be had stand in every table with their reason; an AOT cache stands there with its size."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.cli import main
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.model import Estimate, Unavailable
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish import read_values
from harness.publish.cells import Cell
from harness.questions.forms import build_rows, form_rows
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept import pictures_in_pdf_alone
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import AOT_CACHE_BYTES, AOT_TRAINING_S, ROOT, make_project

REASON = "native-image is missing: it was not looked for, as this is made up"
NATIVE = "Java JDK server native"
GONE = ("java-jdkhttp-native", "java-helidon-native", "java-jaxrs-native")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose made-up session had no compiler of native images."""
    root = make_project(tmp_path_factory.mktemp("forms"), profile="smoke", experiments=())
    gone = [Unavailable(variant=name, reason=REASON) for name in GONE]
    lay_session(root, "forms", "quick", unavailable=gone)
    tidy_all(StageParameters(experiments="forms"), root=root)
    with pytest.MonkeyPatch.context() as patch, pictures_in_pdf_alone():
        patch.setenv("REMATCH_ROOT", str(root))
        execute_in_process(root, "34-forms")
    return root


@pytest.fixture(scope="module")
def evidence(root: Path) -> Evidence:
    return open_evidence(StageParameters(experiments="forms"), "forms", root=root)


def row(rows: Sequence[Mapping[str, Cell] | None], label: str) -> Mapping[str, Cell]:
    return next(found for found in rows if found is not None and found["variant"] == label)


def test_a_form_without_its_compiler_is_a_row_with_its_reason_in_both_tables(
    root: Path, evidence: Evidence
) -> None:
    for rows in (form_rows(evidence), build_rows(evidence)):
        cells = [cell for cell in row(rows, NATIVE).values() if isinstance(cell, Estimate)]
        assert len(cells) >= 3
        assert all(cell.value is None and cell.warnings == (REASON,) for cell in cells)
    for name in ("forms-table", "forms-builds"):
        text = (root / f"paper/generated/tables/{name}.tex").read_text("utf-8")
        assert NATIVE in text
        assert REASON in text
    assert f"{NATIVE}: {REASON}" in read_values(root)["forms.unavailable"]["text"]


def test_an_aot_cache_is_a_row_of_the_builds_and_its_size_a_column_of_the_forms(
    root: Path, evidence: Evidence
) -> None:
    label = "Java JDK server + AOT cache"
    made, form = row(build_rows(evidence), label), row(form_rows(evidence), label)["cache"]
    training, size = made["build"], made["size"]
    assert isinstance(training, Estimate) and isinstance(size, Estimate) and isinstance(form, Estimate)
    assert (training.value, training.unit) == (AOT_TRAINING_S, "s")
    assert (size.value, form.value) == (AOT_CACHE_BYTES, AOT_CACHE_BYTES)
    assert row(form_rows(evidence), "Java JDK server")["cache"] is None
    assert read_values(root)["forms.cache.java_jdkhttp_aot"]["value"] == AOT_CACHE_BYTES


def test_nothing_is_told_of_the_making_of_a_form_that_was_neither_made_nor_refused(
    evidence: Evidence,
) -> None:
    labels = [found["variant"] for found in build_rows(evidence) if found is not None]
    assert "Java JDK server" not in labels
    assert build_rows(None) == []


def test_rematch_list_forms_names_what_is_missing_for_a_native_image(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without = [
        folder for folder in os.environ["PATH"].split(os.pathsep) if not Path(folder, "native-image").exists()
    ]
    monkeypatch.setenv("PATH", os.pathsep.join(without))
    monkeypatch.delenv("GRAALVM_HOME", raising=False)
    monkeypatch.setenv("REMATCH_ROOT", str(ROOT))
    monkeypatch.setattr(sys, "argv", ["rematch", "list", "forms", "--json"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    (listed,) = json.loads(capsys.readouterr().out)
    for name in GONE:
        assert listed["variants"][name].startswith("native-image is missing: "), listed["variants"][name]
        assert "GRAALVM_HOME" in listed["variants"][name]
    assert listed["variants"]["go-nethttp"] is None
