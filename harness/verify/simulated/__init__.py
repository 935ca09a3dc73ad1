# SPDX-License-Identifier: Apache-2.0
"""``harness verify NAME``: simulations that show the statistics right, each with a control that shows they bite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from harness.errors import InputError
from harness.verify.simulated import attribution, comparisons, duets, speeds, tails
from harness.verify.simulated.result import Cell, VerifyResult


class Verification(NamedTuple):
    """A simulation and how many experiments a cell it takes for its bar to mean something."""

    run: Callable[[int, int], VerifyResult]
    sims: int


VERIFICATIONS: Mapping[str, Verification] = MappingProxyType(
    {
        "coverage": Verification(comparisons.coverage, 2000),
        "aa": Verification(comparisons.aa, 4000),
        "duet": Verification(duets.duet, 8000),
        "speed": Verification(speeds.speed, 8000),
        "quantile": Verification(tails.quantile, 1000),
        "attribution": Verification(attribution.attribution, 300),
    }
)


def run_verify(name: str, sims: int | None = None, seed: int = 1) -> VerifyResult:
    """Run one of ``VERIFICATIONS``; the same name, sims and seed give the same cells.

    Args:
        sims: experiments a cell; ``None``: as many as its bar is meant for.

    Raises:
        InputError: fewer than ten simulations.
    """
    if sims is not None and sims < 10:
        raise InputError("too few simulations", place="--sims", found=sims, allowed="10 or more")
    verification = VERIFICATIONS[name]
    return verification.run(verification.sims if sims is None else sims, seed)


__all__ = ["VERIFICATIONS", "Cell", "Verification", "VerifyResult", "run_verify"]
