# SPDX-License-Identifier: Apache-2.0
"""The order of trials: complete blocks, shuffled, and following from (experiment, profile, seed) alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.model import (
    CalibrationSpec,
    ClosedLoad,
    Experiment,
    Level,
    Load,
    OpenLoad,
    Plan,
    ProfileDefinition,
    ScaledLoad,
    Variant,
    WarmUpSpec,
    make_plan,
)
from harness.model.study import ProfileName

LOAD = Load(generator="wrk", profile=ClosedLoad(users=1, duration_s=1.0))
sizes = st.integers(1, 4)
seeds = st.integers(0, 2**32)


def experiment(n_variants: int, n_levels: int, blocks: int, *, profile: ProfileName = "quick") -> Experiment:
    return Experiment(
        name="made-up", title="Made up", question="Is the order random?", workload="strings", reference="v0",
        load="only", variants={f"v{number}": Variant(implementation="any") for number in range(n_variants)},
        factors={"level": {f"l{number}": Level() for number in range(n_levels)}},
        profiles={profile: ProfileDefinition(blocks=blocks, loads={"only": LOAD})},
    )  # fmt: skip


def keys(plan: Plan) -> list[tuple[str, bool]]:
    return [(trial.configuration.key, trial.duplicate) for trial in plan.trials]


@given(sizes, sizes, sizes, seeds)
@settings(max_examples=50, deadline=None)
def test_every_block_has_every_configuration(n_variants: int, n_levels: int, blocks: int, seed: int) -> None:
    plan = make_plan(experiment(n_variants, n_levels, blocks), "quick", seed)
    for block in range(1, blocks + 1):
        members = [trial for trial in plan.trials if trial.block == block]
        once = Counter(trial.configuration.key for trial in members if not trial.duplicate)
        assert len(once) == n_variants * n_levels and set(once.values()) == {1}
        duplicates = [trial.configuration.key for trial in members if trial.duplicate]
        assert sorted(duplicates) == sorted(f"v0,level=l{number}" for number in range(n_levels))


@pytest.mark.parametrize("design", ["alternating", "duet"])
@given(sizes, sizes, sizes, seeds)
@settings(max_examples=50, deadline=None)
def test_more_blocks_keep_order(design: str, n_variants: int, n_levels: int, blocks: int, seed: int) -> None:
    short, long = (
        make_plan(experiment(n_variants, n_levels, n).model_copy(update={"design": design}), "quick", seed)
        for n in (blocks, blocks + 3)
    )
    assert long.trials[: len(short.trials)] == short.trials


def test_another_seed_gives_another_order_and_ids_sort_in_that_of_measurement() -> None:
    orders = {tuple(keys(make_plan(experiment(4, 2, 2), "quick", seed))) for seed in range(10)}
    assert len(orders) == 10
    ids = [trial.trial_id for trial in make_plan(experiment(4, 3, 20), "quick", 1).trials]
    assert len(set(ids)) == len(ids) and ids == sorted(ids)


def test_every_configuration_comes_first_about_equally_often() -> None:
    first = Counter(
        make_plan(experiment(4, 1, 1), "quick", seed).trials[0].configuration.key for seed in range(2000)
    )
    # five members a block, the reference twice: shares .4 and .2, five standard deviations wide
    assert abs(first["v0,level=l0"] - 800) < 110
    for name in ("v1", "v2", "v3"):
        assert abs(first[f"{name},level=l0"] - 400) < 90


def test_a_smoke_run_draws_no_conclusion_and_has_one_duplicate_a_block() -> None:
    plan = make_plan(experiment(2, 3, 2, profile="smoke"), "smoke", 1)
    duplicates = [(trial.block, trial.configuration.key) for trial in plan.trials if trial.duplicate]
    assert sorted(duplicates) == [(1, "v0,level=l0"), (2, "v0,level=l0")]


def duets(n_variants: int, n_levels: int, blocks: int) -> Experiment:
    """An experiment of which one profile is of duets, as all may be."""
    made = experiment(n_variants, n_levels, blocks)
    quick = made.profiles["quick"].model_copy(update={"design": "duet"})
    return made.model_copy(update={"profiles": {"quick": quick}})


@given(sizes, sizes, sizes, seeds)
@settings(max_examples=50, deadline=None)
def test_a_duet_has_each_pair_once_a_block(n_variants: int, n_levels: int, blocks: int, seed: int) -> None:
    plan = make_plan(duets(n_variants, n_levels, blocks), "quick", seed)
    trials = {trial.trial_id: trial for trial in plan.trials}
    assert len(trials) == len(plan.trials) == 2 * n_variants * n_levels * blocks
    assert [trial.position for trial in plan.trials] == list(range(1, len(plan.trials) + 1))
    found: Counter[tuple[int, str, bool]] = Counter()
    for lead, other in zip(plan.trials[::2], plan.trials[1::2], strict=True):
        assert lead.duet is not None and other.duet is not None
        assert (lead.duet.partner, other.duet.partner) == (other.trial_id, lead.trial_id)
        assert (lead.duet.leads, other.duet.leads) == (True, False)
        assert {lead.duet.side, other.duet.side} == {0, 1}
        assert lead.pair == other.pair == lead.trial_id
        assert lead.block == other.block and lead.configuration.levels == other.configuration.levels
        names = [lead.configuration.variant_name, other.configuration.variant_name]
        assert "v0" in names and lead.duplicate + other.duplicate == (names == ["v0", "v0"])
        key = max(lead.configuration.key, other.configuration.key)
        found[lead.block, key, lead.duplicate or other.duplicate] += 1
    assert set(found.values()) == {1}


def test_sides_and_leads_of_duets_are_drawn() -> None:
    plan = make_plan(duets(2, 1, 40), "quick", 1)
    drawn = Counter(
        (trial.duet.leads, trial.duet.side)
        for trial in plan.trials
        if trial.duet is not None and trial.configuration.variant_name == "v1"
    )
    assert len(drawn) == 4 and min(drawn.values()) > 2


@given(sizes, sizes, seeds)
@settings(max_examples=50, deadline=None)
def test_loads_of_a_process_are_in_the_files_order_or_drawn(n_variants: int, blocks: int, seed: int) -> None:
    levels = {f"l{number}": Level(load="only") for number in range(5)}
    in_file = experiment(n_variants, 1, blocks).model_copy(
        update={"factors": {"level": levels}, "same_process": "level"}
    )
    of_file = make_plan(in_file, "quick", seed)
    drawn = make_plan(in_file.model_copy(update={"same_process_order": "random"}), "quick", seed)

    def by_process(plan: Plan) -> list[list[str]]:
        processes: dict[str, list[str]] = {}
        for trial in plan.trials:
            first = trial.process_of or trial.trial_id
            processes.setdefault(first, []).append(trial.configuration.levels["level"])
        return list(processes.values())

    assert all(levels_of == list(levels) for levels_of in by_process(of_file))
    assert all(sorted(levels_of) == list(levels) for levels_of in by_process(drawn))
    assert len(by_process(of_file)) == len(by_process(drawn)) == blocks * (n_variants + 1)
    if len(by_process(drawn)) > 5:  # all alike, or all in order, by chance: one in 120 to the fifth
        assert len({tuple(levels_of) for levels_of in by_process(drawn)}) > 1


def test_a_load_may_be_a_share_of_the_capacity_of_the_variant_that_takes_it() -> None:
    share = {"model": "open", "rate_share": 0.5, "duration_s": 1.0}
    scaled = {
        name: ScaledLoad.model_validate(
            {"generator": "metronome", "of": of, "rows": "counted", "profile": share}
        )
        for name, of in (("own", "variant"), ("equal", "session"))
    }
    calibration = CalibrationSpec(generator="metronome", of="slowest")
    quick = ProfileDefinition(blocks=1, scaled_loads=scaled, calibration=calibration)
    made = experiment(2, 1, 1).model_copy(
        update={
            "factors": {"load": {name: Level(load=name) for name in scaled}},
            "profiles": {"quick": quick},
        }
    )
    of_variants = {"v0": 1000.0, "v1": 3000.0}
    plan = make_plan(made.calibrated("quick", 1000.0, of_variants), "quick", 1)
    rates = {
        trial.configuration.key: trial.configuration.load.profile.rate_per_s
        for trial in plan.trials
        if trial.configuration.load and isinstance(trial.configuration.load.profile, OpenLoad)
    }
    assert rates == {"v0,load=own": 500, "v0,load=equal": 500, "v1,load=own": 1500, "v1,load=equal": 500}
    assert all(
        trial.configuration.load and trial.configuration.load.rows == "counted" for trial in plan.trials
    )
    with pytest.raises(ValidationError, match="of each variant's capacity"):
        ProfileDefinition.model_validate({**quick.model_dump(), "calibration": {"generator": "metronome"}})


def test_a_level_may_leave_out_the_warm_up_in_windows_of_its_profile() -> None:
    made = experiment(1, 1, 1)
    asked = WarmUpSpec(generator="wrk")
    cold = made.model_copy(
        update={
            "factors": {"level": {"cold": Level(warm_up_windows=False, warm_up_requests=2), "warm": Level()}},
            "profiles": {"quick": made.profiles["quick"].model_copy(update={"warm_up": asked})},
        }
    )
    found = {
        trial.configuration.levels["level"]: trial.configuration
        for trial in make_plan(cold, "quick", 1).trials
    }
    assert (found["cold"].warm_up, found["cold"].warm_up_requests) == (None, 2)
    assert found["warm"].warm_up == asked
