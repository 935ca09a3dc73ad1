# SPDX-License-Identifier: Apache-2.0
"""What making a variant took: a row for each that was made, and one with the reason for each that could not be had."""

from __future__ import annotations

from pathlib import Path

from harness.model import Unavailable
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.rows import builds, find_session, open_session
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import AOT_CACHE_BYTES, AOT_TRAINING_S, make_project

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
