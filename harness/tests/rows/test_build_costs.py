# SPDX-License-Identifier: Apache-2.0
"""What making a variant took: a row for each that was made, and one with the reason for each that could not be had."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.model import Unavailable
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.rows import builds, find_session, open_session
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import AOT_CACHE_BYTES, AOT_TRAINING_S, ROOT, make_project

REASON = "native-image is missing: it was not looked for, as this is made up"
GONE = ("java-jdkhttp-native", "java-helidon-native", "java-jaxrs-native")


def test_a_form_that_was_made_has_numbers_and_one_without_its_compiler_the_reason(tmp_path: Path) -> None:
    root = make_project(tmp_path, profile="smoke", experiments=())
    settings = StageParameters(experiments="forms,forms-clients")
    lay_session(
        root, "forms", "quick", unavailable=[Unavailable(variant=name, reason=REASON) for name in GONE]
    )
    tidy_all(StageParameters(experiments="forms"), root=root)
    rows = builds(open_session("forms", settings, root=root)).set_index(["variant", "name"])
    for name in GONE:
        assert rows.loc[name].loc[["build", "peak", "size"], "why"].eq(REASON).all()
    cache = rows.loc["java-jdkhttp-aot"]["value"]
    assert (cache["build"], cache["size"]) == (AOT_TRAINING_S, AOT_CACHE_BYTES)
    assert "java-jdkhttp" not in rows.index.get_level_values("variant")
    assert builds(find_session("forms-clients", settings, root=root)).empty


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
