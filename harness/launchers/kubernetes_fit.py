# SPDX-License-Identifier: Apache-2.0
"""Whether a variant can run in pods of a cluster, and what of it is the program's own."""

from __future__ import annotations

from harness.launchers.arguments import ONLY_PODS
from harness.launchers.chosen import with_toolchain
from harness.launchers.kubernetes_access import no_ingress
from harness.launchers.kubernetes_autoscaler import no_autoscaler
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_start import no_boost
from harness.model import Implementation, RuntimeSettings, Variant


def unfit(cluster: Cluster, implementation: Implementation, runtime: RuntimeSettings) -> str | None:
    """Return what a variant needs that this cluster, or every pod, lacks; ``None``: nothing that is known."""
    return (
        no_boost(cluster, runtime)
        or no_ingress(cluster, runtime)
        or no_autoscaler(cluster, runtime)
        or _not_in_pods(implementation, runtime)
    )


def kind_of(implementation: Implementation, runtime: RuntimeSettings) -> str:
    """Return what executes the program in its pods: ``go``, ``jvm``, ``native`` or ``other``."""
    return "native" if runtime.form == "native" else implementation.runtime


def _not_in_pods(implementation: Implementation, runtime: RuntimeSettings) -> str | None:
    """Return what no pod of this launcher has, whatever the cluster."""
    if implementation.needs:
        return f"pods do not reach backing services of this machine: {', '.join(implementation.needs)}"
    if runtime.scale_from is not None and runtime.scale_from >= (runtime.replicas or 1):
        return f"scale_from = {runtime.scale_from} needs more replicas; found {runtime.replicas or 1}"
    if runtime.scale_from is not None and runtime.autoscale_cpu is not None:
        return "either scale_from or autoscale_cpu adds pods, not both"
    if runtime.aot_cache:
        return "an AOT cache belongs to the JDK that made it, and the pod has another one"
    if with_toolchain(implementation, runtime).toolchain is not None:
        return "a toolchain that a variant names is that of plain processes; the pod has another one"
    return None


def plain(variant: Variant) -> Variant:
    """Return the variant without what concerns pods and not the program."""
    without: dict[str, object] = dict.fromkeys(ONLY_PODS) | {"memory_limit": None}
    return variant.model_copy(update={"runtime": variant.runtime.model_copy(update=without)})


__all__ = ["kind_of", "plain", "unfit"]
