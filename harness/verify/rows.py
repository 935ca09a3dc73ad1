# SPDX-License-Identifier: Apache-2.0
"""Every row of ``verify``, simulated or made for real, run one by one and timed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from statistics import median
from types import MappingProxyType

from pydantic import Field

from harness.agent.machine_counters import read_machine
from harness.agent.platforms import usable_cpus
from harness.errors import InputError
from harness.model import Frozen
from harness.verify.real.bound import bound
from harness.verify.real.sigstop import sigstop
from harness.verify.simulated import VERIFICATIONS, Verification, run_verify
from harness.verify.simulated.result import VerifyResult

#: Rows of real processes -> what makes them, and how many stops or trials of each kind there are at most,
#: unless told otherwise: the measuring side makes them, not the analysis.
REAL: Mapping[str, Verification] = MappingProxyType(
    {
        "sigstop": Verification(sigstop, 20),
        "bound": Verification(bound, 40),
    }
)
#: The kernel counts CPU time in hundredths of a second: below this no share can be told.
SHORTEST_SEEN_S = 1.0
#: In the order of the page.
ROWS = (*VERIFICATIONS, *REAL)


class VerifiedRow(Frozen):
    """One row as it ran: what it says, how long it took, and where."""

    result: VerifyResult
    wall_s: float = Field(ge=0)
    others_share: float | None = Field(
        description="of all cores' time, used by others meanwhile; None: too short to tell"
    )
    place: str = Field(description="cores, memory and commit; no date, no name of a machine")


def verify_row(name: str, place: str, *, sims: int | None = None, seed: int = 1) -> VerifiedRow:
    """Run one row and take its time.

    Args:
        name: one of ``ROWS``. place: as ``harness.provenance.describe_place`` says it.
        sims: experiments a cell; ``None``: as many as the bar is meant for.

    Raises:
        InputError: no such row, or too few simulations.
        RematchError: a real service could not be built, or does not answer.
    """
    if name not in ROWS:
        raise InputError("no such verification", place="NAME", found=name, allowed=", ".join((*ROWS, "all")))
    others, began = Others(), time.monotonic()
    real = REAL.get(name)
    result = run_verify(name, sims, seed) if real is None else real.run(sims or real.sims, seed)
    wall_s = time.monotonic() - began
    seen = others.share() if wall_s >= SHORTEST_SEEN_S else None
    return VerifiedRow(result=result, wall_s=wall_s, others_share=seen, place=place)


#: Beyond this share of its CPU time used by others the machine is not idle.
BUSY_SHARE = 0.1


class Others:
    """What others used of the machine since this was made, this process and its ended children left out."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._machine_s, self._own_s = read_machine().total_cpu_s, _own_cpu_s()

    def share(self) -> float | None:
        """Share of all cores' time; ``None``: the kernel does not tell."""
        now_s = read_machine().total_cpu_s
        if now_s is None or self._machine_s is None:
            return None
        used_s = now_s - self._machine_s - (_own_cpu_s() - self._own_s)
        lasted_s = max(time.monotonic() - self._began, 1e-9)
        return max(0.0, used_s / lasted_s / len(usable_cpus()))


def words(share: float | None) -> str:
    """The share in a sentence."""
    return f"others used {'an unknown share' if share is None else format(share, '.0%')} of the machine meanwhile"


def judge(limit: float, values: Sequence[float], share: float | None) -> bool | None:
    """Judge what must not be more than ``limit``; a miss beside others' work is ``None``, cannot say."""
    verdict = at_most(limit, values)
    if verdict is False and (share is None or share > BUSY_SHARE):
        return None
    return verdict


def _own_cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def at_most(limit: float, values: Sequence[float]) -> bool | None:
    """Judge repetitions against an upper limit: the median keeps it, none does, or it cannot be told."""
    if median(values) <= limit:
        return True
    return False if min(values) > limit else None
