# SPDX-License-Identifier: Apache-2.0
"""Instances in pods for tests: a project with the misbehaving and the late service, in a namespace of its own."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

from lightkube.resources.core_v1 import Namespace

from harness.hosts.local import LocalHost
from harness.launchers.base import LaunchSpec
from harness.launchers.images import is_elf, lay_out, libraries
from harness.launchers.kubernetes import KubernetesLauncher
from harness.launchers.kubernetes_cluster import PROJECT, Cluster, kubeconfig, labels_here
from harness.launchers.kubernetes_instance import KubernetesInstance
from harness.launchers.process import ProcessLauncher
from harness.launchers.tools import Tools, tools_among
from harness.model import Implementation, RuntimeSettings, Variant
from harness.model.started import SettingValue
from harness.tests.support.available import PROJECT as SOURCE
from harness.tests.support.instances import (
    OBEYS_WITHIN_S,
    SERVICE,
    Started,
    make_project,
    read_implementation,
)
from harness.toolchains import Surroundings, find_jdks, find_tool

LATE = SERVICE.with_name("late_service")


def python_root(folder: Path) -> Path:
    """Lay out a folder with this Python, its standard library and what it loads, and return it."""
    program = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib")).resolve()
    unwanted = shutil.ignore_patterns(
        "site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip", "tkinter", "lib2to3",
        "config-*", "__pycache__", "turtledemo", "pydoc_data",
    )  # fmt: skip
    inside = folder / library.relative_to("/")
    shutil.copytree(library, inside, ignore=unwanted)
    files = [file for file in inside.rglob("*.so") if is_elf(file)]
    lay_out(folder, [program, *libraries(LocalHost(), [program, *files])])
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "python3").symlink_to(program)
    return folder


def cluster_here() -> Cluster:
    """Return the cluster that KUBECONFIG names."""
    file = kubeconfig()
    assert file is not None, "only asked for with a kubeconfig"
    return Cluster(file)


class Clustered(Started[KubernetesInstance]):
    """A project with a launcher of pods; ``close`` is sure that its namespace is gone."""

    def __init__(self, root: Path, base: Path) -> None:
        make_project(root)
        shutil.copytree(LATE, root / "services/strings/late")
        around = Surroundings(project=SOURCE)
        tools: Tools = tools_among([find_tool(name, around) for name in ("go",)], find_jdks(around))
        self._launcher = KubernetesLauncher(
            ProcessLauncher(LocalHost(), root, tools), root, bases={"other": base}, grace_s=OBEYS_WITHIN_S
        )
        super().__init__(root, self._launcher.host, self._launcher.launch)

    @property
    def launcher(self) -> KubernetesLauncher:
        return self._launcher

    def launch_late(
        self, variant_runtime: Variant | None = None, **settings: SettingValue
    ) -> KubernetesInstance:
        """Launch the service that listens only after a while."""
        late = read_implementation(self.root / "services/strings/late")
        variant = (variant_runtime or Variant(implementation="late")).model_copy(
            update={"settings": settings}
        )
        folder = self.root / f"late-{len(self._started) + 1}"
        folder.mkdir()
        order = LaunchSpec(
            implementation=late, variant=variant, build=self._launcher.build(late, variant), folder=folder
        )
        self._started.append(self._launcher.launch(order))
        return self._started[-1]

    def late_variant(self, **runtime: object) -> tuple[Implementation, Variant]:
        """Return that service with these runtime settings."""
        settings = RuntimeSettings.model_validate(runtime)
        return (
            read_implementation(self.root / "services/strings/late"),
            Variant(implementation="late", runtime=settings),
        )

    def namespaces(self) -> list[str]:
        """Return the namespaces of this project that the cluster has."""
        cluster = cluster_here()
        try:
            wanted = {PROJECT: labels_here(self.root)[PROJECT]}
            return [
                str(one.metadata.name)
                for one in cluster.objects(Namespace, labels=wanted)
                if one.metadata is not None
            ]
        finally:
            cluster.close()

    def close(self) -> None:
        super().close()
        self._launcher.close()
        assert self.namespaces() == []
