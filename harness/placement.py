# SPDX-License-Identifier: Apache-2.0
"""Which CPUs the service gets and which the load generator, said in words for the record."""

from __future__ import annotations

from typing import Literal

from harness.errors import InputError
from harness.model import Frozen

Policy = Literal["auto", "apart", "shared"]

#: From here on "auto" pins apart: below, a service alone on one core would be another experiment.
APART_FROM_CPUS = 4


class Placement(Frozen):
    """``None``: not pinned. ``shared``: service and generator may compete for the same cores."""

    service: tuple[int, ...] | None
    generator: tuple[int, ...] | None
    shared: bool
    words: str
    generator_apart: bool = False


def place(available: tuple[int, ...], service_cpus: int | None = None, policy: Policy = "auto") -> Placement:
    """Return who runs where. ``available`` are the CPUs this process may use; ``service_cpus`` is the
    service's CPU limit (``None``: as many as the split gives it, half of them).

    Raises:
        InputError: pinning apart was asked for and there are too few CPUs for it.
    """
    cpus = tuple(sorted(available))
    wanted = service_cpus or max(1, len(cpus) // 2)
    enough = len(cpus) >= wanted + 1
    if policy == "apart" and not enough:
        raise InputError(
            "too few CPUs to pin service and generator apart",
            place="placement",
            found=f"{len(cpus)} CPUs",
            allowed=f"at least {wanted + 1}, or the policy 'shared'",
        )
    if policy == "apart" or (policy == "auto" and enough and len(cpus) >= APART_FROM_CPUS):
        service, generator = cpus[:wanted], cpus[wanted:]
        words = f"pinned apart: service on CPU {_listed(service)}, generator on CPU {_listed(generator)}"
        return Placement(service=service, generator=generator, shared=False, words=words)
    why = "as asked" if policy == "shared" else f"{len(cpus)} CPUs are too few to pin apart"
    words = f"not pinned ({why}): service and generator share CPU {_listed(cpus)}"
    return Placement(service=None, generator=None, shared=True, words=words)


def place_on_two(available: tuple[int, ...], service_cpus: int | None, load_host: str) -> Placement:
    """Return who runs where when the load comes from another machine; ``available`` are the service's."""
    cpus = tuple(sorted(available))
    service = cpus[:service_cpus] if service_cpus is not None and service_cpus < len(cpus) else None
    where = f"pinned to CPU {_listed(service)}" if service else f"not pinned, on CPU {_listed(cpus)}"
    words = f"on two machines: service {where}; generator on {load_host}, not pinned"
    return Placement(service=service, generator=None, shared=False, words=words, generator_apart=True)


def _listed(cpus: tuple[int, ...]) -> str:
    """``(0, 1, 2, 5)`` -> ``0-2,5``."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
