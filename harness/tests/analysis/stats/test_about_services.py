# SPDX-License-Identifier: Apache-2.0
"""A ratio speaks of the services only where they, or an equal rate, bounded both arms, and not the load tool's latency."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.about_services import TURNS, tool_part
from harness.analysis.stats.comparisons import Comparison, compare
from harness.model import Verdict
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
    assert one.p_adjusted is None
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


MEAN, P50 = "latency_mean_s", "latency_p50_s"


def at_a_rate(go_s: float, java_s: float, metric: str = MEAN, **columns: float | str | None) -> pd.DataFrame:
    """Ten blocks that kept an offered rate, with one latency of each service."""
    frame = trials("offered", "offered")
    noise = 1 + 0.01 * np.random.default_rng(3).standard_normal(len(frame))
    return frame.assign(**{metric: frame["variant"].map({"go": go_s, "java": java_s}) * noise, **columns})


def compared(frame: pd.DataFrame, metric: str = MEAN) -> Comparison:
    (one,) = compare(frame, metric, reference="go", margin=0.05)
    return one


@pytest.mark.parametrize(
    ("echo_s", "verdict"),
    [(9e-4, Verdict.NOT_ABOUT_SERVICES), (5e-4, Verdict.DIFFERENT), (None, Verdict.DIFFERENT)],
)
def test_a_ratio_that_is_mostly_the_tools_has_no_verdict(echo_s: float | None, verdict: Verdict) -> None:
    one = compared(at_a_rate(1.5e-3, 3e-3, echo_latency_mean_s=echo_s, generator="vegeta"))
    assert one.verdict == verdict and one.about_services == (verdict != Verdict.NOT_ABOUT_SERVICES)
    assert one.ratio.value == pytest.approx(2, rel=0.02)  # the number stays
    if not one.about_services:
        assert one.not_about == (
            "mostly not the services' own (the echo service has 0.90 ms under the same load, 60 % of the "
            "smaller latency)"
        )


@pytest.mark.parametrize(
    ("echo_s", "verdict"),
    [(1e-4, Verdict.EQUIVALENT), (5e-4, Verdict.INCONCLUSIVE), (None, Verdict.EQUIVALENT)],
)
def test_above_a_tenth_alike_latencies_do_not_make_alike_services(
    echo_s: float | None, verdict: Verdict
) -> None:
    one = compared(at_a_rate(1.5e-3, 1.5e-3, echo_latency_mean_s=echo_s, generator="vegeta"))
    assert one.verdict == verdict
    assert (one.margin is None) == (verdict == Verdict.INCONCLUSIVE)
    warning = "the ratio of the services is farther from 1"
    assert (warning in " ".join(one.warnings)) == (verdict == Verdict.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("metric", "latency_s", "said"),
    [
        (MEAN, 1.25e-3, "wrk2 sends about 1.0 ms late, 80 % of the smaller latency"),
        (P50, 1.25e-3, "wrk2 sends about 1.0 ms late, 80 % of the smaller latency"),
        (P99, 2.5e-3, "wrk2 sends up to 2.0 ms late, 80 % of the smaller latency"),
        (P99, 1e-3, "wrk2 sends up to 2.0 ms late, 100 % of the smaller latency"),
    ],
)
def test_where_the_echo_services_latency_was_not_kept_the_known_lateness_counts(
    metric: str, latency_s: float, said: str
) -> None:
    frame = at_a_rate(latency_s, 10 * latency_s, metric, generator="wrk2")
    assert compared(frame, metric).not_about == f"mostly not the services' own ({said})"
    assert compared(frame.assign(generator="vegeta"), metric).about_services


def test_at_saturation_the_tools_part_is_not_on_top() -> None:
    frame = at_a_rate(1.5e-3, 3e-3, generator="wrk2", echo_latency_mean_s=1.4e-3)
    assert compared(frame.assign(bound_by="service")).verdict == Verdict.DIFFERENT


def test_only_latencies_have_such_a_part() -> None:
    frame = at_a_rate(1.5e-3, 3e-3, generator="wrk2", echo_latency_mean_s=1.4e-3)
    go, java = (frame[frame["variant"] == name] for name in ("go", "java"))
    for metric in ("cpu_s_per_request", "throughput_per_s", "latency_max_s", "rss_after_bytes"):
        assert tool_part(go, java, metric) is None
    part = tool_part(go, java, MEAN)
    assert part is not None and part.refused and part.share == pytest.approx(1.4 / 1.5, rel=0.02)
