# SPDX-License-Identifier: Apache-2.0
"""Real instances for tests: a project folder with the misbehaving service, and ways to start it."""

from __future__ import annotations

import json
import shutil
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

from harness.launchers.base import LaunchOrder
from harness.launchers.process import ProcessLauncher
from harness.launchers.process_instance import ProcessInstance
from harness.launchers.tools import Tools
from harness.local_host import LocalHost
from harness.model import Implementation, Variant
from harness.model.backing import SettingValue

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
    for name in ("service.py", "service.toml", "Dockerfile"):
        shutil.copy2(SERVICE / name, workload / "misbehaving" / name)
    return root


class Project:
    """A project with a launcher; every instance it started is stopped by ``close``."""

    def __init__(self, root: Path, *, grace_s: float = 2.0, tools: Tools | None = None) -> None:
        self.root = make_project(root)
        self.host = LocalHost()
        self.launcher = ProcessLauncher(self.host, root, tools or Tools(), grace_s=grace_s)
        self.implementation = read_implementation(root / "services/strings/misbehaving")
        self._started: list[ProcessInstance] = []

    def launch(self, **settings: SettingValue) -> ProcessInstance:
        return self.launch_variant(Variant(implementation="misbehaving", settings=settings))

    def launch_variant(self, variant: Variant, **more: object) -> ProcessInstance:
        folder = self.root / f"trial-{len(self._started) + 1}"
        folder.mkdir()
        order = LaunchOrder(
            implementation=self.implementation,
            variant=variant,
            build=self.launcher.build(self.implementation, variant),
            folder=folder,
        ).model_copy(update=more)
        self._started.append(self.launcher.launch(order))
        return self._started[-1]

    def close(self) -> None:
        for instance in self._started:
            instance.stop()


def eventually(holds: Callable[[], bool], within_s: float = 10.0) -> bool:
    """Wait until something holds; the limit is for a hanging test and is never what is tested."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
