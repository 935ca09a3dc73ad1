# SPDX-License-Identifier: Apache-2.0
"""Instances in pods for tests: a project with the misbehaving and the late service, in a namespace of its own."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from lightkube.resources.core_v1 import Namespace

from harness.places.hosts.local import LocalHost
from harness.places.launchers.images import project_label
from harness.places.launchers.kubernetes import KubernetesLauncher
from harness.places.launchers.kubernetes_cluster import PROJECT, Cluster, kubeconfig
from harness.places.launchers.kubernetes_instance import KubernetesInstance
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools, tools_among
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


class Clustered(Started[KubernetesLauncher, KubernetesInstance]):
    """A project with a launcher of pods; ``close`` is sure that its namespace is gone."""

    def __init__(self, root: Path, base: Path) -> None:
        make_project(root)
        shutil.copytree(LATE, root / "services/strings/late")
        around = Surroundings(project=SOURCE)
        tools: Tools = tools_among([find_tool(name, around) for name in ("go",)], find_jdks(around))
        launcher = KubernetesLauncher(
            ProcessLauncher(LocalHost(), root, tools), root, bases={"other": base}, grace_s=OBEYS_WITHIN_S
        )
        super().__init__(root, launcher.host, launcher, launcher.launch)
        self.late = read_implementation(root / "services/strings/late")

    def close(self) -> None:
        super().close()
        self.launcher.close()
        file = kubeconfig()
        assert file is not None, "only asked for with a kubeconfig"
        with contextlib.closing(Cluster(file)) as cluster:
            assert cluster.objects(Namespace, labels={PROJECT: project_label(self.root)}) == []
