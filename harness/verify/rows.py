# SPDX-License-Identifier: Apache-2.0
"""Every row of ``verify``, simulated or made for real, run one by one and timed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

from pydantic import Field

from harness.errors import InputError
from harness.model import Frozen
from harness.verify.machine_load import Others
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
    found = run_verify(name, sims, seed) if real is None else real.run(sims or real.sims, seed)
    wall_s = time.monotonic() - began
    seen = others.share() if wall_s >= SHORTEST_SEEN_S else None
    return VerifiedRow(result=found, wall_s=wall_s, others_share=seen, place=place)
