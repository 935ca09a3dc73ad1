# SPDX-License-Identifier: Apache-2.0
"""A machine on which Linux-only calls and folders are not there, and one that says it is Windows: for child processes.

``PRELUDE`` runs before anything of the project is imported. psutil has ways of its own on every system, so what it
reads stays readable to it alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: Functions of ``os`` that macOS lacks, and modules that Windows lacks.
LINUX_ONLY = (
    "eventfd", "memfd_create", "pidfd_open", "posix_fadvise", "posix_fallocate", "prlimit", "sched_getaffinity",
    "sched_setaffinity", "setns", "setresuid", "splice", "timerfd_create", "unshare", "waitid",
)  # fmt: skip
UNIX_ONLY = ("fcntl", "grp", "pwd", "resource", "termios")
HIDDEN = ("/proc", "/sys", "/dev/shm")

PRELUDE = f"""
import os, sys
import psutil, sysconfig, urllib.request
sysconfig.get_config_vars()  # is read from a file named after the real platform
for name in {LINUX_ONLY!r}:
    if hasattr(os, name):
        delattr(os, name)

def hidden(path):
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
    return any(text == folder or text.startswith(folder + "/") for folder in {HIDDEN!r})

def for_psutil():
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "psutil":
            return True
        frame = frame.f_back
    return False

def refuse(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and arguments and hidden(arguments[0]) and not for_psutil():
        raise FileNotFoundError(2, "No such file or directory", arguments[0])
    if event == "ctypes.dlsym" and arguments[1] == "prctl":
        raise AttributeError("dlsym: symbol not found: prctl")

def looking(call):
    def checked(path, *rest, **named):
        if hidden(path) and not for_psutil():
            raise FileNotFoundError(2, "No such file or directory", path)
        return call(path, *rest, **named)
    return checked

for name in ("stat", "lstat", "access", "readlink"):
    setattr(os, name, looking(getattr(os, name)))
sys.addaudithook(refuse)
sys.platform = "darwin"
"""

WINDOWS = f"""
import sys
sys.platform = "win32"
for name in {UNIX_ONLY!r}:
    sys.modules[name] = None
"""


def run_code(code: str, *, root: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh Python whose project is ``root``; its output as text."""
    here = Path(__file__).resolve().parents[3]
    environ = {**os.environ, "PYTHONPATH": str(here), "REMATCH_ROOT": str(root), "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd or root,
        env=environ,
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def command_line(*arguments: str) -> str:
    """Return code that runs ``rematch`` with these arguments."""
    return f"import sys; sys.argv = ['rematch', *{arguments!r}]; from harness.cli import main; main()"
