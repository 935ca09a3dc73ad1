# SPDX-License-Identifier: Apache-2.0
"""``harness verify NAME``: simulations that show the statistics right, each with a control that shows they bite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from harness.errors import InputError
from harness.verify.simulated import (
    attribution,
    capacity,
    compared_runs,
    comparisons,
    duets,
    omission,
    repeated_loads,
    speeds,
    tails,
    warmup,
)
from harness.verify.simulated.result import Cell, VerifyResult, together


class Verification(NamedTuple):
    """A simulation and how many experiments a cell it takes for its bar to mean something."""

    run: Callable[[int, int], VerifyResult]
    sims: int


VERIFICATIONS: Mapping[str, Verification] = MappingProxyType(
    {
        "coverage": Verification(comparisons.coverage, 2000),
        "aa": Verification(comparisons.aa, 4000),
        "duet": Verification(duets.duet, 4000),
        "compare": Verification(compared_runs.compare, 2000),
        "speed": Verification(speeds.speed, 2000),
        "repeats": Verification(repeated_loads.repeats, 2000),
        "capacity": Verification(capacity.capacity, 200),
        "quantile": Verification(tails.quantile, 1000),
        "attribution": Verification(attribution.attribution, 300),
        "omission": Verification(omission.omission, 20),
        "warmup": Verification(warmup.simulate_warmup, 120),
    }
)
#: A cell whose limit still lies within its Monte Carlo interval after so many rounds says that it is undecided.
MOST_ROUNDS = 4
#: Apart from any seed that a person gives.
_NEXT_ROUND = 1_000_003


def run_verify(
    name: str, sims: int | None = None, seed: int = 1, *, rounds: int | None = None
) -> VerifyResult:
    """Run one verification: further rounds of other random numbers while a cell is undecided.

    Args:
        name: a key of ``VERIFICATIONS``. sims: experiments a cell; ``None``: as many as its bar is meant for.
        seed: the same name, sims, seed and rounds give the same cells.
        rounds: at most so many; ``None``: one where ``sims`` are given, else ``MOST_ROUNDS``.

    Raises:
        InputError: no such name, or fewer than ten simulations.
    """
    if name not in VERIFICATIONS:
        raise InputError("no such verification", place="NAME", found=name, allowed=", ".join(VERIFICATIONS))
    if sims is not None and sims < 10:
        raise InputError("too few simulations", place="--sims", found=sims, allowed="10 or more")
    verification = VERIFICATIONS[name]
    most = (MOST_ROUNDS if sims is None else 1) if rounds is None else rounds
    n = verification.sims if sims is None else sims
    results = [verification.run(n, seed)]
    while len(results) < most and any(cell.tally is not None for cell in together(results).undecided):
        results.append(verification.run(n, seed + _NEXT_ROUND * len(results)))
    return together(results) if len(results) > 1 else results[0]


__all__ = ["VERIFICATIONS", "Cell", "Verification", "VerifyResult", "run_verify"]
