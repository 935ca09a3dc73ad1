# SPDX-License-Identifier: Apache-2.0
"""The sessions that faults meet: projects of their own with real services, two trials of a second each."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.errors import InputError
from harness.store import SessionFolder, Store
from harness.tests.chaos.faults.agents import end_agents
from harness.tests.chaos.faults.plan import Scene
from harness.tests.chaos.faults.sessions import CommandLine, Running, belonging_to
from harness.tests.support.machine import link, sshd
from harness.tests.support.machine.lacking import Lacking
from harness.tests.support.machine.link import Namespace
from harness.toolchains import Surroundings, find_tool

NAME = "faults"
#: Seed of the sessions that meet a fault; a scene measures those before it once without any.
NUMBER = 2
#: How the name of a scene's folder begins.
FOLDER = "rematch-faults-"
#: Beside what a session usually takes: a machine may be busy, and this limit is for one that hangs.
LONGEST_S = 180.0
#: The first session of a scene also builds.
LONGEST_CALM_S = 600.0
EXPERIMENT = """
name = "faults"
title = "Faults"
question = "Is anything lost?"
workload = "{workload}"
kind = "load"
reference = "{variant}"
mix = "{mix}"
load = "users"
{backing}

[variants.{variant}]
implementation = "{variant}"
settings = {{ {settings} }}
runtime = {{ {runtime} }}

[profiles.smoke]
blocks = 1

