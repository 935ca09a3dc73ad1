# SPDX-License-Identifier: Apache-2.0
"""A command imports no more than it needs, and where only what reads is installed it says what each lack prevents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import harness.measure.session
from harness.tests.support.command import run_here
from harness.tests.support.sessions import REPOSITORY, make_session_project, tiny_assembly, tiny_folder
from harness.toolchains.catalogue import PACKAGES

#: What neither a list nor a report of a small file needs.
LATER = ("pandas", "paramiko", "cryptography", "psycopg", "matplotlib")
HEAVY = (*LATER, "numpy", "scipy", "pyarrow", "pydantic", "rich", "docker", "jinja2")
OTHER_COMMANDS = tuple(f"harness.cli.{name}" for name in ("adopt", "check", "duel", "measure", "verify"))
SAMPLES = str(REPOSITORY / "harness" / "tests" / "golden" / "jmeter" / "samples.jtl")
LOOKING = (*LATER, "pyarrow", "scipy", "docker", "harness.places.hosts.ssh.host")


@pytest.mark.parametrize(
    ("words", "libraries", "code"),
    [
        (["--help"], HEAVY, 0),
        (["report", "--help"], OTHER_COMMANDS, 0),
        (["report", "none.jtl"], (*HEAVY[:5], "scipy.special", "scipy.ndimage", "scipy.stats", "pyarrow", "jinja2"), 2),
        (["report", SAMPLES, "--json"], (*LATER, "pyarrow", "rich"), 0),
        (["list"], LOOKING, 0),
        (["list", "gc-peaks"], LOOKING, 0),
        (["measure", "strings-rounds", "--dry-run"], LOOKING, 0),
    ],
    ids=["help", "help of one", "no file", "small file", "list", "list one", "dry run"],
)  # fmt: skip
def test_a_command_imports_what_it_needs(words: list[str], libraries: tuple[str, ...], code: int) -> None:
    program = (
        f"import sys\nsys.argv = ['rematch', *{words!r}]\nfrom harness.cli import main\n"
        "try:\n    main()\n"
        f"except SystemExit as end:\n    assert (end.code or 0) == {code}, end.code\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {*libraries} & {*done.stdout.splitlines()[-1].split()} == set()


#: Imported beside one of ``PACKAGES``, which requires it.
BROUGHT_ALONG = {"gevent": "locust"}


def without_measuring(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the project where none of the packages of measuring can be imported."""
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted({*PACKAGES, *BROUGHT_ALONG})!r}))\n"
        f"sys.argv = ['rematch', *{words!r}]\n"
        "from harness.cli import main\nmain()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "100"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["list"], (0,), r"Not here: (.*, )?k8s-rounds, .*: the Python package lightkube is missing: it is required"),
        (["check"], (0, 1), r"(?s)containers: unavailable: the Python package docker is missing.*psycopg: to measure services"),
        (["measure", "strings-rounds", "--dry-run"], (0,), r"90 trials in 5 blocks"),
        (["list", "strings-rounds", "--launcher", "container"], (0,), r"(?s)quick: 90 trials.*package docker is missing"),
        (["measure", "docs/examples/node-strings.toml", "--profile", "smoke", "--dry-run"], (0,), r"3 trials in 1 block"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_plan_and_a_list_need_no_measuring_side(words: list[str], code: tuple[int, ...], said: str) -> None:
    done = without_measuring(*words)
    assert done.returncode in code, done.stderr
    out = re.sub(r"\n +", " ", done.stdout) if words == ["list"] else done.stdout
    assert re.search(said, out), done.stdout


def test_what_a_command_cannot_do_without_a_package_is_one_line_that_says_what_for() -> None:
    done = without_measuring("measure", "strings-rounds", "--launcher", "container", "--profile", "smoke")
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "the Python package docker is missing: it is required to measure services in containers" in line


def test_a_plan_tells_that_its_generator_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_session_project(tmp_path)
    path = root / "harness/experiments/tiny.toml"
    path.write_text(path.read_text().replace('"locust"', '"k6"'))
    monkeypatch.setattr(harness.measure.session, "assemble", lambda root, **_: tiny_assembly(root))
    code, out, err = run_here(root, "measure", "tiny", "--profile", "smoke", "--dry-run")
    assert code == 0, err
    assert "cannot be measured here: k6 is missing" in err
    assert re.search(r"\n\d+ trials in 1 block, shuffled", out) and "# k6 is missing" in out
    assert not tiny_folder(root).folder.exists()
    code, out, err = run_here(root, "list", "tiny")
    assert code == 0 and re.search(r"smoke: \d+ trials in 1 block", out) and "not here: smoke: k6 is" in out
