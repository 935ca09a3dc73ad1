# SPDX-License-Identifier: Apache-2.0
"""What the place in a duet does to a ratio is told apart from what the variants differ by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.duet_positions import PLACES, TrialKey, position_effects
from harness.model import DuetSeat

Seats = dict[TrialKey, DuetSeat]
#: The variants of the pairs of a block.
PAIRS: tuple[tuple[str, str], ...] = (("slow", "go"), ("go", "go"))


def duets(
    *, earlier: float = 1.0, first_half: float = 1.0, n_blocks: int = 20, sd: float = 0.01, seed: int = 1,
    always_first: bool = False,
) -> tuple[pd.DataFrame, Seats]:  # fmt: skip
    """Pairs of a slow variant beside the reference, and of the reference beside itself, with effects of the place."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    seats: Seats = {}
    for block in range(1, n_blocks + 1):
        for variants in PAIRS:
            shared = float(np.exp(rng.normal(0, 0.3)))
            order = list(enumerate(variants))
            rng.shuffle(order)
            side = 0 if always_first else int(rng.integers(2))
            ids = [f"{len(rows) + place:04d}" for place in (1, 2)]
            for place, (number, variant) in enumerate(order):
                half = side if place == 0 else 1 - side
                rate = 1000 * shared * (0.7 if variant == "slow" else 1.0) * float(np.exp(rng.normal(0, sd)))
                rate *= earlier if place == 0 else 1.0
                rate *= first_half if half == 0 else 1.0
                rows.append({
                    "experiment": "e", "session_id": "s", "trial_id": ids[place], "block": block,
                    "position": len(rows) + 1, "duplicate": variants[0] == "go" and number == 0,
                    "variant": variant, "configuration": variant, "excluded": False, "flags": "",
                    "duet_partner": ids[1 - place], "throughput_per_s": rate,
                })  # fmt: skip
                seats["s", ids[place]] = DuetSeat(
                    partner=ids[1 - place], leads=place == 0, side=0 if half == 0 else 1, interval_s=0.5
                )
    return pd.DataFrame(rows), seats


def test_effects_of_the_place_are_found_beside_a_large_one_of_the_variant() -> None:
    found = position_effects(*duets(earlier=1.05, first_half=0.97), "throughput_per_s")
    assert list(found) == list(PLACES)
    for name, truth in (("earlier", 1.05), ("first_half", 0.97)):
        one = found[name]
        assert one.low is not None and one.high is not None and one.value == pytest.approx(truth, abs=0.01)
        assert not one.low <= 1 <= one.high


def test_without_an_effect_the_interval_leaves_out_one_about_as_rarely_as_its_level() -> None:
    wrong = 0
    for seed in range(200):
        for one in position_effects(*duets(n_blocks=8, seed=seed), "throughput_per_s").values():
            assert one.low is not None and one.high is not None
            wrong += not one.low <= 1 <= one.high
    assert 6 <= wrong <= 40


def test_places_that_always_go_together_are_not_told_apart() -> None:
    found = position_effects(*duets(always_first=True), "throughput_per_s")
    assert all(
        one.value is None and "do not tell the places apart" in one.warnings[-1] for one in found.values()
    )


def test_a_pair_of_which_one_trial_is_excluded_does_not_count() -> None:
    trials, seats = duets()
    trials.loc[0, ["excluded", "throughput_per_s"]] = [True, 1e9]
    (one, _) = position_effects(trials, seats, "throughput_per_s").values()
    assert one.n_trials == len(trials) - 2 and one.value == pytest.approx(1.0, abs=0.02)


def test_without_duets_nothing_is_said() -> None:
    trials, _ = duets()
    assert all(one.value is None for one in position_effects(trials, {}, "throughput_per_s").values())
