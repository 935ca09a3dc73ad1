# SPDX-License-Identifier: Apache-2.0
"""Parts of the records of sessions that nobody measured: each with defaults, which keywords replace."""

from __future__ import annotations

from typing import Any

from harness import model


def machine(**more: Any) -> model.Machine:
    facts: dict[str, Any] = {
        "hostname_hash": "synthetic", "cpu_model": "Synthetic CPU & Co. 100 %", "n_cpus": 2, "memory_bytes": 8 * 2**30,
        "kernel": "6.1.0", "distribution": "Debian GNU/Linux 12", "cgroup": "v2", "virtualisation": "kvm",
        "descriptor_limit": 20_000, "small": True,
    }  # fmt: skip
    return model.Machine(**(facts | more))


def provenance(started_epoch_s: float, **more: Any) -> model.Provenance:
    facts: dict[str, Any] = {
        "commit": "0" * 40, "dirty": False, "definition_sha256": "", "lock_sha256": "0" * 64, "machine": machine(),
        "tools": {}, "python_packages": {}, "clock_source": "tsc",
    }  # fmt: skip
    return model.Provenance(started_epoch_s=started_epoch_s, **(facts | more))


def reading(at: model.ClockReading, rss_bytes: int, cpu_s: float, **more: Any) -> model.ResourceReading:
    facts: dict[str, Any] = {"pss_bytes": int(rss_bytes * 0.9), "n_threads": 9, "n_descriptors": 20}
    return model.ResourceReading(at=at, rss_bytes=rss_bytes, cpu_s=cpu_s, **(facts | more))


def group_reading(memory_bytes: int, **more: Any) -> model.GroupReading:
    facts: dict[str, Any] = {
        "version": "v1", "memory_max_bytes": None, "cpu_s": 1.0, "n_throttled": 3, "throttled_s": 0.25,
        "rss_bytes": memory_bytes, "process_cpu_s": 0.9,
    }  # fmt: skip
    return model.GroupReading(memory_bytes=memory_bytes, **(facts | more))


def instance(launched: model.ClockReading, **more: Any) -> model.InstanceRecord:
    facts: dict[str, Any] = {
        "argv": ("./a",), "environment": {}, "pid": 1, "process_start_ticks": 1, "port": 1, "cpu_affinity": (0,),
        "cpu_limit": None, "artifact_sha256": "s", "artifact_bytes": 77, "runtime_bytes": None, "runtime_version": None,
    }  # fmt: skip
    return model.InstanceRecord(launched=launched, **(facts | more))


def load_summary(n_requests: int, start_epoch_s: float, duration_s: float, **more: Any) -> model.LoadSummary:
    facts: dict[str, Any] = {
        "n_errors": 0, "offered_per_s": None, "achieved_per_s": n_requests / duration_s, "resolution_s": 0.001,
        "has_requests": True,
    }  # fmt: skip
    return model.LoadSummary(
        n_requests=n_requests, start_epoch_s=start_epoch_s, duration_s=duration_s, **(facts | more)
    )


def generator(**more: Any) -> model.GeneratorRecord:
    facts: dict[str, Any] = {
        "name": "jmeter", "version": "5.6.3", "argv": ("jmeter",), "cpu_affinity": (1,), "cpu_s": 1.0, "exit_code": 0,
        "echo_achieved_per_s": None, "headroom_ratio": None,
    }  # fmt: skip
    return model.GeneratorRecord(**(facts | more))
