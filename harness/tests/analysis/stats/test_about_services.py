# SPDX-License-Identifier: Apache-2.0
"""A ratio speaks of the services only where they, or an equal rate, bounded both arms."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.analysis.stats.about_services import TURNS
from harness.analysis.stats.comparisons import Comparison, compare
from harness.model import Verdict
from harness.model.age import with_age
from harness.model.formatting import verdict_words
from harness.tests.analysis.stats.test_comparisons import table

RATE, CPU, P99, RSS = "throughput_per_s", "cpu_s_per_request", "latency_p99_s", "rss_after_bytes"


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
        throughput_per_s=1_000.0 * speed * noise**0.01,
        cpu_s_per_request=frame[P99] / 100,
        rss_after_bytes=frame[P99] * 1e9,
        service_share=0.2,
        generator_share=0.7,
        backing_share=None,
        machine_share=0.01,
    )


def found(frame: pd.DataFrame, metric: str) -> Comparison:
    (one,) = compare(frame, metric, reference="go", margin=0.05)
    return one


@pytest.mark.parametrize("metric", [RATE, CPU, P99])
def test_where_both_arms_are_bound_by_the_service_every_metric_has_a_verdict(metric: str) -> None:
    one = found(trials("service", "service", rate=0.5), metric)
    assert one.about_services and one.verdict == Verdict.DIFFERENT
    assert one.bound_by == {"service": 20}


@pytest.mark.parametrize("metric", [RATE, CPU, P99])
@pytest.mark.parametrize("other", ["generator", "backing", "machine", "unknown"])
def test_where_an_arm_is_bound_by_something_else_there_is_none_and_it_is_named(
    metric: str, other: str
) -> None:
    one = found(trials("service", other, rate=0.5), metric)
    assert (one.about_services, one.verdict) == (False, Verdict.NOT_ABOUT_SERVICES)
    assert one.band is None and one.p_adjusted is None
    assert one.not_about is not None and "(10 of 20 trials)" in one.not_about
    assert one.ratio.value is not None  # the number stays; only what it says goes


@pytest.mark.parametrize("metric", [P99, "latency_mean_s"])
@pytest.mark.parametrize("sharing", [("go", "java"), ("java",)])
def test_latency_on_cpus_shared_with_the_generator_is_not_compared_and_the_rest_is(
    metric: str, sharing: tuple[str, ...]
) -> None:
    frame = trials("service", "service", rate=0.5).assign(latency_mean_s=lambda one: one[P99] / 3)
    shared = frame.assign(shares_cpus=frame["variant"].isin(sharing))
    assert found(frame, metric).about_services
    assert found(shared, metric).not_about == TURNS
    assert found(shared, RATE).about_services and found(shared, CPU).about_services


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
    one = found(trials(go, java, **more), metric)  # type: ignore[arg-type]  # counts and a rate
    assert one.about_services == (why is None)
    assert why is None or (one.not_about or "").startswith(why)


def test_tables_that_do_not_say_what_bounded_them_and_a_gate_left_open_have_no_condition() -> None:
    frame = trials("generator", "generator", rate=0.5)
    assert found(frame.drop(columns="bound_by"), RATE).about_services
    (one,) = compare(frame, RATE, reference="go", gated=False)
    assert one.verdict == Verdict.DIFFERENT


def test_tables_and_sentences_say_so_without_an_adjective() -> None:
    one = found(trials("generator", "generator", rate=0.5), RATE)
    assert with_age(one.verdict.words, one.young) == "not about the services" and one.p_adjusted is None
    words = verdict_words(one)
    assert words == "not about the services: bound by the generator (20 of 20 trials), and not compared with"


@pytest.mark.parametrize(
    ("latency", "java", "refused"),
    [(1.06, 0.87, True), (1.06, 0.97, False), (1.4, 0.87, False), (0.9, 0.87, False)],
    ids=["slower, and used less", "used alike", "slower at equal shares too", "faster, and used less"],
)
def test_unequal_shares_refuse_throughput_and_latency_of_a_closed_loop_where_they_turn_the_order(
    latency: float, java: float, refused: bool
) -> None:
    frame = trials("service", "service", rate=1 / latency)
    frame = frame.assign(
        service_share=frame["variant"].map({"go": 0.96, "java": java}), latency_mean_s=16 / frame[RATE]
    )
    said = [found(frame, metric) for metric in ("latency_mean_s", RATE)]
    assert [one.about_services for one in said] == [not refused] * 2
    assert found(frame, CPU).about_services
    why = "they used 87 % and 96 % of their CPUs, and at equal shares the order is the other way round"
    assert said[0].not_about == said[1].not_about == (why if refused else None)
    assert (said[0].ratio.value or 0) * (said[1].ratio.value or 0) == pytest.approx(1)
