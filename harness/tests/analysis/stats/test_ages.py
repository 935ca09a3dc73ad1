# SPDX-License-Identifier: Apache-2.0
"""A comparison says how old its processes were, and what it is made without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.ages import age_of_arm
from harness.analysis.stats.comparisons import Comparison, compare
from harness.model import Verdict
from harness.model.age import TrialAge
from harness.tests.analysis.trial_tables import trial_table

RATE, P99, CPU, RSS = "throughput_per_s", "latency_p99_s", "cpu_s_per_request", "rss_after_bytes"
FIRST = "time_to_first_response_s"


def trials(
    *java: str | None, go: str | None = "aot-compiled", ratio: float = 0.5, of_young: float = 0.5
) -> pd.DataFrame:
    """A block for each trial of the Java arm, of the age that is given; the ratio of young trials is another."""
    rng = np.random.default_rng(1)

    def row(block: int, variant: str, age: str | None) -> dict[str, object]:
        size = 1.0 if variant == "go" else of_young if age == "young" else ratio
        values = dict.fromkeys((RATE, P99, CPU, RSS, FIRST), 1000.0 * size * np.exp(rng.normal(0, 0.01)))
        about = {"block": block, "variant": variant, "bound_by": "service", "measurement_s": 10.0, "age": age}
        return about | values

    return trial_table(
        row(block, *arm) for block, age in enumerate(java, 1) for arm in (("go", go), ("java", age))
    )


def found(frame: pd.DataFrame, metric: str = RATE, *, gated: bool = True) -> Comparison:
    (comparison,) = compare(frame, metric, reference="go", margin=0.05, gated=gated)
    return comparison


@pytest.mark.parametrize(
    ("ages", "age"),
    [
        (["warm"] * 4, "warm"),
        (["warm"] * 3 + ["young"] * 2, "warm"),
        (["warm"] * 2 + ["young"] * 2, "young"),
        (["aot-compiled"] * 2 + ["young"], "aot-compiled"),
        ([None] * 4, "unknown"),
        ([None] * 3 + ["young"] * 2, "unknown"),
        ([None] * 2 + ["young"] * 2, "young"),
        (["warm"] * 2 + [None] * 2, "unknown"),
    ],
)
def test_an_arm_has_the_age_of_most_of_its_trials_and_is_never_warm_without_them(
    ages: list[TrialAge | None], age: str
) -> None:
    one = age_of_arm(pd.DataFrame({"age": ages, "measurement_s": 1.0}))
    assert one is not None and one.age == age
    assert (one.n, one.n_young, one.n_unknown) == (len(ages), ages.count("young"), ages.count(None))
    assert age_of_arm(pd.DataFrame({"age": ages, "measurement_s": None})) is None, "there was no load"


@pytest.mark.parametrize("metric", [RATE, P99, CPU, RSS])
@pytest.mark.parametrize(
    ("age", "words"),
    [
        ("young", "a result of young processes, not of warm services: java young"),
        (None, "nothing is known of the age of java: this is no result of warm services"),
        ("warm", None),
    ],
)
def test_a_comparison_says_how_old_its_processes_were_and_keeps_its_verdict(
    metric: str, age: str | None, words: str | None
) -> None:
    for gated in (True, False):
        comparison = found(trials(*[age] * 6), metric, gated=gated)
        assert comparison.verdict is Verdict.DIFFERENT and comparison.ages is not None
        assert (comparison.ages.young, comparison.ages.warm) == (age == "young", age == "warm")
        notes = [warning for warning in comparison.warnings if "warm services" in warning]
        assert notes == ([] if words is None else [words])


@pytest.mark.parametrize("metric", [RATE, P99, CPU])
def test_a_few_young_trials_are_left_out_with_their_blocks_and_the_ratio_with_them_stands_beside(
    metric: str,
) -> None:
    frame = trials(*["warm"] * 9, *["young"] * 3, of_young=0.4)
    one, warm_alone = found(frame, metric), found(frame[frame["block"] <= 9], metric)
    assert one.ratio == warm_alone.ratio and one.p_value == warm_alone.p_value
    assert (one.n_blocks, one.verdict) == (9, Verdict.DIFFERENT)
    assert one.ages is not None and (one.ages.variant.age, one.ages.variant.n_left_out) == ("warm", 3)
    assert one.beside is not None and one.beside.n_blocks == 12
    assert one.beside.ratio == found(frame.drop(columns="age"), metric).ratio
    words = "without 3 young of 12 trials of java; with them 0.47"
    assert any(warning.startswith(words) for warning in one.warnings)
    memory = found(frame, RSS)
    assert (memory.n_blocks, memory.beside) == (12, None)


def test_where_the_young_trials_decide_what_the_ratio_says_there_is_no_verdict() -> None:
    one = found(trials(*["warm"] * 7, *["young"] * 3, ratio=1.0, of_young=0.5))
    assert found(trials(*["warm"] * 7, ratio=1.0)).verdict is Verdict.EQUIVALENT
    assert one.verdict is Verdict.NOT_ABOUT_SERVICES and one.n_blocks == 7
    assert one.not_about is not None
    assert one.not_about.startswith("the ratio depends on 3 young of 10 trials of java: without them 1.0")


def test_five_blocks_with_a_young_trial_have_the_verdict_that_four_of_them_have_too() -> None:
    one = found(trials(*["warm"] * 4, "young", of_young=0.45))
    assert (one.n_blocks, one.verdict) == (4, Verdict.DIFFERENT)
    turned = found(trials(*["warm"] * 4, "young", ratio=1.0, of_young=0.2))
    assert turned.verdict is Verdict.NOT_ABOUT_SERVICES
    assert found(trials(*["warm"] * 4)).verdict is Verdict.INCONCLUSIVE