[profiles.smoke.loads.users]
generator = "{generator}"
profile = {{ model = "closed", users = 4, duration_s = {duration_s} }}
"""


@dataclass(frozen=True, kw_only=True)
class _Told:
    """What is measured in a scene, and with which tools."""

    workload: str
    variant: str
    mix: str
    generator: str = "wrk"
    settings: str = 'face = "matched"'
    runtime: str = ""
    backing: str = ""
    needs: tuple[str, ...] = ("go", "wrk")
    duration_s: float = 1
    grace_s: float = 5.0


_STRINGS = _Told(workload="strings", variant="go-nethttp", mix="hello")
#: Of wrk a second is the shortest load. No fault ends these sessions, and neither may a machine that is busy.
_TINY = _Told(
    workload="echo",
    variant="go-raw",
    mix="hello",
    generator="oha",
    settings="",
    needs=("go", "oha"),
    duration_s=0.1,
    grace_s=300.0,
)
_FAR: tuple[Scene, ...] = ("remote", "remote soak")
SCENES: Mapping[Scene, _Told] = MappingProxyType(
    {
        "strings": _STRINGS,
        "remote": _STRINGS,
        "soak": _TINY,
        "remote soak": _TINY,
        "bank": _Told(
            workload="bank",
            variant="go-pgx",
            mix="rematch",
            generator="k6",
            settings='face = "matched", connections = "pool", pool_size = 8',
            needs=("go", "k6", "postgres"),
        ),
    }
)


@dataclass
class Far:
    """A machine that is reached by SSH: this one, under another address where there can be one."""

    sshd: sshd.Sshd
    base: Path
    namespace: Namespace | None
    no_link: str | None
    grace_s: float


@dataclass
class Stage:
    """One scene ready to be measured: ``usual_s`` is how long a session without a fault takes."""

    scene: Scene
    root: Path
    line: CommandLine
    far: Far | None = None
    usual_s: float = 0.0
    host: str = "local"
    ours: frozenset[int] = field(default_factory=frozenset)

    def start(self, number: int, **more: Any) -> Running:
        """Start, or go on with, the session of a seed; ``more``: as the orders of ``prefork`` have it."""
        words = ("measure", NAME, "--profile", "smoke", "--seed", str(number), "--json")
        return self.line.start(words if self.host == "local" else (*words, "--host", self.host), more)

    def folder(self, number: int) -> SessionFolder:
        return Store(self.root).session(NAME, f"smoke-{self.host}-{number}")

    def left_running(self) -> tuple[str, ...]:
        """Return what belongs to the project and runs, one line each."""
        return tuple(f"{one.pid}: {words}" for one, words in belonging_to(self.root, but=self.ours))

    def forget(self, number: int) -> None:
        """Remove a session, so that the next one makes its folders again."""
        shutil.rmtree(self.folder(number).folder.parent, ignore_errors=True)


@contextlib.contextmanager
def stage(scene: Scene, clone: Path) -> Iterator[Stage]:
    """Lay out a scene and measure it once without a fault, so that everything is built.

    Raises:
        Lacking: a tool or a right is missing here, or a session without a fault does not complete.
        InputError: ``clone`` has no services.
    """
    told = SCENES[scene]
    if not Path("/proc/self/stat").exists():
        raise Lacking("faults need Linux: processes are found in /proc")
    around = Surroundings(project=clone)
    tools = {name: find_tool(name, around) for name in told.needs}
    for name, tool in tools.items():
        if not tool.usable:
            raise Lacking(f"{name} is missing; install it with: {tool.how_to_get}")
    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=FOLDER, dir="/var/tmp")))
        base.chmod(0o755)  # the database's own user has to reach what lies in it
        root = base / "project"
        lay_out(root, clone, told)
        generator = tools[told.generator].path
        far = stack.enter_context(_far(base, root, generator, told.grace_s)) if scene in _FAR else None
        line = stack.enter_context(CommandLine(root, base))
        ready = Stage(scene, root, line, far, host="local" if far is None else "far")
        ready.ours = frozenset(one.pid for one, _ in belonging_to(root))
        for number in (0, 1):  # the first one also builds
            ready.usual_s = _calm(ready, number)
        for number in (0, 1):
            ready.forget(number)
        yield ready


def _calm(ready: Stage, number: int) -> float:
    """Measure a session without a fault; return how long it took."""
    running = ready.start(number)
    if not running.ended(LONGEST_CALM_S):
        running.kill()
        raise Lacking(f"a session without a fault takes longer than {LONGEST_CALM_S:.0f} s")
    took_s, said = time.monotonic() - running.began_s, running.result()
    if said.code != 0 or not ready.folder(number).complete:
        raise Lacking(f"a session without a fault ends with {said.code}: {said.stderr.strip()[-300:]}")
    return took_s


def lay_out(root: Path, clone: Path, told: _Told) -> None:
    """Make a project with one workload; what is built is kept in the clone's own cache.

    Raises:
        InputError: the clone has no such services (an installed package has none).
    """
    services = clone / "services" / told.workload
    if not services.is_dir():
        raise InputError("has no services to measure", file=services, allowed="a clone of the project")
    # go-raw of strings has its source in the folder of another workload, which is not laid out here
    without = shutil.ignore_patterns(
        "target", "node_modules", *(("go-raw",) if told.workload == "strings" else ())
    )
    shutil.copytree(services, root / "services" / told.workload, ignore=without)
    for name in ("harness/model", "harness/experiments", "data/raw", ".cache/running", "tmp"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    for name in ("pyproject.toml", "requirements.lock"):
        (root / name).write_text("")
    for name in (".cache/builds", ".tools"):
        (clone / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(clone / name, target_is_directory=True)
    said = EXPERIMENT.format(
        workload=told.workload, variant=told.variant, mix=told.mix, backing=told.backing, settings=told.settings,
        generator=told.generator, runtime=told.runtime, duration_s=told.duration_s,
    )  # fmt: skip
    (root / "harness" / "experiments" / f"{NAME}.toml").write_text(said)


@contextlib.contextmanager
def _far(base: Path, root: Path, generator: Path | None, grace_s: float) -> Iterator[Far]:
    """An sshd that finds the load tool, and ``hosts.toml``, which calls it ``far``."""
    no_link = link.why_not()
    with contextlib.ExitStack() as stack:
        namespace = None
        if no_link is None:
            namespace = Namespace()
            stack.callback(namespace.remove)
            namespace.make()
        address = "127.0.0.1" if namespace is None else namespace.far
        home = base / "home"
        home.mkdir()
        # none of the user's own start-up files: they take time, and can be left locked when a fault kills them
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        if generator is not None:
            environment["PATH"] = f"{generator.parent}:{environment['PATH']}"
        server = sshd.Sshd(
            base / "sshd", address=address, prefix=namespace.prefix if namespace else (),
            environment=environment,
        )  # fmt: skip
        server.start()
        stack.callback(server.die)
        far = Far(
            sshd=server,
            base=root / "far",
            namespace=namespace,
            no_link=no_link,
            grace_s=grace_s,
        )
        write_hosts(root, far)
        stack.callback(end_agents, far.base)  # of a session that was killed: they wait for it
        yield far


def write_hosts(root: Path, far: Far) -> None:
    """Write ``hosts.toml``."""
    (root / "hosts.toml").write_text(
        f'[hosts.far]\naddress = "{far.sshd.address}"\nport = {far.sshd.port}\nuser = "{getpass.getuser()}"\n'
        f'key = "{far.sshd.folder}/client_key"\nknown_hosts = "{far.sshd.folder}/known_hosts"\n'
        f'folder = "{far.base}"\ngrace_s = {far.grace_s!r}\n'
    )
