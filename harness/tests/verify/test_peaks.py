# SPDX-License-Identifier: Apache-2.0
"""Rules for the verifications of stalls, attribution and omission, in their short form."""

from __future__ import annotations

import numpy as np
import pytest

from harness.tests.support.available import cannot_tell
from harness.verify.real.sigstop import SHORTEST_S, judged, stop_service
from harness.verify.simulated import attribution, omission, run_verify
from harness.verify.simulated import stalls as row
from harness.verify.simulated.queueing import Pauses


@pytest.mark.parametrize("name", ["attribution", "omission"])
def test_a_row_holds_with_its_control_in_its_short_form(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(omission, "_USERS", omission._USERS[:1])  # the smallest of its closed loops
    monkeypatch.setattr(attribution, "_LOADS", attribution._LOADS[:2])
    monkeypatch.setattr(attribution, "SESSIONS", ())
    found = run_verify(name, {"attribution": 60, "omission": 10}[name], 1)
    assert [cell for cell in found.cells if not cell.holds] == []
    assert any(cell.control for cell in found.cells)


def test_the_interval_of_the_pooled_share_holds_the_truth_and_one_over_requests_does_not() -> None:
    few = next(one for one in attribution.SESSIONS if one.rho == 0.9)
    found = attribution.simulate_sessions(few._replace(n_trials=8), 40, np.random.default_rng(1), naive=True)
    assert len(found.errors("clear")) >= 20
    assert found.coverage("clear") >= 0.85
    assert found.n_held_naively / 40 < 0.8
    assert abs(found.truth["clear"] - found.without) < 0.05


def test_stalls_hold_on_slow_loads_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    # The row's own scenarios, without the two faster rates that take its time.
    slow = [s for s in row.open_loops() if s.name == "200/s"]
    new = [s for s in row.fresh() if "300/s" in s.name]
    monkeypatch.setattr(row, "open_loops", lambda: slow)
    monkeypatch.setattr(row, "fresh", lambda: new)
    monkeypatch.setattr(row, "closed_loops", list)
    found = row.stalls(30, 1)
    assert [cell for cell in found.cells if not cell.holds] == []
    assert sum(cell.control for cell in found.cells) == 2


def test_a_pause_too_small_to_be_seen_counts_neither_way() -> None:
    start = np.arange(0.0, 2.0, 0.001)
    latency = np.full(len(start), 0.002)
    pauses = Pauses(starts_s=(0.5, 1.0), lengths_s=(0.004, 0.05))
    wanted = row.to_find(pauses, start, latency + 0.01, 0.02)
    assert row.scored([(0.5, 0.504), (1.0, 1.05)], wanted) == row.Score(1, 1, 1)
    assert row.scored([(1.5, 1.6)], wanted) == row.Score(0, 1, 1)


def test_a_real_service_stopped_at_known_times_shows_each_stop() -> None:
    stopped = stop_service(4, 1)
    if stopped.noise_s > SHORTEST_S / 3:
        cannot_tell(
            f"the machine's other work held up answers for {stopped.noise_s * 1e3:.0f} ms; stops begin at "
            f"{SHORTEST_S * 1e3:.0f} ms"
        )
    recall, _, shifted, explained = judged(stopped, 4, 1).cells
    assert recall.value == 1.0
    assert shifted.control and shifted.holds
    assert explained.control and explained.holds
