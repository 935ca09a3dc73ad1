# SPDX-License-Identifier: Apache-2.0
"""The example of docs/add-a-service.md: a Node.js service is checked against its contract and measured.

Nothing of `harness/` knows it: it is a folder below `services/` and an experiment's file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.definitions import load_study
from harness.model import Outcome
from harness.store import Store
from harness.tests.support.available import PROJECT, program_or_not_run

EXAMPLE = Path("docs/examples/node-strings.toml")
SERVICE = Path("services/strings/node-http")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with this one workload and service: no echo service, no built tools."""
    for part in (SERVICE, Path("services/strings/contract")):
        shutil.copytree(PROJECT / part, tmp_path / part)
    (tmp_path / "docs/examples").mkdir(parents=True)
    shutil.copy2(PROJECT / EXAMPLE, tmp_path / EXAMPLE)
    (tmp_path / "harness/model").mkdir(parents=True)
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_text("")
    return tmp_path


def rematch(root: Path, path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line on the project with nothing on PATH but what stands in ``path``."""
    environment = {"HOME": str(root), "PATH": str(path), "REMATCH_ROOT": str(root)}
    return subprocess.run(
        [sys.executable, "-m", "harness", *words],
        cwd=root, env={**environment, "PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_it_is_measured_with_node_alone(root: Path) -> None:
    node = program_or_not_run("node")
    (root / "bin").mkdir()
    (root / "bin/node").symlink_to(node)
    done = rematch(root, root / "bin", "measure", str(EXAMPLE), "--profile", "smoke", "--json")
    assert done.returncode == 0, done.stderr
    session = json.loads(done.stdout)["session"]
    folder = Store(root).session(*session.split("/"))
    assert folder.complete and folder.verify() == ()
    records = list(folder.records())
    assert {record.planned.configuration.variant_name for record in records} == {"node", "node-logging"}
    for record in records:
        assert record.outcome == Outcome.OK, record.reason
        assert record.conformance is not None and record.conformance.n_cases > 100
        assert record.load is not None and (record.load.n_requests, record.load.n_errors) == (200, 0)
        assert record.instance is not None and (record.instance.runtime_version or "").startswith("node v")


def test_without_node_the_missing_program_and_its_install_step_are_named(root: Path) -> None:
    (root / "bin").mkdir()
    done = rematch(root, root / "bin", "measure", str(EXAMPLE), "--profile", "smoke", "--dry-run", "--json")
    said = json.loads(done.stdout)["unavailable"] if done.returncode == 0 else done.stderr
    assert "node is missing: " in str(said) and "to start node-http" in str(said)


def test_it_is_a_service_like_any_other() -> None:
    study = load_study(PROJECT, str(PROJECT / EXAMPLE))
    assert set(study.implementations) == {"node-http"}
    assert not study.experiment.in_paper
    assert os.access(PROJECT / SERVICE / "README.md", os.R_OK)
