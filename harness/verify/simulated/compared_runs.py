# SPDX-License-Identifier: Apache-2.0
"""Verification of ``rematch compare``: equal arms, a known effect, and what it must not do instead.

Every run is a lognormal series of correlated requests around a level of its own, with two names of requests and some
errors; the arms are handed over as they come from files, so that traps, verdicts and the family of all rows are in it.
The effect is simulated a quarter as often. That an order is confounded is a trap (``compare/traps.py``).
"""

from __future__ import annotations

from math import log1p

import numpy as np
import numpy.typing as npt

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.compare.comparing import compare_runs
from harness.compare.result import Comparison
from harness.compare.run import Key, Run, request_values
from harness.model import LOAD_TOOLS, Verdict
from harness.verify.simulated.comparisons import ar_series
from harness.verify.simulated.result import Cells, VerifyResult

#: Variation between runs, and of requests within one (log scale).
_RUN_CV, _REQUEST_SD = 0.03, 0.5
_REQUESTS, _AUTOCORRELATION, _ERRORS = 1000, 0.5, 0.005
_RUN_S = 60.0
_EFFECT = 0.10
_CALLED = (Verdict.DIFFERENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE)


def compare(sims: int, seed: int) -> VerifyResult:
    """Equal arms that differ in any row, and a 10 % effect; controls: no family, and requests as the unit."""
    cells = Cells(
        "compare", sims, seed,
        bar="of equal arms <= .06 called different in any row; a 10 % effect found in >= .95",
        control="without family >= .10, over requests >= .30",
    )  # fmt: skip
    for number, k in enumerate((5, 10)):
        rng = np.random.default_rng([seed, number])
        called = raw = of_requests = 0
        for _ in range(sims):
            comparison, logs = _pair(rng, k, labels=True)
            called += _called_of_all(comparison)
            raw += any(_leaves_out_one(row.low, row.high) for row in comparison.rows)
            pooled = intervals.two_sample(logs[1].ravel(), logs[0].ravel(), 0.95)
            of_requests += _leaves_out_one(float(pooled.low) + 1, float(pooled.high) + 1)
        runs = f"{k} runs an arm"
        cells.share(f"equal arms called different, {runs}", called / sims, at_most=0.06)
        cells.share(f"any interval of the rows leaves out 1, {runs}", raw / sims, at_least=0.1, control=True)
        cells.share(f"interval over requests, {runs}", of_requests / sims, at_least=0.3, control=True)
    _effect(cells, max(sims // 4, 10), seed)  # far from its limits
    return cells.result()


def _effect(cells: Cells, sims: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    mean = p99 = wrong_way = 0
    for _ in range(sims):
        comparison, _ = _pair(rng, 10, effect=_EFFECT)
        row, tail = comparison.row("mean"), comparison.row("p99")
        assert row is not None and tail is not None and row.ratio is not None
        mean += row.verdict is Verdict.DIFFERENT
        p99 += tail.verdict is Verdict.DIFFERENT
        wrong_way += row.verdict is Verdict.DIFFERENT and row.ratio < 1
    cells.share("mean 10 % longer, 10 runs an arm", mean / sims, n=sims, at_least=0.95)
    cells.share("p99 10 % longer, 10 runs an arm", p99 / sims, n=sims)
    cells.share("called different the wrong way round", wrong_way / sims, n=sims, at_most=0.01)


def _called_of_all(comparison: Comparison) -> bool:
    return any(row.verdict in _CALLED for row in comparison.rows)


def _leaves_out_one(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and not low <= 1.0 <= high


def _pair(
    rng: np.random.Generator, k: int, *, effect: float = 0.0, labels: bool = False
) -> tuple[Comparison, Floats]:
    """Return a comparison, and the logs of all latencies, shape (2, k, requests); ``labels``: two names of requests."""
    places = rng.permutation(2 * k).reshape(2, k)
    logs = _REQUEST_SD * ar_series(rng, (2, k, _REQUESTS), _AUTOCORRELATION)
    logs += rng.normal(0.0, _RUN_CV, (2, k, 1))
    logs[1] += log1p(effect)
    failed = rng.random(logs.shape) < _ERRORS
    first, second = (
        tuple(
            _run(rng, f"{name}{i}", logs[arm, i], failed[arm, i], float(places[arm, i]), labels=labels)
            for i in range(k)
        )
        for arm, name in enumerate("AB")
    )
    return compare_runs((first, second)), logs


def _run(
    rng: np.random.Generator,
    name: str,
    logs: Floats,
    failed: npt.NDArray[np.bool_],
    place: float,
    *,
    labels: bool,
) -> Run:
    latency, ok = 0.01 * np.exp(logs), ~failed
    # Users who wait: rates fall as times rise, and vary a little by themselves.
    duration_s = _RUN_S * float(latency.mean()) / 0.011 * float(np.exp(rng.normal(0.0, 0.01)))
    half = np.arange(len(latency)) % 2 == 0
    values: dict[Key, float] = {}
    reasons: dict[Key, str] = {}
    rows: dict[str | None, npt.NDArray[np.bool_]] = {None: np.ones_like(half)}
    if labels:
        rows |= {"even": half, "odd": ~half}
    for label, own in rows.items():
        metrics, missing = request_values(latency[own & ok], int((own & ~ok).sum()), duration_s)
        values |= {(label, metric): value for metric, value in metrics.items()}
        reasons |= {(label, metric): why for metric, why in missing.items()}
    return Run(
        name=name, sources=(LOAD_TOOLS[0].name,), n_requests=len(latency), n_errors=int((~ok).sum()), resolution_s=1e-6,
        values=values, reasons=reasons, start_epoch_s=100.0 * place, duration_s=duration_s,
        rate_per_s=len(latency) / duration_s, loop="closed", users=10,
        labels={"even": int(half.sum()), "odd": int((~half).sum())}, fingerprints=(name,),
    )  # fmt: skip
