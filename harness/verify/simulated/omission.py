# SPDX-License-Identifier: Apache-2.0
"""Verification of the check for coordinated omission, against an open loop with the same service and pauses."""

from __future__ import annotations

from typing import NamedTuple, get_args

import numpy as np

from harness.analysis.attribution.stalls import detect_stalls
from harness.analysis.load.coordinated_omission import coordinated_omission_check
from harness.verify.simulated.queueing import (
    Arrivals,
    Pauses,
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_closed,
    simulate_open,
)
from harness.verify.simulated.result import Cells, VerifyResult

WITHIN = 0.10
#: Pauses fill this share of the time, so that the open loop's p99 lies among them.
PAUSED = 0.05


class _Users(NamedTuple):
    n: int
    think_s: float


_USERS = (_Users(8, 0.0), _Users(16, 0.01), _Users(32, 0.02))
_PAUSES_S = (0.1, 0.3, 1.0)
_SHORT_S = 0.03
_LAW = ServiceLaw(outlier_share=0.0)


def omission(sims: int, seed: int) -> VerifyResult:
    """``sims`` pauses a cell. Control: the closed loop uncorrected, and open loops, which must not be flagged."""
    cells = Cells(
        "omission", sims, seed,
        bar="closed loops flagged always; corrected p99 within 10 % of open from 100 ms, warned below",
        control="open loops are not flagged; without correction the closed p99 is less than half",
    )  # fmt: skip
    flagged: list[bool] = []
    noticed: list[bool] = []
    hidden: list[float] = []
    warned: list[bool] = []
    silent: list[bool] = []
    for number, users in enumerate(_USERS):
        for pause_s in (_SHORT_S, *_PAUSES_S):
            rng = np.random.default_rng([seed, number, int(pause_s * 1e3)])
            every_s = pause_s / PAUSED
            pauses = regular_pauses(sims * every_s, pause_s, every_s, rng, spread=0.0)
            start, latency = simulate_closed(
                users.n, sims * every_s, _LAW, rng, servers=users.n, think_s=users.think_s, pauses=pauses
            )
            stalls = detect_stalls(start, latency)
            check = coordinated_omission_check(start, latency, users=users.n, stalls=stalls)
            flagged.append(check.flagged)
            noticed.append(coordinated_omission_check(start, latency, stalls=stalls).flagged)
            is_warned = any("open loop" in warning for warning in check.warnings)
            if pause_s < min(_PAUSES_S):
                warned.append(is_warned)
                continue
            silent.append(not is_warned)
            open_p99 = _open_p99(len(start) / (sims * every_s * (1 - PAUSED)), sims * every_s, pauses, rng)
            assert check.corrected_s is not None  # users were given
            hidden.append(check.measured_s["p99"] / open_p99)
            name = f"corrected p99 against open, {users.n} users, {pause_s * 1000.0:g} ms"
            cells.plain(name, abs(check.corrected_s["p99"] / open_p99 - 1), at_most=WITHIN)
    for name, checks in (
        ("closed loops flagged, users known", flagged),
        ("closed loops flagged by their rhythm alone", noticed),
        ("short pauses: warned", warned),
        ("pauses of 100 ms and more: not warned", silent),
    ):
        cells.share(name, float(np.mean(checks)), n=len(checks), at_least=1.0)
    false = [_open_flagged(kind, sims, seed) for kind in get_args(Arrivals)]
    cells.share("open loops flagged", float(np.mean(false)), n=len(false), at_most=0.0, control=True)
    name = "closed p99 uncorrected, median over open p99"
    cells.plain(name, float(np.median(hidden)), at_most=0.5, control=True)
    return cells.result()


def _open_p99(rate_per_s: float, duration_s: float, pauses: Pauses, rng: np.random.Generator) -> float:
    """p99 of an open loop at the rate that the users keep while nothing is paused, with servers to spare."""
    arrivals = arrival_times("poisson", rate_per_s, duration_s, rng)
    service = service_times(len(arrivals), _LAW, rng)
    servers = max(64, int(rate_per_s * 0.02))
    return float(np.quantile(simulate_open(arrivals, service, servers=servers, pauses=pauses)[1], 0.99))


def _open_flagged(kind: Arrivals, sims: int, seed: int) -> bool:
    rng = np.random.default_rng([seed, 77, get_args(Arrivals).index(kind)])
    pauses = regular_pauses(sims * 2.0, 0.1, 2.0, rng)
    arrivals = arrival_times(kind, 800.0, sims * 2.0, rng)
    start, latency = simulate_open(
        arrivals, service_times(len(arrivals), ServiceLaw(), rng), servers=12, pauses=pauses
    )
    return coordinated_omission_check(start, latency).flagged
