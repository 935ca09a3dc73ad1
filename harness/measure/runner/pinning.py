# SPDX-License-Identifier: Apache-2.0
"""Which CPUs the service gets and which the load generator, said in words for the record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from harness.agent.machine_info import cpu_list
from harness.errors import HostError, InputError, TrialFailure
from harness.model import Frozen
from harness.model.digits import runs_of
from harness.places.hosts.base import Host

#: ``limit``: the service on exactly as many CPUs as its limit says, the generator on the other half of the
#: machine whatever that limit is, so that from one limit to the next nothing but the service's CPUs changes.
#: ``same``: service and generator on the same CPUs, as many as the service's limit.
Policy = Literal["auto", "shared", "same", "limit"]
#: CPUs that share a physical core, one group a core.
Cores = Sequence[Sequence[int]]


class Placement(Frozen):
    """``None``: not pinned. ``shared``: service and generator may compete for the same cores."""

    service: tuple[int, ...] | None = None
    generator: tuple[int, ...] | None = None
    shared: bool = True
    words: str = ""
    generator_apart: bool = False


def place(
    available: tuple[int, ...], service_cpus: int | None = None, policy: Policy = "auto", cores: Cores = ()
) -> Placement:
    """Return who runs where. ``available`` are the CPUs this process may use; ``service_cpus`` is the
    service's CPU limit (``None``: as many as the split gives it, half of them). Unless sharing is asked for, or the
    service's limit leaves no CPU for the generator, each has CPUs of its own; ``cores``: which CPUs share
    a physical core (none named: each is one).

    Raises:
        InputError: pinning was asked for and there are too few CPUs for it.
    """
    cpus = tuple(sorted(available))
    if policy == "limit":
        return _limited(cpus, service_cpus, cores)
    wanted = service_cpus or max(1, len(cpus) // 2)
    if policy == "same":
        common = cpus[:wanted]
        words = f"pinned together: service and generator on CPU {runs_of(common)}"
        return Placement(service=common, generator=common, shared=True, words=words)
    if policy == "auto" and len(cpus) > wanted:
        service, generator = cpus[:wanted], cpus[wanted:]
        words = f"pinned apart: service on CPU {runs_of(service)}, generator on CPU {runs_of(generator)}"
        return Placement(service=service, generator=generator, shared=False, words=words)
    why = (
        "as asked" if policy == "shared" else f"{len(cpus)} CPUs are too few for a service of {wanted} apart"
    )
    words = f"not pinned ({why}): service and generator share CPU {runs_of(cpus)}"
    return Placement(service=None, generator=None, shared=True, words=words)


def place_on_two(
    available: tuple[int, ...],
    service_cpus: int | None,
    load_host: str,
    policy: Policy = "auto",
    cores: Cores = (),
) -> Placement:
    """Return who runs where when the load comes from another machine; ``available`` are the service's."""
    cpus = tuple(sorted(available))
    order = _one_thread_of_each_first(_groups(cpus, cores)) if policy == "limit" else cpus
    fits = service_cpus is not None and service_cpus < len(cpus) and policy != "shared"
    service = order[:service_cpus] if fits else None
    where = f"pinned to CPU {runs_of(service)}" if service else f"not pinned, on CPU {runs_of(cpus)}"
    words = f"on two machines: service {where}; generator on {load_host}, not pinned"
    return Placement(service=service, generator=None, shared=False, words=words, generator_apart=True)


