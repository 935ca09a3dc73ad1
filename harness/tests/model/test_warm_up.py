# SPDX-License-Identifier: Apache-2.0
"""When a service is settled, and what it needed to become warm."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.warmup.curves import cold_start
from harness.model import WarmUpRecord, WarmUpSpec, WarmUpWindow
from harness.model.warm_up import unsettled

SPEC = WarmUpSpec(generator="wrk", n_windows=5)


def windows(
    rates: list[float], *, cpu_s: float | None = 0.9, compile_s: float | None = None
) -> tuple[WarmUpWindow, ...]:
    """Return windows of a second at these rates, on a core that is always used."""
    return tuple(
        WarmUpWindow(
            start_s=1.02 * number, duration_s=1.0, n_requests=round(rate), n_errors=0,
            cpu_s=cpu_s, compile_s=compile_s,
        )
        for number, rate in enumerate(rates)
    )  # fmt: skip


def record(seen: tuple[WarmUpWindow, ...]) -> WarmUpRecord:
    left = unsettled(seen, SPEC)
    return WarmUpRecord(spec=SPEC, windows=seen, end="not settled" if left else "settled", unsettled=left)


def test_two_groups_of_windows_are_needed() -> None:
    assert unsettled(windows([100.0] * 9), SPEC) == ("9 of 10 windows",)
    assert unsettled(windows([100.0] * 10), SPEC) == ()


def test_a_rate_that_still_rises_is_not_settled_nor_is_the_cost_of_a_request() -> None:
    rising = windows([1000.0 * 1.02**n for n in range(10)])
    assert unsettled(rising, SPEC) == ("throughput", "CPU time per request")


def test_one_window_that_something_else_disturbed_does_not_count() -> None:
    rates = [1000.0] * 10
    rates[7] = 400.0
    assert unsettled(windows(rates), SPEC) == ()


def test_compilers_at_work_are_not_settled_whatever_the_rate() -> None:
    assert unsettled(windows([1000.0] * 10, compile_s=0.2), SPEC) == ("JIT compilation",)
    assert unsettled(windows([1000.0] * 10, compile_s=0.01), SPEC) == ()
    assert unsettled(windows([1000.0] * 10, cpu_s=None), SPEC) == ()  # it cannot be read: left out


@pytest.mark.parametrize("scatter", [0.05, 0.10, 0.15])
def test_a_rate_that_scatters_widely_settles_all_the_same(scatter: float) -> None:
    rng = np.random.default_rng(11)
    lasted = []
    for _ in range(200):
        rates = list(rng.normal(1000.0, 1000.0 * scatter, 90))
        lasted.append(next((n for n in range(10, 91) if not unsettled(windows(rates[:n]), SPEC)), 91))
    assert np.median(lasted) <= 14
    assert np.mean([n > 90 for n in lasted]) <= 0.02


def test_a_rate_that_scatters_and_rises_is_called_settled_hardly_ever() -> None:
    rng = np.random.default_rng(12)
    called = 0
    for _ in range(500):
        rates = 1000.0 * 1.03 ** np.arange(10) * rng.normal(1.0, 0.05, 10)
        called += not unsettled(windows(list(rates)), SPEC)
    assert called / 500 <= 0.15


def test_cold_ends_with_the_first_window_that_is_near_warm_and_stays_there() -> None:
    rates = [100.0, 400.0, 700.0, 950.0, *[1000.0] * 10]
    cold = cold_start(record(windows(rates)))
    assert cold.seconds == pytest.approx(3 * 1.02)
    assert cold.n_requests == 1200
    assert cold.cpu_s == pytest.approx(2.7)
    # 14 windows of .9 s, less the warm cost of all their requests
    assert cold.extra_cpu_s == pytest.approx(14 * 0.9 - sum(rates) * 0.9 / 1000)


def test_a_single_quick_window_is_not_the_end_of_cold() -> None:
    rates = [100.0, 950.0, 300.0, 500.0, 980.0, *[1000.0] * 10]
    assert cold_start(record(windows(rates))).seconds == pytest.approx(4 * 1.02)


def test_warm_from_the_first_window_is_zero_and_a_late_disturbance_does_not_change_it() -> None:
    rates = [950.0, *[1000.0] * 9]
    assert cold_start(record(windows(rates))).seconds == 0
    rates[5] = 300.0
    cold = cold_start(record(windows(rates)))
    assert (cold.seconds, cold.n_requests, cold.cpu_s) == (0, 0, 0)


def test_what_never_settled_has_no_end_of_cold() -> None:
    cold = cold_start(record(windows([1000.0 * 1.05**n for n in range(20)])))
    assert (cold.seconds, cold.n_requests, cold.cpu_s, cold.extra_cpu_s) == (None, None, None, None)
