# SPDX-License-Identifier: Apache-2.0
"""A small project that can be measured in moments: the misbehaving service, the fake generator, this machine.

Run as a program it is the command line on that project: ``python -m harness.tests.support.sessions measure tiny``
with ``REMATCH_ROOT`` set to the project's folder.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness.session
from harness.hosts.local import LocalHost
from harness.launchers.process import ProcessLauncher
from harness.launchers.tools import Tools
from harness.runner import Limits
from harness.session import Assembly, Prepared, measure, prepare
from harness.store import SessionFolder, Store
from harness.tests.support.fakes import FakeLoadGenerator
from harness.tests.support.instances import CONTRACT, OBEYS_WITHIN_S, SERVICE, make_project
from harness.tests.support.patience import patient
from harness.toolchains import Tool

REPOSITORY = Path(__file__).resolve().parents[3]
#: A busy machine may hold up a process for seconds; what shall run into a limit names its own.
LIMITS = Limits(ready_s=30.0, load_factor=1.0, load_extra_s=30.0, generator_stop_s=0.5)

TINY = """
name = "tiny"
title = "Tiny"
question = "Does a session hold?"
workload = "strings"
reference = "calm"
load = "few"

[variants.calm]
implementation = "misbehaving"

[variants.other]
implementation = "misbehaving"
settings = { %s }

[profiles.smoke]
blocks = %d

[profiles.smoke.loads.few]
generator = "locust"
profile = { model = "closed", users = 2, loops = %d }
"""


def make_session_project(
    root: Path, *, other: str = "", blocks: int = 1, loops: int = 5, echo: bool = False
) -> Path:
    """Lay out the project; ``other`` is what the variant of that name is told, as TOML."""
    make_project(root)
    (root / "harness" / "model").mkdir(parents=True)
    (root / "pyproject.toml").write_text("")
    (root / "requirements.lock").write_text("")
    experiments = root / "harness" / "experiments"
    experiments.mkdir()
    (experiments / "tiny.toml").write_text(TINY % (other, blocks, loops))
    if echo:
        shutil.copytree(CONTRACT, root / "services" / "echo" / "contract")
        raw = root / "services" / "echo" / "go-raw"
        raw.mkdir()
        shutil.copy2(SERVICE / "service.py", raw)
        toml = (SERVICE / "service.toml").read_text()
        toml = toml.replace('"misbehaving"', '"go-raw"').replace('"strings"', '"echo"')
        # the fake answers as the contract has it whatever it is told; a flag it ignores takes the body
        (raw / "service.toml").write_text(f'{toml}body = "--log-file={{value}}"\n')
    return root


def calm_alone(root: Path) -> Path:
    """Leave a project of one variant; it, and its A/A duplicate, are enough where all variants would do the same."""
    file = root / "harness" / "experiments" / "tiny.toml"
    file.write_text(file.read_text().replace("[profiles.smoke]\n", '[profiles.smoke]\nvariants = ["calm"]\n'))
    return root


def without_duplicates(prepared: Prepared) -> Prepared:
    """Leave the A/A duplicates out of a plan; a session that is to be gone on with needs all of its plan."""
    trials = tuple(trial for trial in prepared.plan.trials if not trial.duplicate)
    return replace(prepared, plan=prepared.plan.model_copy(update={"trials": trials}))


def tiny_assembly(root: Path) -> Assembly:
    host = LocalHost()
    return Assembly(
        root=root,
        host=host,
        launcher=ProcessLauncher(host, root, Tools(), grace_s=OBEYS_WITHIN_S),
        generators={"locust": FakeLoadGenerator},
        places={"root": root, "python_env": Path(sys.prefix)},
    )


def tiny_session(root: Path, *, seed: int = 1) -> tuple[Assembly, Prepared]:
    assembly = tiny_assembly(root)
    return assembly, prepare(assembly, "tiny", profile="smoke", host="local", seed=seed)


def measure_tiny(root: Path, *, seed: int = 1, limits: Limits = LIMITS, **more: Any) -> SessionFolder:
    assembly, prepared = tiny_session(root, seed=seed)
    return measure(assembly, prepared, limits=limits, **more)


def tiny_folder(root: Path, seed: int = 1) -> SessionFolder:
    return Store(root).session("tiny", f"smoke-local-{seed}")


def command_line(root: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the command line on the project, as a user would in a terminal of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "harness.tests.support.sessions", *arguments],
        env={**os.environ, "REMATCH_ROOT": str(root), "PYTHONPATH": str(REPOSITORY)},
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=default_signals,
    )


def said(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end; return exit code, stdout, stderr."""
    out, err = process.communicate(timeout=patient(120))
    return process.returncode, out, err


def running_below(root: Path) -> list[int]:
    """Return the processes whose command line names the project's folder, this one left out."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(root) in words:
                found.append(int(entry.name))
    return found


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def default_signals() -> None:
    """A test runner started in the background hands ignored signals on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _main() -> None:
    def assemble(
        root: Path,
        *,
        host: str = "local",
        launcher: str = "process",
        load_host: str | None = None,
        database_host: str | None = None,
        tools: tuple[Tool, ...] | None = None,
    ) -> Assembly:
        return tiny_assembly(root)

    harness.session.assemble = assemble
    from harness.cli import main

    main()


if __name__ == "__main__":
    _main()
