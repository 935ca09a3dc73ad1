# SPDX-License-Identifier: Apache-2.0
"""Reading, reporting and teaching need no Linux; Windows gets one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.import_closure import closure, module_path
from harness.tests.support.synthetic import ROOT, make_project
from harness.tests.support.without_linux import LINUX_ONLY, PRELUDE, WINDOWS, command_line, run_code

GOLDEN = ROOT / "harness" / "tests" / "golden"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a made-up session of the rounds."""
    return make_project(tmp_path_factory.mktemp("mac"), profile="smoke", experiments=("strings-rounds",))


def test_only_one_module_asks_which_cpus_may_be_used() -> None:
    asking = {
        path.relative_to(ROOT).as_posix()
        for folder in ("harness", "setup")
        for path in (ROOT / folder).rglob("*.py")
        if "tests" not in path.relative_to(ROOT).parts
        and re.search(r"os\.sched_getaffinity", path.read_text("utf-8"))
    }
    assert asking == {"harness/agent/platforms.py"}


#: What only Linux has, as it stands in a source: functions of ``os``, calls of the kernel, its files.
LINUX_CALLS = re.compile(
    r"os\.("
    + "|".join(LINUX_ONLY)
    + r")\b|\bprctl\b|\bcpu_clock\b|[\"']/(proc|sys)/|\bPROC\b|pidfd_send_signal"
)
#: Where reading, reporting and teaching begin.
READING = ("harness.report.output", "harness.report.html", "harness.notebook", "harness.analysis.tables.tidy")


def test_what_reads_reports_and_teaches_makes_no_call_that_only_linux_has() -> None:
    questions = (ROOT / "harness" / "questions").glob("*/__init__.py")
    begun = {*READING, *(f"harness.questions.{path.parent.name}" for path in questions)}
    calling = {
        module
        for module in closure(ROOT, begun)
        if (path := module_path(ROOT, module)) is not None and LINUX_CALLS.search(path.read_text("utf-8"))
    }
    assert calling <= {
        "harness.agent.platforms",
        "harness.agent.machine_info",
    }  # which ask first, or find nothing
    assert len(closure(ROOT, begun)) > 100


def test_measuring_is_refused_where_the_kernel_shows_no_processes() -> None:
    code = PRELUDE + "from harness.session.measuring import refuse_other_systems\nrefuse_other_systems()"
    done = run_code(code, root=ROOT)
    assert done.stderr.splitlines()[-1].endswith("this system has no /proc; measuring requires Linux")


@pytest.mark.parametrize(
    "arguments",
    [
        ("results", "strings-rounds"),
        ("report", str(GOLDEN / "jmeter" / "samples.jtl")),
        ("check",),
        ("list",),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_what_only_reads_works_without_what_only_linux_has(project: Path, arguments: tuple[str, ...]) -> None:
    done = run_code(PRELUDE + command_line(*arguments), root=project)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1)
    assert done.stdout.strip()


@pytest.mark.parametrize(
    "start",
    [command_line("list"), "import runpy; runpy.run_module('setup', run_name='__main__', alter_sys=True)"],
    ids=["rematch", "setup"],
)
def test_windows_gets_one_sentence_that_names_wsl(project: Path, start: str) -> None:
    done = run_code(WINDOWS + start, root=project)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "WSL" in done.stderr
