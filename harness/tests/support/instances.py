# SPDX-License-Identifier: Apache-2.0
"""Real instances for tests: a project folder with the misbehaving service, and ways to start it."""

from __future__ import annotations

import json
import shutil
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from harness.model import Implementation, Variant
from harness.model.started import SettingValue
from harness.places.hosts.local import LocalHost
from harness.places.hosts.measuring import MeasuringHost
from harness.places.launchers.base import Instance, Launcher, LaunchSpec
from harness.places.launchers.process import ProcessInstance, ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.tests.support.available import patient

SERVICE = Path(__file__).with_name("misbehaving_service")
CONTRACT = SERVICE / "contract"


def read_implementation(folder: Path) -> Implementation:
    said = tomllib.loads((folder / "service.toml").read_text())
    return Implementation.model_validate_json(json.dumps(said))


def make_project(root: Path) -> Path:
    """Lay out a project at ``root`` whose strings workload has the misbehaving service."""
    workload = root / "services" / "strings"
    shutil.copytree(CONTRACT, workload / "contract")
    (workload / "misbehaving").mkdir()
    for name in ("service.py", "service.toml"):
        shutil.copy2(SERVICE / name, workload / "misbehaving" / name)
    return root


ALauncher = TypeVar("ALauncher", bound=Launcher)
AnInstance = TypeVar("AnInstance", bound=Instance)


class Started(Generic[ALauncher, AnInstance]):
    """Instances of the misbehaving service, each with a folder on ``host``; ``close`` stops them all."""

    def __init__(
        self, root: Path, host: MeasuringHost, launcher: ALauncher, launch: Callable[[LaunchSpec], AnInstance]
    ) -> None:
        self.root, self.host, self.launcher, self._launch = root, host, launcher, launch
        self.implementation = read_implementation(root / "services/strings/misbehaving")
        self._started: list[AnInstance] = []
        self._folders: list[Path] = []

    def launch(self, **settings: SettingValue) -> AnInstance:
        return self.launch_variant(Variant(implementation="misbehaving", settings=settings))

    def launch_variant(
        self, variant: Variant, implementation: Implementation | None = None, **more: object
    ) -> AnInstance:
        implementation = implementation or self.implementation
        folder = self.root / f"trial-{len(self._folders) + 1}"
        folder.mkdir()
        order = LaunchSpec(
            implementation=implementation, variant=variant, build=self.launcher.build(implementation, variant),
            folder=self.host.open_folder(folder),
        ).model_copy(update=more)  # fmt: skip
        self._folders.append(folder)
        self._started.append(self._launch(order))
        return self._started[-1]

    def fetch(self) -> None:
        """Have the files of all instances in folders of this machine."""
        for folder in self._folders:
            self.host.close_folder(folder)

    def close(self) -> None:
        for instance in self._started:
            instance.stop()


#: An obedient service ends within it on a busy machine, too.
OBEYS_WITHIN_S = 2.5


class Project(Started[ProcessLauncher, ProcessInstance]):
    """A project with a launcher of processes on this machine."""

    def __init__(self, root: Path, *, grace_s: float = 2.0, tools: Tools | None = None) -> None:
        launcher = ProcessLauncher(LocalHost(), make_project(root), tools or Tools(), grace_s=grace_s)
        super().__init__(root, launcher.host, launcher, launcher.launch)


def eventually(holds: Callable[[], bool], within_s: float = 60.0) -> bool:
    """Wait until something holds; the limit is for a hanging test and is never what is tested."""
    deadline = time.monotonic() + patient(within_s)
    while True:
        asked_s = time.monotonic()
        if holds():
            return True
        now_s = time.monotonic()
        if now_s > deadline:
            return False
        time.sleep(min(0.05, max(0.005, 4 * (now_s - asked_s))))
