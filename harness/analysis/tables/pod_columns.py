# SPDX-License-Identifier: Apache-2.0
"""What a trial's pods say: three clocks of their start, requests by pod, and what their control groups counted."""

from __future__ import annotations

import math
from collections.abc import Iterable

from harness.model import GroupReading, KubernetesRecord, TrialRecord


def pod_columns(record: TrialRecord) -> dict[str, object]:
    """Return the columns of pods; none of a trial outside a cluster.

    ``last_pod_*`` are moments since the pods were asked for, of the last pod, and empty where one of them lacks it:
    a pod that never served is censored, and no later pod stands for it. Where the harness asked for more pods when the
    first had served, they count from then. Sums over control groups are empty where one
    group was not read.
    """
    instance = record.instance
    if instance is None or instance.kubernetes is None:
        return {}
    around = instance.kubernetes
    asked = instance.launched.wall_epoch_s + (around.scaled_after_s or 0.0)
    groups = [pod.at_stop for pod in around.pods]
    return {
        "limits": "pod",
        "n_pods": around.replicas,
        "image_bytes": around.image_bytes,
        "image_import_s": around.image_import_s,
        "image_push_s": around.image_push_s,
        "last_pod_process_s": _after(around, (pod.process_after_s for pod in around.pods)),
        "last_pod_event_s": _since(around, asked, (pod.events_epoch_s.get("Started") for pod in around.pods)),
        "last_pod_condition_s": _since(
            around, asked, (pod.conditions_epoch_s.get("Ready") for pod in around.pods)
        ),
        "first_pod_served_s": min(
            (pod.first_served_after_s for pod in around.pods if pod.first_served_after_s is not None),
            default=None,
        ),
        "last_pod_served_s": _after(around, (pod.first_served_after_s for pod in around.pods)),
        "last_pod_routed_s": _after(around, (pod.routed_after_s for pod in around.pods)),
        "pod_events_lost": sum(len(pod.events_lost) for pod in around.pods),
        "service_throttled_s": _sum(groups, "throttled_s"),
        "group_memory_bytes": _sum(groups, "memory_bytes"),
        "group_memory_max_bytes": _sum(groups, "memory_max_bytes"),
        "group_cpu_s": _sum(groups, "cpu_s"),
        "process_rss_bytes": _sum(groups, "rss_bytes"),
        "process_cpu_s": _sum(groups, "process_cpu_s"),
        "runtime_cpus": _least_cpus(around),
        "gc_found": _collector(around),
        **_answered(record, around.replicas),
    }


def answered_by_pod(record: TrialRecord) -> dict[str, int] | None:
    """Return pod -> how many requests it answered while the load ran, as its own counter has them.

    ``None``: not all pods said so at both ends of the load, or one was started anew in between.
    """
    counts = {one.name: one.answered_by_pod for one in record.boundaries}
    before, after = counts.get("before-load"), counts.get("after-load")
    if before is None or after is None or before.keys() != after.keys():
        return None
    found = {pod: after[pod] - before[pod] for pod in after}
    return found if min(found.values(), default=-1) >= 0 else None


def _answered(record: TrialRecord, replicas: int) -> dict[str, object]:
    found = answered_by_pod(record)
    if found is None or len(found) != replicas:
        return {}
    total = sum(found.values())
    return {
        "pods_answered": total,
        "least_pod_share": min(found.values()) * replicas / total if total else None,
    }


def _least_cpus(around: KubernetesRecord) -> int | None:
    """Return the fewest CPUs that a pod's runtime goes by; ``None``: one of them does not say."""
    said = [None if pod.runtime_cpus is None else pod.runtime_cpus.cpus for pod in around.pods]
    known = [one for one in said if one is not None]
    return min(known) if known and len(known) == around.replicas else None


def _collector(around: KubernetesRecord) -> str | None:
    """Return the collector that the pods' JVMs say, or each that they say; ``None``: none does."""
    said = {pod.runtime_cpus.collector for pod in around.pods if pod.runtime_cpus is not None}
    return ", ".join(sorted(one for one in said if one is not None)) or None


def _last(around: KubernetesRecord, moments: Iterable[float | None]) -> float | None:
    """Return the last of as many moments as there are to be pods; ``None``: one of them is not known."""
    known = [one for one in moments if one is not None]
    return max(known) if known and len(known) == around.replicas else None


def _after(around: KubernetesRecord, moments: Iterable[float | None]) -> float | None:
    """Return the last of moments that count from the request for the first pods, since all pods were asked for."""
    last = _last(around, moments)
    return None if last is None else last - (around.scaled_after_s or 0.0)


def _since(around: KubernetesRecord, asked: float, moments: Iterable[float | None]) -> float | None:
    last = _last(around, moments)
    # in whole seconds a moment may be before the request that it follows
    return None if last is None else max(0.0, last - asked)


def _sum(groups: Iterable[GroupReading | None], name: str) -> float | None:
    values = [None if one is None else getattr(one, name) for one in groups]
    if not values or any(value is None for value in values):
        return None
    return math.fsum(value for value in values if value is not None)


__all__ = ["answered_by_pod", "pod_columns"]
