# SPDX-License-Identifier: Apache-2.0
"""Namespaces of sessions: whose they are, and which of them nobody needs any more."""

from __future__ import annotations

from pathlib import Path

from harness.agent.machine_info import hostname_hash
from harness.agent.processes import alive
from harness.launchers.docker_engine import owner
from harness.launchers.images import project_label
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_objects import OWNER, PROJECT


def labels_here(root: Path) -> dict[str, str]:
    """Return what names this project and this very process on all that is made in a cluster."""
    return {PROJECT: project_label(root), OWNER: owner().replace(":", ".")}


def sweep(cluster: Cluster, root: Path, *, living: bool = False) -> list[str]:
    """Remove this project's namespaces whose harness is gone and return their names.

    ``living``: also those of a harness that still runs.
    """
    gone = []
    for namespace in cluster.namespaces({PROJECT: project_label(root)}):
        labels = (namespace.metadata.labels if namespace.metadata is not None else None) or {}
        if (
            namespace.metadata is not None
            and namespace.metadata.name
            and (living or _owner_gone(labels.get(OWNER, "")))
        ):
            gone.append(namespace.metadata.name)
    cluster.remove_namespaces(gone)
    return gone


def _owner_gone(said: str) -> bool:
    pid, _, rest = said.partition(".")
    ticks, _, machine = rest.partition(".")
    if machine not in ("", hostname_hash()) or not (pid.isdigit() and ticks.isdigit()):
        return False
    return not alive(int(pid), int(ticks))


__all__ = ["labels_here", "sweep"]
