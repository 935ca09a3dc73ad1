# SPDX-License-Identifier: Apache-2.0
"""Verification of offering a load again during which a JVM compiled: the ratio stays right, and trials become warm."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.model import WarmUpSpec
from harness.model.load_tools import LOAD_TOOLS
from harness.verify.simulated.comparisons import LEVEL, covered
from harness.verify.simulated.result import Cells, VerifyResult

#: True log of the ratio of two warm services; standard deviations of a process and of each of its loads, as logs.
TRUTH, PROCESS, LOAD = float(np.log(1.03)), 0.007, 0.01
#: As a session of strings-warm at quick: how long a load takes, the warm-up's bar, how often a load is repeated.
LOAD_S = 25.0
SPEC = WarmUpSpec(
    generator=next(tool.name for tool in LOAD_TOOLS if tool.saturates), compile_share=0.05, repeats=2
)
#: CPU time of the last compilation, from and to: that of the JAX-RS service, which has one CPU.
COMPILES_S = (1.3, 3.7)
#: By how much the compiled code is faster, as a log, where it is.
FASTER = 0.03


class _Trials(NamedTuple):
    """Of the first service, shape (sims, blocks, loads); of the reference, which compiles nothing, (sims, blocks)."""

    logs: Floats
    compile_s: Floats
    reference: Floats

    @property
    def place(self) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        """Which load of each process counts: the first that is not offered again, or the last; (sims, blocks)."""
        counts = ~_is_repeated(self.compile_s)
        counts[:, :, -1] = True
        return np.asarray(counts.argmax(axis=2))

    def counted(self, values: Floats) -> Floats:
        """What was read of the load that counts, shape (sims, blocks)."""
        return np.take_along_axis(values, self.place[:, :, np.newaxis], axis=2)[:, :, 0]

    @property
    def differences(self) -> Floats:
        return self.counted(self.logs) - self.reference

    @property
    def bias(self) -> Floats:
        """Of each session, the mean log of the ratio beside the true one."""
        return np.asarray(self.differences.mean(axis=1) - TRUTH)


def repeats(sims: int, seed: int) -> VerifyResult:
    """Sessions of two services; controls: every first load counts, and the load with the most answers counts."""
    cells = Cells(
        "repeats", sims, seed,
        bar="coverage in [.93, .97], bias <= .002, and a load without compilers in >= .98 of the trials",
        control="every first load counts, or the best of three: coverage <= .70",
    )  # fmt: skip
    for number, (often, k) in enumerate(product((0.1, 0.4), (10, 20))):
        trials = _trials(np.random.default_rng([seed, number]), sims, k, often)
        words, n_trials = f"{often:.0%} compile in a load, k = {k}", trials.reference.size
        warm, again = ~_is_repeated(trials.counted(trials.compile_s)), trials.place > 0
        cells.share(f"coverage, {words}", _coverage(trials.differences), at_least=0.93, at_most=0.97)
        cells.average(f"bias, {words}", trials.bias, at_least=-0.002, at_most=0.002)
        cells.share(f"warm in the load that counts, {words}", float(warm.mean()), n=n_trials, at_least=0.98)
        cells.share(f"offered again, {words}", float(again.mean()), n=n_trials)
    trials = _trials(np.random.default_rng([seed, 97]), sims, 20, 0.4, faster=FASTER)
    cells.average(f"bias, code {FASTER:.0%} faster once compiled, 40% in a load, k = 20", trials.bias)
    trials = _trials(np.random.default_rng([seed, 98]), sims, 20, 0.4)
    every = _coverage(trials.logs[:, :, 0] - trials.reference)
    name = "coverage, every first load counts, 40% compile in a load, k = 20"
    cells.share(name, every, at_most=0.7, control=True)
    trials = _trials(np.random.default_rng([seed, 99]), sims, 20, 0.0)
    best = _coverage(trials.logs.max(axis=2) - trials.reference)
    name = "coverage, of three loads that with the most answers counts, k = 20"
    cells.share(name, best, at_most=0.7, control=True)
    return cells.result()


def _trials(rng: np.random.Generator, sims: int, k: int, often: float, faster: float = 0.0) -> _Trials:
    """``often``: of the processes, which share begins its last compilation in a load that it comes to before it.

    Compilers and requests share one CPU, so that a load has fewer answers by what was compiled in it. A compilation
    that begins near the end of a load reaches into the next one.
    """
    n_loads = 1 + SPEC.repeats
    rate = -np.log1p(-often) / LOAD_S
    shape = (sims, k, 1)
    begins_s = rng.exponential(1 / rate, shape) if rate > 0 else np.full(shape, np.inf)
    ends_s = begins_s + rng.uniform(*COMPILES_S, shape)
    from_s = LOAD_S * np.arange(n_loads)
    compile_s = np.clip(np.minimum(ends_s, from_s + LOAD_S) - np.maximum(begins_s, from_s), 0.0, None)
    warm = TRUTH + PROCESS * rng.standard_normal(shape) + LOAD * rng.standard_normal((sims, k, n_loads))
    not_yet = np.where(from_s < begins_s, faster, 0.0)
    reference = PROCESS * rng.standard_normal((sims, k)) + LOAD * rng.standard_normal((sims, k))
    return _Trials(warm - not_yet + np.log1p(-compile_s / LOAD_S), compile_s, reference)


def _is_repeated(compile_s: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which loads the rule offers again: the very function that the runner asks."""
    asked = [SPEC.compiled_too_long(float(item), LOAD_S) for item in compile_s.ravel()]
    return np.array(asked).reshape(compile_s.shape)


def _coverage(differences: Floats) -> float:
    """Share of the sessions, shape (sims, blocks), whose paired log-t interval holds the truth."""
    return covered(intervals.student(differences, LEVEL), TRUTH)
