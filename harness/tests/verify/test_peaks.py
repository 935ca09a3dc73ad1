# SPDX-License-Identifier: Apache-2.0
"""The verifications of attribution and of stops of a real service, in short; and what bounds a trial, made for real."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from harness.analysis.attribution.event_matching import coincidence_test
from harness.analysis.attribution.spans import Span
from harness.tests.support.available import cannot_tell, only_when_long
from harness.verify.real.bound import TRIES, Machinery
from harness.verify.real.sigstop import SHORTEST_S, judged, stop_service
from harness.verify.simulated import attribution, run_verify
from harness.verify.simulated.result import share

#: After a stop its queue drains for so long.
DRAINED_S = 0.1


def test_the_interval_of_the_pooled_share_holds_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    few = next(session for session in attribution.SESSIONS if session.rho == 0.9)
    monkeypatch.setattr(attribution, "SESSIONS", (few._replace(n_trials=8),))
    monkeypatch.setattr(attribution, "NAIVE", 0)
    result = run_verify("attribution", 40, 1)
    assert [cell for cell in result.cells if cell.refuted] == []
    assert sum(cell.control for cell in result.cells) == 1


def rhythm(rng: np.random.Generator, n: int) -> list[Span]:
    """Spans as regular as collections are: gaps of gamma law, lengths of 10 to 40 ms."""
    gaps = rng.gamma(6.0, 1.0, n + 1)
    starts = (np.cumsum(gaps)[:-1] / gaps.sum() * 60.0 + rng.uniform(0, 60.0)) % 60.0
    return sorted((float(s), float(s + rng.uniform(0.01, 0.04))) for s in starts)


def test_stalls_with_a_rhythm_of_their_own_seldom_seem_related_and_those_that_follow_pauses_do() -> None:
    rng, n = np.random.default_rng(99), 150
    chance = real = any_match = 0
    for _ in range(n):
        pauses, stalls = rhythm(rng, 40), rhythm(rng, 30)
        unrelated = coincidence_test(stalls, pauses, window=(0.0, 60.0), shifts=199)
        chance += unrelated.p_value is not None and unrelated.p_value <= 0.05
        any_match += unrelated.n_matched > 0
        # two in three stalls are pauses seen a little later, the rest something else
        mixed = sorted([*((low + 0.002, high + 0.004) for low, high in pauses[::2]), *stalls[::3]])
        related = coincidence_test(mixed, pauses, window=(0.0, 60.0), shifts=199)
        real += related.p_value is not None and related.p_value <= 0.05
    assert not share(n, name="called related", value=chance / n, at_most=0.06).refuted
    assert not share(n, name="seen", value=real / n, at_least=0.95).refuted
    assert any_match / n >= 0.5, "a match alone is no relation"


def test_a_real_service_stopped_at_known_times_shows_each_stop() -> None:
    stopped = stop_service(4, 1)
    stops, rows = stopped.stops, stopped.rows
    calm = [
        end - start
        for start, end in rows
        if not any(start <= high + DRAINED_S and low <= end for low, high in stops)
    ]
    if max(calm) > SHORTEST_S / 3:
        cannot_tell(
            f"the machine's other work held up answers for {max(calm) * 1e3:.0f} ms; stops begin at "
            f"{SHORTEST_S * 1e3:.0f} ms"
        )
    recall, _, shifted, explained = judged(stopped, 4, 1).cells
    assert recall.value == 1.0
    assert shifted.control and shifted.holds
    assert explained.control and explained.holds


TRUTH = {
    "a slowed generator": "generator", "a slowed database": "backing", "a rate below capacity": "offered",
    "a saturated service": "service",
}  # fmt: skip


@pytest.fixture(scope="module")
def machinery(tmp_path_factory: pytest.TempPathFactory) -> Machinery:
    """One for all kinds, which share services: each is built once."""
    return Machinery(tmp_path_factory.mktemp("bound"))


@only_when_long("trials that no other test may disturb")
@pytest.mark.parametrize("kind", TRUTH)
def test_each_kind_is_named_in_a_trial_that_nothing_disturbed(machinery: Machinery, kind: str) -> None:
    trials = machinery.trials(kind)
    trial = next((trial for trial in islice(trials, TRIES) if not trial.disturbed), None)
    trials.close()
    if trial is None:
        cannot_tell(f"other processes disturbed {TRIES} of {TRIES} trials")
    assert trial.bound.by == TRUTH[kind]
    if kind == "a slowed generator":
        assert not trial.flagged  # the flag looks at pinned CPUs and the session's headroom alone
