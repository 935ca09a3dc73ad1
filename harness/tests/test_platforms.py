# SPDX-License-Identifier: Apache-2.0
"""Reading, reporting and teaching need no Linux; Windows gets one sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.import_closure import closure, module_path
from harness.tests.support.synthetic import ROOT, make_project

#: Functions of ``os`` that macOS lacks, and modules that Windows lacks.
LINUX_ONLY = (
    "eventfd", "memfd_create", "pidfd_open", "posix_fadvise", "posix_fallocate", "prlimit", "sched_getaffinity",
    "sched_setaffinity", "setns", "setresuid", "splice", "timerfd_create", "unshare", "waitid",
)  # fmt: skip
UNIX_ONLY = ("fcntl", "grp", "pwd", "resource", "termios")
#: Runs before anything of the project is imported: no such function, folder or call of the kernel, and another name of
#: the system. psutil has ways of its own on every system, so what it reads stays readable to it alone.
WITHOUT_LINUX = f"""
import os, sys
import psutil, sysconfig, urllib.request
sysconfig.get_config_vars()  # is read from a file named after the real platform
for name in {LINUX_ONLY!r}:
    if hasattr(os, name):
        delattr(os, name)

def refuse(path):
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
    if not any(text == folder or text.startswith(folder + "/") for folder in ("/proc", "/sys", "/dev/shm")):
        return
    frame = sys._getframe(2)  # who called the function of os
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "psutil":
            return
        frame = frame.f_back
    raise FileNotFoundError(2, "No such file or directory", path)

def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and arguments:
        refuse(arguments[0])
    if event == "ctypes.dlsym" and arguments[1] == "prctl":
        raise AttributeError("dlsym: symbol not found: prctl")

def looking(call):
    return lambda path, *rest, **named: refuse(path) or call(path, *rest, **named)

for name in ("stat", "lstat", "access", "readlink"):
    setattr(os, name, looking(getattr(os, name)))
sys.addaudithook(hook)
sys.platform = "darwin"
"""
ON_WINDOWS = f"""
import sys
sys.platform = "win32"
for name in {UNIX_ONLY!r}:
    sys.modules[name] = None
"""
#: What only Linux has, as it stands in a source: functions of ``os``, calls of the kernel, its files.
LINUX_CALLS = re.compile(
    rf"os\.({'|'.join(LINUX_ONLY)})\b|\bprctl\b|\bcpu_clock\b|[\"']/(proc|sys)/|\bPROC\b|pidfd_send_signal"
)
#: Where reading, reporting and teaching begin.
READING = ("harness.report.output", "harness.report.html", "harness.notebook", "harness.analysis.tables.tidy")


def run_code(code: str, root: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh Python whose project is ``root``."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "REMATCH_ROOT": str(root), "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environ, text=True, stdin=subprocess.DEVNULL, capture_output=True,
        check=False,
    )  # fmt: skip


def command_line(*arguments: str) -> str:
    """Return code that runs ``rematch`` with these arguments."""
    return f"import sys; sys.argv = ['rematch', *{arguments!r}]; from harness.cli import main; main()"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a made-up session of the rounds."""
    return make_project(tmp_path_factory.mktemp("mac"), profile="smoke", experiments=("strings-rounds",))


def test_what_reads_reports_and_teaches_makes_no_call_that_only_linux_has() -> None:
    questions = (ROOT / "harness" / "questions").glob("*/__init__.py")
    modules = closure(ROOT, {*READING, *(f"harness.questions.{path.parent.name}" for path in questions)})
    assert len(modules) > 100
    paths = {module: module_path(ROOT, module) for module in modules}
    calling = {
        module for module, path in paths.items() if path and LINUX_CALLS.search(path.read_text("utf-8"))
    }
    # these two ask first, or find nothing
    assert calling <= {"harness.agent.platforms", "harness.agent.machine_info"}


def test_measuring_is_refused_where_the_kernel_shows_no_processes() -> None:
    code = "from harness.measure.session.measuring import refuse_other_systems\nrefuse_other_systems()"
    done = run_code(WITHOUT_LINUX + code, ROOT)
    assert done.stderr.splitlines()[-1].endswith("this system has no /proc; measuring requires Linux")


@pytest.mark.parametrize(
    "arguments",
    [
        ("results", "strings-rounds"),
        ("report", str(ROOT / "harness/tests/golden/jmeter/samples.jtl")),
        ("check",),
        ("list",),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_what_only_reads_works_without_what_only_linux_has(project: Path, arguments: tuple[str, ...]) -> None:
    done = run_code(WITHOUT_LINUX + command_line(*arguments), project)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1)
    assert done.stdout.strip()


@pytest.mark.parametrize(
    "start",
    [command_line("list"), "import runpy; runpy.run_module('setup', run_name='__main__', alter_sys=True)"],
    ids=["rematch", "setup"],
)
def test_windows_gets_one_sentence_that_names_wsl(tmp_path: Path, start: str) -> None:
    done = run_code(ON_WINDOWS + start, tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "WSL" in done.stderr
