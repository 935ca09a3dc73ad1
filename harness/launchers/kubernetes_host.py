# SPDX-License-Identifier: Apache-2.0
"""This machine as the node of a cluster: an instance of several pods is read as one.

Pods' processes are processes of this machine, so the same sampler reads them. Of several pods the role ``service``
is their sum, and ``pod-1``, ``pod-2`` ... are each of them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.agent.sampler import SamplerSummary, Watched
from harness.errors import TrialFailure
from harness.hosts.local import LocalHost
from harness.hosts.measuring import Sampling, Started
from harness.launchers.kubernetes_instance import KubernetesInstance
from harness.model import ClockReading, Outcome, ResourceReading
from harness.model.endpoint import Endpoint

SERVICE = "service"


#: Instances by what names the process of their first pod: (pid, start ticks).
Groups = dict[tuple[int, int], KubernetesInstance]


def _group(groups: Groups, watched: Watched) -> KubernetesInstance | None:
    """Return the pods that this process stands for; ``None``: it is no pod."""
    return groups.get((watched.pid, watched.start_ticks))


class KubernetesHost(LocalHost):
    """A ``MeasuringHost``: this machine, which is the node of the cluster."""

    translates = True

    def __init__(self, groups: Groups) -> None:
        super().__init__()
        self._groups = groups

    def resources(self, watched: Watched, *, pss: bool = True) -> ResourceReading:
        group = _group(self._groups, watched)
        if group is None or len(group.members) < 2:
            return super().resources(watched, pss=pss)
        return added([super(KubernetesHost, self).resources(member, pss=pss) for member in group.members])

    def sampler(self, samples: Path, machine: Path, hz: float) -> Sampling:
        return _PodSampling(super().sampler(samples, machine, hz), samples, self._groups)

    def first_answer(
        self,
        endpoint: Endpoint,
        request: bytes,
        watched: Watched,
        *,
        launched: ClockReading,
        deadline_s: float,
    ) -> Started:
        """Poll through the service's address, and wait until every pod serves and is reached through it. An address
        inside the cluster is asked after that alone: before kube-proxy knows it, another program may answer. Raises
        TrialFailure: not all did before the deadline."""
        group = _group(self._groups, watched)
        deadline_s += 0.0 if group is None else group.added_s

        def ask() -> Started:
            return super(KubernetesHost, self).first_answer(
                endpoint, request, watched, launched=launched, deadline_s=deadline_s
            )

        if group is None:
            return ask()
        started = None if group.asked_last else ask()
        if started is None or started.first.answer is not None:
            until = launched.monotonic_s + deadline_s
            why = group.lacking(until) or group.unrouted(until)
            if why is not None:
                raise TrialFailure(Outcome.TIMED_OUT, why)
        return started or ask()


class _PodSampling:
    """A sampler that watches each pod, and lays their sum beside them when it stops."""

    def __init__(self, inner: Sampling, samples: Path, groups: Groups) -> None:
        self._inner, self._samples, self._groups = inner, samples, groups
        self._several = 0
        self._stopped = False

    def add(self, role: str, watched: Watched) -> None:
        group = _group(self._groups, watched) if role == SERVICE else None
        if group is None or len(group.members) < 2:
            self._inner.add(role, watched)
            return
        self._several = len(group.members)
        for number, member in enumerate(group.members, start=1):
            self._inner.add(f"pod-{number}", member)

    def pace(self, hz: float) -> None:
        self._inner.pace(hz)

    def stop(self) -> SamplerSummary:
        summary = self._inner.stop()
        if self._several and not self._stopped:
            self._stopped = True
            with_sum(self._samples, self._several)
        return summary


def with_sum(samples: Path, pods: int) -> None:
    """Add rows of role ``service`` to a file of samples: at each reading of the last pod the sum of all.

    What a pod was last read as is its part of a sum; before all have been read there is none.
    """
    with samples.open(newline="") as stream:
        reader = csv.DictReader(stream)
        columns = list(reader.fieldnames or ())
        rows = list(reader)
    last: dict[str, Mapping[str, str]] = {}
    written: list[Mapping[str, str]] = []
    for row in rows:
        written.append(row)
        if not row["role"].startswith("pod-"):
            continue
        last[row["role"]] = row
        if row["role"] == f"pod-{pods}" and len(last) == pods:
            of = list(last.values())
            counted = {name: _sum([item[name] for item in of]) for name in columns[2:]}
            written.append({"monotonic_s": row["monotonic_s"], "role": SERVICE, **counted})
    with samples.open("w", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(written)


def _sum(cells: Sequence[str]) -> str:
    if "" in cells:
        return ""
    total = sum(float(cell) for cell in cells)
    return f"{total:.6f}" if any("." in cell for cell in cells) else str(int(total))


def added(readings: Sequence[ResourceReading]) -> ResourceReading:
    """Return the sum of readings; what one of them lacks, the sum lacks. Its moment is the last one's."""

    def of(name: str) -> float | int | None:
        values = [getattr(reading, name) for reading in readings]
        return None if None in values else sum(values)

    names = type(readings[-1]).model_fields.keys() - {"at"}
    return readings[-1].model_copy(update={name: of(name) for name in names})
