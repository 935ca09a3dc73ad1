# SPDX-License-Identifier: Apache-2.0
"""Projects with real services whose sessions faults meet: two trials of a second each."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from harness.store import SessionFolder, Store
from harness.tests.support.available import patient, program_or_not_run
from harness.tests.support.postgres import reachable_folder
from harness.tests.support.real_projects import NAME, POOL, load, project_of
from harness.tests.support.sessions import REPOSITORY, default_signals, read_json

#: A session usually takes some seconds, and some more when it builds: this limit is for one that hangs.
LONGEST_S = 180.0
#: How long what a session started may take to end after it.
GONE_WITHIN_S = 30.0
#: Scene -> workload, implementation, settings, mix, load tool, seconds of load. Of wrk a second is the shortest load.
SCENES = {
    "strings": ("strings", "go-nethttp", 'face = "matched"', "hello", "wrk", 1.0),
    "clients": ("clients", "go-nethttp", 'face = "matched"', "hello", "wrk", 1.0),
    "bank": ("bank", "go-pgx", POOL, "rematch", "k6", 1.0),
    "soak": ("echo", "go-raw", "", "hello", "oha", 0.1),
}
UPSTREAM = '[backing]\nmax_connections = 33\nseed = "movies"'


@dataclass
class Stage:
    """One project ready to be measured, by one session at a time: the command line of ``process``."""

    root: Path
    before: dict[str, str] = field(default_factory=dict)
    struck_epoch_s: float = 0.0
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def folder(self) -> SessionFolder:
        return Store(self.root).session(NAME, "smoke-local-1")

    def start(self, *words: str, **changes: Mapping[str, object]) -> None:
        """Start the session, or go on with it; ``changes``: as ``altered`` has them."""
        argv = [
            sys.executable, "-m", "harness.tests.chaos.altered", json.dumps(changes), "measure", NAME, "--profile",
            "smoke", "--seed", "1", "--host", "local", "--json", *words,
        ]  # fmt: skip
        environment = {
            **os.environ, "REMATCH_ROOT": str(self.root), "PYTHONPATH": str(REPOSITORY), "COLUMNS": "80",
            "TMPDIR": str(self.root / "tmp"),
        }  # fmt: skip
        folder = self.root.parent
        with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                argv, cwd=self.root, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                start_new_session=True, preexec_fn=default_signals,
            )  # fmt: skip

    def ended(self, within_s: float = 0.0) -> bool:
        """Wait until the session has ended, at most so long; return whether it has."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(within_s)
        return self.process.returncode is not None

    def text(self, stream: str) -> str:
        """Return what the session wrote to ``stdout`` or ``stderr``."""
        return (self.root.parent / stream).read_text("utf-8", errors="replace")

    def finished(self) -> dict[str, str]:
        """Return the SHA-256 of the plan and of each file of each finished trial."""
        folder = self.folder.folder
        trials = [path.parent for path in folder.glob("[0-9]*/record.json")]
        files = [folder / "session.json", *(path for trial in trials for path in trial.rglob("*"))]
        return {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if path.is_file()
        }

    def mark(self) -> None:
        """Note what is finished right before the blow."""
        self.before, self.struck_epoch_s = self.finished(), time.time()

    def n_finished(self) -> int:
        """Return how many trials have a record."""
        return len(list(self.folder.folder.glob("[0-9]*/record.json")))

    def running(self, role: str) -> psutil.Process | None:
        """Return the process of a role: ``service``, ``generator``, ``database`` or ``upstream``."""
        for note in (self.root / ".cache/running").glob("*.json"):
            # it is being written, or gone
            with contextlib.suppress(OSError, ValueError, KeyError, psutil.Error):
                about = read_json(note)
                process = psutil.Process(about["pid"])
                if role_of(about["role"]) == role and process.status() != psutil.STATUS_ZOMBIE:
                    return process
        return None

    def under_load(self, n_finished: int = 1) -> None:
        """Wait until so many trials are finished and the load of the next one runs."""
        until = time.monotonic() + patient(LONGEST_S)
        while self.n_finished() < n_finished or not self.running("generator"):
            alive = not self.ended(0.01) and time.monotonic() < until
            assert alive, f"it ended, or hangs, before its load: {self.text('stderr')}"

    def left_running(self) -> list[str]:
        """Return what still belongs to the project after some patience: process id and command line."""
        until = time.monotonic() + patient(GONE_WITHIN_S)
        while (left := belonging_to(self.root)) and time.monotonic() < until:
            time.sleep(0.02)
        return [f"{pid}: {words}" for pid, words in left.items()]

    def clear(self) -> None:
        """End what is left, and remove the session, so that the next one makes its folders again."""
        for pid in belonging_to(self.root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.left_running()
        shutil.rmtree(self.folder.folder.parent, ignore_errors=True)


def role_of(noted: str) -> str:
    """Return the role of a noted process."""
    if noted in ("database", "upstream"):
        return noted
    return "generator" if noted.startswith("load generator") else "service"


def belonging_to(root: Path) -> dict[int, str]:
    """Return the processes that name a folder on their command line or in their environment, or work in it."""
    named: dict[int, str] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            words = process.cmdline()
            texts = list(words)
            with contextlib.suppress(psutil.AccessDenied):
                texts += [process.cwd(), *process.environ().values()]
            if any(str(root) in text for text in texts):
                named[process.pid] = " ".join(words)[:200]
    return named


@contextlib.contextmanager
def stage(scene: str) -> Iterator[Stage]:
    """Lay out a scene; in the end nothing of it runs. Where a tool is missing, the test says that it was not run."""
    workload, implementation, settings, mix, tool, duration_s = SCENES[scene]
    backed = scene in ("bank", "clients")
    for name in ("go", tool, *(("postgres",) * backed)):
        program_or_not_run(name)
    with contextlib.ExitStack() as stack:
        base = stack.enter_context(reachable_folder())
        root = project_of(
            base / "project", workload, {implementation: settings}, mix=mix, echo=scene == "soak",
            backing=UPSTREAM if scene == "clients" else "",
            loads={"users": load(tool, f"users = 4, duration_s = {duration_s}")},
        )  # fmt: skip
        (root / "tmp").mkdir()
        (root / "tmp").chmod(0o1777)
        ready = Stage(root)
        stack.callback(ready.clear)
        yield ready
