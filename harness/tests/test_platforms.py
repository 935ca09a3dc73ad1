# SPDX-License-Identifier: Apache-2.0
"""Reading, reporting and teaching need no Linux; Windows gets one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from harness.import_closure import closure, module_path
from harness.tests.support.available import only_when_long
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


def test_a_process_is_started_sampled_and_stopped_where_there_is_no_proc(tmp_path: Path) -> None:
    code = PRELUDE + dedent(
        f"""
        import csv, sys, time
        from pathlib import Path
        from harness.agent.sampler import Watched
        from harness.hosts.base import Command
        from harness.hosts.local import LocalHost
        folder, host = Path({str(tmp_path)!r}), LocalHost()
        held = "held = bytearray(b'x') * (64 << 20); import time; time.sleep(600)"
        process = host.spawn(Command(argv=(sys.executable, "-c", held), folder=folder))
        watched = Watched(pid=process.pid, start_ticks=process.start_ticks)
        sampler = host.sampler(folder / "samples.csv", folder / "machine.csv", 50.0)
        sampler.add("service", watched)
        while host.resources(watched).rss_bytes < 64 << 20:
            time.sleep(0.02)
        reading = host.resources(watched)
        def samples():
            lines = (folder / "samples.csv").read_text().splitlines()
            return [row for row in csv.DictReader(lines) if row["role"] == "service" and row["rss_bytes"]]
        # a busy machine may take its next sample late
        while not any(int(row["rss_bytes"]) >= 64 << 20 for row in samples()):
            time.sleep(0.02)
        process.stop(5.0)
        print(sampler.stop().ticks_by, reading.pss_bytes, reading.n_threads)
        rows = samples()
        machine = list(csv.DictReader((folder / "machine.csv").open()))[-1]
        print(max(int(row["rss_bytes"]) for row in rows) >= 64 << 20, host.resources(watched).rss_bytes)
        print(float(machine["total_cpu_s"]) > 0, repr(machine["psi_cpu_some_s"]), repr(machine["throttled_s"]))
        """
    )
    done = run_code(code, root=ROOT)
    assert done.stdout.splitlines() == ["portable None 1", "True None", "True '' ''"], done.stderr


def test_a_check_says_what_a_trial_cannot_record_there(project: Path) -> None:
    done = run_code(PRELUDE + command_line("check", "--json"), root=project)
    sampling = json.loads(done.stdout)["sampling"]
    assert sampling["ticks_by"] == "portable"
    assert all(
        word in sampling["reason"] for word in ("proportional memory", "pressure", "steal", "throttling")
    )


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
    "name",
    [
        "workshop/02-one-trial",
        # what every question imports is looked through above, in every run
        *(
            pytest.param(name, marks=only_when_long("one more notebook without what only Linux has"))
            for name in ("30-strings", "40-warm-up")
        ),
    ],
)
def test_notebooks_are_executed_without_what_only_linux_has(project: Path, name: str) -> None:
    code = (
        PRELUDE
        + "from pathlib import Path\nfrom harness.tests.support.in_process import execute_in_process\n"
        + f"execute_in_process(Path({str(project)!r}), {name!r}, profile='newest')\nprint('executed')"
    )
    done = run_code(code, root=project)
    assert done.returncode == 0, done.stderr
    assert "strings-rounds: measured here, session smoke-local-1" in done.stdout
    assert done.stdout.endswith("executed\n")


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
