# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/add-a-service.md and docs/your-own-service.md: checked against contracts, measured."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.model import Outcome
from harness.store import Store
from harness.tests.support.available import PROJECT, only_in_ci, program_or_not_run
from harness.tests.support.command import run_apart, run_here
from harness.tests.support.sessions import make_empty_project

EXAMPLE = Path("docs/examples/node-strings.toml")
SERVICE = Path("services/strings/node-http")
PAGE = (PROJECT / "docs/your-own-service.md").read_text("utf-8")
#: A file that the page prints whole: its path on a line of its own, then a block.
FILE = re.compile(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What the commands of the page print.
OUTPUT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A project without any workload, service, experiment or built tool."""
    (tmp_path / "bin").mkdir()
    return make_empty_project(tmp_path)


@pytest.fixture
def root(empty: Path) -> Path:
    """The same with the workload, the service and the experiment of the Node.js example."""
    for part in (SERVICE, Path("services/strings/contract")):
        shutil.copytree(PROJECT / part, empty / part)
    (empty / "docs/examples").mkdir(parents=True)
    shutil.copy2(PROJECT / EXAMPLE, empty / EXAMPLE)
    return empty


def rematch(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line on the project with nothing on PATH but what stands in its ``bin``."""
    return run_apart(root, *words, environment={"HOME": str(root), "PATH": str(root / "bin")})


def write_example(root: Path) -> None:
    """Write the files that docs/your-own-service.md prints."""
    files = FILE.findall(PAGE)
    assert len(files) == 5
    for name, text in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")


@only_in_ci("a session without the measuring side")
def test_it_is_measured_with_node_alone(root: Path) -> None:
    (root / "bin/node").symlink_to(program_or_not_run("node"))
    done = rematch(root, "measure", str(EXAMPLE), "--profile", "smoke", "--json")
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


def test_the_files_on_the_page_are_measured_and_print_what_the_page_shows(empty: Path) -> None:
    write_example(empty)
    (empty / "bin/python3").symlink_to(Path(sys.executable).resolve())
    of_right, of_wrong = (shown.splitlines() for shown in OUTPUT.findall(PAGE))

    done = rematch(empty, "measure", "hello.toml", "--profile", "smoke")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert [line for line in of_right if line not in said] == []
    folder = Store(empty).session("hello", "smoke-local-1")
    records = list(folder.records())
    assert [record.planned.duplicate for record in records].count(True) == 1
    for record in records:
        assert record.outcome == Outcome.OK, record.reason
        assert record.conformance is not None and record.conformance.n_cases == 2
        assert record.load is not None and (record.load.n_requests, record.load.n_errors) == (200, 0)
        assert record.instance is not None and record.instance.stop_signal == "SIGTERM"
        assert (record.instance.runtime_version or "").startswith("python3 Python 3")
    code, shown, why = run_here(empty, "results", "hello")
    assert code == 0 and "none (1 block)" in shown, why

    service = empty / "services/hello/hello-python/hello.py"
    service.write_text(service.read_text("utf-8").replace("else 404", "else 200"), "utf-8")
    done = rematch(empty, "measure", "hello.toml", "--profile", "smoke", "--new")
    said = " ".join(done.stdout.split())
    assert [line for line in of_wrong if line not in said] == []
    code, _, _ = run_here(empty, "results", "hello")
    assert code == 1