def place_two(
    available: tuple[int, ...], interval_s: float, cores: Cores = ()
) -> tuple[Placement, Placement]:
    """Return two placements of as many CPUs each, for two arms that exchange them: an arm's service and its generator
    share its CPUs. Whole physical cores, where there are two; one that is left over is nobody's.

    Raises:
        InputError: there is one CPU only.
    """
    cpus = tuple(sorted(available))
    if len(cpus) < 2:
        raise InputError(
            "a duet needs a set of CPUs for each of its arms", place="design", found=f"{len(cpus)} CPU",
            allowed="2 CPUs or more, or design = 'alternating'",
        )  # fmt: skip
    groups = _divisible(cpus, cores)
    half = len(groups) // 2
    first, second = (
        sorted(cpu for core in part for cpu in core) for part in (groups[:half], groups[half : 2 * half])
    )
    n = min(len(first), len(second))  # a core whose other thread is not ours is as good as half of one

    def placed(own: list[int], partner: list[int]) -> Placement:
        words = f"duet: service and generator on CPU {runs_of(own[:n])}, exchanged with CPU {runs_of(partner[:n])} "
        words += f"about every {interval_s:g} s"
        cpus = tuple(own[:n])
        return Placement(service=cpus, generator=cpus, shared=True, words=words)

    return placed(first, second), placed(second, first)


def cpus_allowed(host: Host, pid: int) -> tuple[int, ...] | None:
    """Return the CPUs on which the kernel of that host lets a process run, cpuset and affinity together;
    ``None``: it does not tell."""
    try:
        text = host.read(Path(f"/proc/{pid}/status")).decode("ascii", "replace")
    except HostError:
        return None
    match = re.search(r"^Cpus_allowed_list:\s*(\S+)$", text, flags=re.MULTILINE)
    return tuple(cpu_list(match.group(1))) if match else None


def check_pinned(wanted: tuple[int, ...] | None, allowed: tuple[int, ...] | None) -> None:
    """Refuse a trial whose service may run elsewhere than on the wanted CPUs.

    Raises:
        TrialFailure: it may; its throughput would be told of another number of cores.
    """
    if wanted is not None and allowed is not None and set(wanted) != set(allowed):
        raise TrialFailure(
            "failed",
            f"CPU affinity of the service is {runs_of(allowed)}, expected {runs_of(sorted(wanted))}; "
            "another program changes affinities or cpusets on this machine",
        )


def _limited(cpus: tuple[int, ...], wanted: int | None, cores: Cores) -> Placement:
    if wanted is None or wanted > len(cpus):
        raise InputError(
            "pinned by a limit that this machine cannot give",
            place="runtime.pin",
            found=f"cpus = {wanted}, and {len(cpus)} CPUs",
            allowed=f"cpus from 1 to {len(cpus)}",
        )
    groups = _divisible(cpus, cores)
    n_service = max(1, len(groups) - len(groups) // 2)
    own, rest = groups[:n_service], groups[n_service:]
    generator = tuple(sorted(cpu for core in rest or own for cpu in core))
    service = (*_one_thread_of_each_first(own), *_one_thread_of_each_first(rest))[:wanted]
    common = set(service) & set(generator)
    n_cores = sum(bool(set(core) & set(service)) for core in _groups(cpus, cores))
    words = f"pinned by the limit: service on CPU {runs_of(sorted(service))} of {n_cores} "
    words += f"{'core' if n_cores == 1 else 'cores'}, generator on CPU {runs_of(generator)}"
    words += f"; they share CPU {runs_of(sorted(common))}" if common else ""
    return Placement(service=tuple(sorted(service)), generator=generator, shared=bool(common), words=words)


def _groups(cpus: Sequence[int], cores: Cores) -> list[tuple[int, ...]]:
    """Available CPUs by physical core, in the order of each core's first one."""
    known = [tuple(cpu for cpu in sorted(core) if cpu in cpus) for core in cores]
    alone = set(cpus) - {cpu for core in known for cpu in core}
    return sorted([*(core for core in known if core), *((cpu,) for cpu in alone)])


def _divisible(cpus: Sequence[int], cores: Cores) -> list[tuple[int, ...]]:
    """CPUs by core; of one core its threads, which are all there is to divide."""
    groups = _groups(cpus, cores)
    return groups if len(groups) > 1 else [(cpu,) for cpu in cpus]


def _one_thread_of_each_first(groups: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """A second thread of a core adds far less than a core: cores first, their other threads after all of them."""
    return tuple(cpu for threads in zip_longest(*groups) for cpu in threads if cpu is not None)
