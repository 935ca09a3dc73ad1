# SPDX-License-Identifier: Apache-2.0
"""A small project that can be measured in moments: the misbehaving service, the fake generator, this machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness.measure.session
from harness.cli import main
from harness.measure.runner import Limits
from harness.measure.session import Assembly, Prepared, measure, prepare
from harness.places.hosts.local import LocalHost
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.store import SessionFolder, Store
from harness.tests.support.available import patient
from harness.tests.support.fakes import FakeLoadGenerator
from harness.tests.support.instances import CONTRACT, OBEYS_WITHIN_S, SERVICE, eventually, make_project

REPOSITORY = Path(__file__).resolve().parents[3]
#: A busy machine may hold up a process for seconds; what shall run into a limit names its own.
LIMITS = Limits(ready_s=30.0, load_factor=1.0, load_extra_s=30.0, generator_stop_s=0.5)

EXPERIMENT = """
name = "{name}"
title = "{title}"
question = "Does it hold?"
workload = "{workload}"
reference = "{reference}"
load = "{load}"
{more}
{variants}
[profiles.smoke]
blocks = {blocks}
{loads}"""


def make_empty_project(root: Path) -> Path:
    """Lay out a project without any workload, service or experiment."""
    (root / "harness" / "model").mkdir(parents=True, exist_ok=True)
    for marker in ("pyproject.toml", "requirements.lock"):
        (root / marker).write_text("")
    return root


def write_experiment(
    root: Path,
    name: str,
    workload: str,
    variants: Mapping[str, str],
    loads: Mapping[str, str],
    *,
    more: str = "",
    blocks: int = 1,
) -> Path:
    """Write an experiment, and the files that make its folder a project; return its file."""
    make_empty_project(root)
    file = root / "harness" / "experiments" / f"{name}.toml"
    file.parent.mkdir(exist_ok=True)
    text = EXPERIMENT.format(
        name=name, title=name.title(), workload=workload, reference=next(iter(variants)), load=next(iter(loads)),
        more=more, blocks=blocks,
        variants="".join(f"\n[variants.{variant}]\n{told}\n" for variant, told in variants.items()),
        loads="".join(f"\n[profiles.smoke.loads.{load}]\n{told}\n" for load, told in loads.items()),
    )  # fmt: skip
    file.write_text(text)
    return file


#: A factor of the tiny experiment, as TOML, whose levels are loads of one process: ``same_process = "load"``.
TWO_LOADS = """
[factors.load]
few = { load = "few" }
more = { load = "more" }

[profiles.smoke.loads.more]
generator = "locust"
profile = { model = "closed", users = 2, loops = 8 }
"""


def write_tiny(
    root: Path, workload: str, implementation: str, *, other: str, blocks: int = 1, loops: int, more: str = ""
) -> None:
    """Write the experiment ``tiny``: one implementation twice, ``other`` with settings of its own, as TOML."""
    calm = f'implementation = "{implementation}"'
    variants = {"calm": calm, "other": f"{calm}\nsettings = {{ {other} }}"}
    few = f'generator = "locust"\nprofile = {{ model = "closed", users = 2, loops = {loops} }}'
    write_experiment(root, "tiny", workload, variants, {"few": few}, more=more, blocks=blocks)


def make_session_project(
    root: Path, *, other: str = "", blocks: int = 1, loops: int = 5, echo: bool = False
) -> Path:
    """Lay out the project; ``other`` is what the variant of that name is told, as TOML."""
    make_project(root)
    write_tiny(root, "strings", "misbehaving", other=other, blocks=blocks, loops=loops)
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


def tiny_assembly(root: Path, launcher: ProcessLauncher | None = None, **more: Any) -> Assembly:
    """The fake load generator, and services that are processes of this machine unless the launcher has another."""
    launcher = launcher or ProcessLauncher(LocalHost(), root, Tools(), grace_s=OBEYS_WITHIN_S)
    parts: dict[str, Any] = {
        "host": launcher.host, "launcher": launcher, "generators": {"locust": FakeLoadGenerator},
        "places": {"root": root, "python_env": Path(sys.prefix)},
    }  # fmt: skip
    return Assembly(root=root, **(parts | more))


def tiny_session(root: Path, *, seed: int = 1) -> tuple[Assembly, Prepared]:
    assembly = tiny_assembly(root)
    return assembly, prepare(assembly, "tiny", profile="smoke", host="local", seed=seed)


def measure_tiny(root: Path, *, seed: int = 1, limits: Limits = LIMITS, **more: Any) -> SessionFolder:
    assembly, prepared = tiny_session(root, seed=seed)
    return measure(assembly, prepared, limits=limits, **more)


def measure_whole(assembly: Assembly, limits: Limits = LIMITS) -> SessionFolder:
    """Measure the tiny experiment to its end, and be sure that its files are whole and that nothing of it lives on."""
    prepared = prepare(assembly, "tiny", profile="smoke", host="local", seed=1)
    folder = measure(assembly, prepared, limits=limits)
    assert folder.complete and folder.verify() == ()
    assert eventually(lambda: not running_below(assembly.root))
    return folder


def tiny_folder(root: Path, seed: int = 1) -> SessionFolder:
    return Store(root).session("tiny", f"smoke-local-{seed}")


def command_line(root: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the command line on the project, as a user would in a terminal of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "harness.tests.support.sessions", *arguments],
        env={**os.environ, "REMATCH_ROOT": str(root), "PYTHONPATH": str(REPOSITORY)}, cwd=root,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=default_signals,
    )  # fmt: skip


def said(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end; return exit code, stdout, stderr."""
    out, err = process.communicate(timeout=patient(120))
    return process.returncode, out, err


def running_below(root: Path) -> list[int]:
    """Return the processes whose command line names the project's folder, this one left out."""
    return running_with(str(root))


def running_with(words: str) -> list[int]:
    """Return the processes, of any user, whose command line holds ``words``; not this one."""
    return [pid for pid, line in command_lines().items() if os.fsencode(words) in line and pid != os.getpid()]


def command_lines() -> dict[int, bytes]:
    """Return process id -> command line, its words ended by zeros, of all processes."""
    lines = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            lines[int(entry.name)] = (entry / "cmdline").read_bytes()
    return lines


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def default_signals() -> None:
    """A test runner started in the background hands ignored signals on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _main() -> None:
    vars(harness.measure.session)["assemble"] = lambda root, **_: tiny_assembly(root)
    main()


if __name__ == "__main__":
    _main()
