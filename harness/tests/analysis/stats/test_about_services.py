# SPDX-License-Identifier: Apache-2.0
"""What a ratio speaks of: the services only where they or an equal rate bounded both arms, and how old they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.about_services import TURNS
from harness.analysis.stats.ages import age_of_arm
from harness.analysis.stats.comparisons import Comparison, compare
from harness.model import Verdict
from harness.model.age import TrialAge
from harness.tests.analysis.stats.test_comparisons import table
from harness.tests.analysis.trial_tables import trial_table

RATE, CPU, RSS = "throughput_per_s", "cpu_s_per_request", "rss_after_bytes"
MEAN, P50, P99 = "latency_mean_s", "latency_p50_s", "latency_p99_s"
NO_VERDICT = Verdict.NOT_ABOUT_SERVICES


def trials(go: str, java: str, *, rate: float = 1.0, n_go: int = 10, n_java: int = 10) -> pd.DataFrame:
    """Ten blocks; the first ``n`` trials of an arm are bound as said, the others by something unknown."""
    frame = table(10)
    frame = frame[frame["logging"] == "on"].reset_index(drop=True)
    known = {"go": (go, n_go), "java": (java, n_java)}
    frame["bound_by"] = [
        known[variant][0] if block <= known[variant][1] else "unknown"
        for variant, block in zip(frame["variant"], frame["block"], strict=True)
    ]
    speed = frame["variant"].map({"go": 1.0, "java": rate})
    noise = frame[P99] / frame.groupby("variant")[P99].transform("mean")
    return frame.assign(
        throughput_per_s=1_000.0 * speed * noise**0.01, cpu_s_per_request=frame[P99] / 100,
        rss_after_bytes=frame[P99] * 1e9, service_share=0.2, generator_share=0.7, backing_share=None, machine_share=0.01,
    )  # fmt: skip


def at_a_rate(go_s: float, java_s: float, metric: str = MEAN, **columns: float | str | None) -> pd.DataFrame:
    """Ten blocks that kept an offered rate, with one latency of each service."""
    frame = trials("offered", "offered")
    noise = 1 + 0.01 * np.random.default_rng(3).standard_normal(len(frame))
    return frame.assign(**{metric: frame["variant"].map({"go": go_s, "java": java_s}) * noise, **columns})


def compared(frame: pd.DataFrame, metric: str = MEAN) -> Comparison:
    (comparison,) = compare(frame, metric, reference="go", margin=0.05)
    return comparison


@pytest.mark.parametrize("metric", [P99, MEAN])
@pytest.mark.parametrize("sharing", [("go", "java"), ("java",)])
def test_latency_on_cpus_shared_with_the_generator_is_refused(metric: str, sharing: tuple[str, ...]) -> None:
    frame = trials("service", "service", rate=0.5).assign(latency_mean_s=lambda own: own[P99] / 3)
    shared = frame.assign(shares_cpus=frame["variant"].isin(sharing))
    assert compared(frame, metric).about_services
    assert compared(shared, metric).not_about == TURNS
    assert compared(shared, RATE).about_services and compared(shared, CPU).about_services


@pytest.mark.parametrize(
    ("model", "rate", "about"), [("open", 1.0, True), ("open", 0.9, False), ("closed", 1.0, False)]
)
def test_cpu_time_at_an_equal_rate_is_compared_whatever_is_busy(model: str, rate: float, about: bool) -> None:
    frame = trials("machine", "backing", rate=rate).assign(load_model=model)
    assert compared(frame, CPU).about_services == about
    assert not compared(frame, P99).about_services and not compared(frame, RATE).about_services


@pytest.mark.parametrize(("answered", "about"), [(1.0, True), (0.98, False)])
def test_latency_of_a_busy_service_is_compared_where_it_keeps_the_rate(answered: float, about: bool) -> None:
    frame = trials("service", "offered").assign(offered_per_s=1_000.0)
    frame = frame.assign(throughput_per_s=frame["variant"].map({"go": 1_000.0 * answered, "java": 1_000.0}))
    assert compared(frame, P99).about_services == about
    assert not compared(frame, RATE).about_services


SHARED = "bound by shared CPUs, most used by the generator (20 of 20 trials)"
APART = "rates differ by 11 % (900 against 1,000/s), more than 5 %"


@pytest.mark.parametrize(
    ("go", "java", "more", "metric", "why"),
    [
        ("service", "service", {"rate": 0.5, "n_java": 8}, RATE, None),  # eight of ten are enough
        ("service", "service", {"rate": 0.5, "n_java": 7}, RATE, "bound by nothing that was recorded (3 of 20 trials)"),
        ("offered", "offered", {}, RATE, "bound by the offered rate (20 of 20 trials)"),
        ("offered", "offered", {}, P99, None),
        ("offered", "offered", {}, CPU, None),
        ("offered", "offered", {"rate": 0.9}, P99, APART),
        ("offered", "offered", {"rate": 0.9}, CPU, APART),
        ("generator", "generator", {"rate": 0.5}, P99, "bound by the generator (20 of 20 trials); rates differ"),
        ("generator", "generator", {}, RSS, None),  # memory has no condition
        ("machine", "machine", {"rate": 0.5}, RATE, SHARED),
    ],
)  # fmt: skip
def test_a_ratio_has_the_condition_of_its_metric(
    go: str, java: str, more: dict[str, float], metric: str, why: str | None
) -> None:
    comparison = compared(trials(go, java, **more), metric)  # type: ignore[arg-type]  # counts and a rate
    assert comparison.about_services == (why is None)
    assert comparison.ratio.value is not None  # the number stays; only what it says goes
    if why is not None:
        assert (comparison.not_about or "").startswith(why)
        assert (comparison.verdict, comparison.p_adjusted) == (NO_VERDICT, None)


def test_tables_that_do_not_say_what_bounded_them_and_a_gate_left_open_have_no_condition() -> None:
    frame = trials("generator", "generator", rate=0.5)
    assert compared(frame.drop(columns="bound_by"), RATE).about_services
    (comparison,) = compare(frame, RATE, reference="go", gated=False)
    assert comparison.verdict == Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("latency", "java", "refused"),
    [(1.06, 0.87, True), (1.06, 0.97, False), (1.4, 0.87, False), (0.9, 0.87, False)],
    ids=["slower, and used less", "used alike", "slower at equal shares too", "faster, and used less"],
)
def test_unequal_shares_that_turn_the_order_are_refused(latency: float, java: float, refused: bool) -> None:
    frame = trials("service", "service", rate=1 / latency)
    shares = frame["variant"].map({"go": 0.96, "java": java})
    frame = frame.assign(service_share=shares, latency_mean_s=16 / frame[RATE])
    why = "they used 87 % and 96 % of their CPUs, and at equal shares the order is the other way round"
    for metric in (MEAN, RATE):
        assert compared(frame, metric).not_about == (why if refused else None)
    assert compared(frame, CPU).about_services


@pytest.mark.parametrize(
    ("java_s", "echo_s", "verdict"),
    [
        (3e-3, 9e-4, NO_VERDICT), (3e-3, 5e-4, Verdict.DIFFERENT), (3e-3, None, Verdict.DIFFERENT),
        (1.5e-3, 1e-4, Verdict.EQUIVALENT), (1.5e-3, 5e-4, Verdict.INCONCLUSIVE), (1.5e-3, None, Verdict.EQUIVALENT),
    ],
)  # fmt: skip
def test_the_tools_part_limits_what_is_said(java_s: float, echo_s: float | None, verdict: Verdict) -> None:
    comparison = compared(at_a_rate(1.5e-3, java_s, echo_latency_mean_s=echo_s, generator="vegeta"))
    assert comparison.verdict == verdict
    assert comparison.ratio.value == pytest.approx(java_s / 1.5e-3, rel=0.02)  # the number stays
    assert (comparison.margin is None) == (echo_s is not None and echo_s > 1e-4)
    warnings = " ".join(comparison.warnings)
    assert ("the ratio of the services is farther from 1" in warnings) == (comparison.margin is None)
    part = "the echo service has 0.90 ms under the same load, 60 % of the smaller latency"
    assert comparison.not_about in (None, f"mostly not the services' own ({part})")


@pytest.mark.parametrize(
    ("metric", "latency_s", "part"),
    [
        (MEAN, 1.25e-3, "wrk2 sends about 1.0 ms late, 80 % of the smaller latency"),
        (P50, 1.25e-3, "wrk2 sends about 1.0 ms late, 80 % of the smaller latency"),
        (P99, 2.5e-3, "wrk2 sends up to 2.0 ms late, 80 % of the smaller latency"),
        (P99, 1e-3, "wrk2 sends up to 2.0 ms late, 100 % of the smaller latency"),
    ],
)
def test_without_the_echo_services_latency_lateness_counts(metric: str, latency_s: float, part: str) -> None:
    frame = at_a_rate(latency_s, 10 * latency_s, metric, generator="wrk2")
    assert compared(frame, metric).not_about == f"mostly not the services' own ({part})"
    assert compared(frame.assign(generator="vegeta"), metric).about_services
    assert compared(frame.assign(bound_by="service"), metric).about_services, "of latencies at a rate alone"


FIRST = "time_to_first_response_s"


def aged(
    *java: str | None, go: str | None = "aot-compiled", ratio: float = 0.5, of_young: float = 0.5
) -> pd.DataFrame:
    """A block for each trial of the Java arm, of the age that is given; the ratio of young trials is another."""
    rng = np.random.default_rng(1)

    def row(block: int, variant: str, age: str | None) -> dict[str, object]:
        size = 1.0 if variant == "go" else of_young if age == "young" else ratio
        values = dict.fromkeys((RATE, P99, CPU, RSS, FIRST), 1000.0 * size * np.exp(rng.normal(0, 0.01)))
        about = {"block": block, "variant": variant, "bound_by": "service", "measurement_s": 10.0, "age": age}
        return about | values

    pairs = (((block, "go", go), (block, "java", age)) for block, age in enumerate(java, 1))
    return trial_table(row(*arm) for pair in pairs for arm in pair)


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
def test_an_arm_has_the_age_of_most_of_its_trials(ages: list[TrialAge | None], age: str) -> None:
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
def test_a_comparison_says_the_ages_of_processes(metric: str, age: str | None, words: str | None) -> None:
    for gated in (True, False):
        comparison = found(aged(*[age] * 6), metric, gated=gated)
        assert comparison.verdict is Verdict.DIFFERENT and comparison.ages is not None
        assert (comparison.ages.young, comparison.ages.warm) == (age == "young", age == "warm")
        notes = [warning for warning in comparison.warnings if "warm services" in warning]
        assert notes == ([] if words is None else [words])


@pytest.mark.parametrize("metric", [RATE, P99, CPU])
def test_a_few_young_trials_are_left_out_with_their_blocks_and_the_ratio_with_them_told(metric: str) -> None:
    frame = aged(*["warm"] * 9, *["young"] * 3, of_young=0.4)
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
    one = found(aged(*["warm"] * 7, *["young"] * 3, ratio=1.0, of_young=0.5))
    assert found(aged(*["warm"] * 7, ratio=1.0)).verdict is Verdict.EQUIVALENT
    assert one.verdict is Verdict.NOT_ABOUT_SERVICES and one.n_blocks == 7
    assert one.not_about is not None
    assert one.not_about.startswith("the ratio depends on 3 young of 10 trials of java: without them 1.0")


def test_five_blocks_with_a_young_trial_have_the_verdict_that_four_of_them_have_too() -> None:
    one = found(aged(*["warm"] * 4, "young", of_young=0.45))
    assert (one.n_blocks, one.verdict) == (4, Verdict.DIFFERENT)
    turned = found(aged(*["warm"] * 4, "young", ratio=1.0, of_young=0.2))
    assert turned.verdict is Verdict.NOT_ABOUT_SERVICES
    assert found(aged(*["warm"] * 4)).verdict is Verdict.INCONCLUSIVE
