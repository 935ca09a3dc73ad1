# SPDX-License-Identifier: Apache-2.0
"""Every row of ``verify``, simulated or made for real, run one by one and timed."""

from __future__ import annotations

import time

from pydantic import Field

from harness.errors import InputError
from harness.model import Frozen
from harness.verify.machine_load import Others
from harness.verify.real.sigstop import sigstop
from harness.verify.simulated import VERIFICATIONS, run_verify
from harness.verify.simulated.result import VerifyResult

SIGSTOP = "sigstop"
#: Stops that ``verify sigstop`` makes unless told otherwise.
SIGSTOP_STOPS = 20
#: The kernel counts CPU time in hundredths of a second: below this no share can be told.
SHORTEST_SEEN_S = 1.0
#: In the order of the page.
ROWS = (*VERIFICATIONS, SIGSTOP)


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
        RematchError: sigstop's service could not be built, or does not answer.
    """
    if name not in ROWS:
        raise InputError("no such verification", place="NAME", found=name, allowed=", ".join((*ROWS, "all")))
    others, began = Others(), time.monotonic()
    # sigstop stops and continues a real process: the measuring side does that, not the analysis
    found = sigstop(sims or SIGSTOP_STOPS, seed) if name == SIGSTOP else run_verify(name, sims, seed)
    wall_s = time.monotonic() - began
    seen = others.share() if wall_s >= SHORTEST_SEEN_S else None
    return VerifiedRow(result=found, wall_s=wall_s, others_share=seen, place=place)
