# SPDX-License-Identifier: Apache-2.0
"""What stood around a trial's service: its limits, its container, and what the control group counted."""

from __future__ import annotations

from harness.model import ContainerRecord, GroupReading, TrialRecord


def limit_columns(record: TrialRecord) -> dict[str, object]:
    """Return who enforced the service's limits, what its group counted until it was stopped, and its container.

    ``process_rss_bytes`` and ``process_cpu_s`` are of the process at the very moment of ``group_*``, so that the two
    ways of counting can be compared. None of a plain process without a memory limit.
    """
    instance = record.instance
    if instance is None:
        return {}
    if instance.container is not None:
        found = _group(instance.container.at_stop) | _container(instance.container)
        return found | {"limits": "container"}
    if instance.limits is not None:
        return _group(instance.limits.at_stop) | {"limits": instance.limits.enforced_by or "not enforced"}
    return {}


def _container(container: ContainerRecord) -> dict[str, object]:
    return {
        "image_bytes": container.image_bytes,
        "container_create_s": container.create_s,
        "container_start_s": container.start_s,
    }


def _group(reading: GroupReading | None) -> dict[str, object]:
    if reading is None:
        return {}
    return {
        "service_throttled_s": reading.throttled_s,
        "group_memory_bytes": reading.memory_bytes,
        "group_memory_max_bytes": reading.memory_max_bytes,
        "group_cpu_s": reading.cpu_s,
        "process_rss_bytes": reading.rss_bytes,
        "process_cpu_s": reading.process_cpu_s,
    }
