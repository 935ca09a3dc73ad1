# SPDX-License-Identifier: Apache-2.0
"""What a container costs: columns of the table of trials, a table beside the process, or the reason for none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.analysis.tables.load import load_trials
from harness.model import Estimate
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish import read_values
from harness.questions.placement.containers import container_rows
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept import pictures_in_pdf_alone
from harness.tests.support.kept_sessions import lay_project, lay_session
from harness.tests.support.synthetic_trial import GROUP_BYTES, LAYERS_BYTES

TABLE = "paper/generated/tables/placement-containers.tex"


def placed(folder: Path, monkeypatch: pytest.MonkeyPatch, *, containers: bool) -> dict[str, object]:
    """Run notebook 51 on made-up places; return its namespace."""
    root = lay_project(folder, profile="smoke", experiments=("placement",))
    if containers:
        lay_session(root, "placement", "smoke", launcher="container")
    tidy_all(StageParameters(profile="smoke", experiments="placement"), root=root)
    monkeypatch.setenv("REMATCH_ROOT", str(root))
    path = root / "notebooks/51-placement.ipynb"
    path.write_text(
        path.read_text("utf-8").replace('profile = \\"quick\\"', 'profile = \\"smoke\\"'), "utf-8"
    )
    with pictures_in_pdf_alone():
        return execute_in_process(root, "51-placement") | {"root": root}


def test_a_container_stands_beside_its_process_and_a_plain_process_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = placed(tmp_path, monkeypatch, containers=True)
    root = namespace["root"]
    assert isinstance(root, Path)
    trials = load_trials(root, "placement")
    inside = trials["launcher"] == "container"
    assert inside.any() and not inside.all()
    of_containers = [
        "image_bytes", "container_create_s", "container_start_s", "group_memory_bytes", "group_cpu_s",
        "process_rss_bytes", "process_cpu_s",
    ]  # fmt: skip
    assert trials.loc[~inside, of_containers].isna().all(axis=None)
    assert trials.loc[inside, of_containers].notna().all(axis=None)
    assert np.isnan(trials["group_memory_max_bytes"]).all(), "the kernel did not keep it: empty, not zero"

    rows = container_rows(namespace["evidence"])  # type: ignore[arg-type]  # a notebook's names have no types
    assert [row["variant"] for row in rows] == ["Go net/http", "Java JDK server"]
    first = rows[0]
    assert str(first["layers"]).split() == ["40.0", "MiB", "+", "2.00", "MiB"], "the base first"
    group, process, most = (first[part] for part in ("group_memory", "process_memory", "group_most"))
    assert isinstance(group, Estimate) and isinstance(process, Estimate) and isinstance(most, Estimate)
    assert group.value == pytest.approx(GROUP_BYTES)
    assert process.value == pytest.approx(GROUP_BYTES + 2**20)
    assert most.value is None and "no trial has this value" in most.warnings
    assert (root / TABLE).is_file()
    values = read_values(root)
    assert values["placement.container.image.go_nethttp"]["value"] == sum(LAYERS_BYTES)
    assert values["placement.container.create.java_helidon"]["reason"] == "not measured in this profile"


def test_without_a_container_there_is_no_table_but_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = placed(tmp_path, monkeypatch, containers=False)["root"]
    assert isinstance(root, Path)
    assert not (root / TABLE).exists()
    values = read_values(root)
    assert "placement.container.measured" not in values
    assert values["placement.container.image.go_nethttp"]["reason"] == "not measured in this profile"
