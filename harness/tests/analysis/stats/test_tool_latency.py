# SPDX-License-Identifier: Apache-2.0
"""At a rate, the load tool's own part of a latency bounds what a ratio of latencies can say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.about_services import tool_part
from harness.analysis.stats.comparisons import Comparison, compare
from harness.model import Verdict
from harness.tests.analysis.stats.test_about_services import trials

MEAN, P50, P99 = "latency_mean_s", "latency_p50_s", "latency_p99_s"


def at_a_rate(go_s: float, java_s: float, metric: str = MEAN, **columns: float | str | None) -> pd.DataFrame:
    """Ten blocks that kept an offered rate, with one latency of each service."""
    frame = trials("offered", "offered")
    noise = 1 + 0.01 * np.random.default_rng(3).standard_normal(len(frame))
    return frame.assign(**{metric: frame["variant"].map({"go": go_s, "java": java_s}) * noise, **columns})


def found(frame: pd.DataFrame, metric: str = MEAN) -> Comparison:
    (one,) = compare(frame, metric, reference="go", margin=0.05)
    return one


@pytest.mark.parametrize(
    ("echo_s", "verdict"),
    [(9e-4, Verdict.NOT_ABOUT_SERVICES), (5e-4, Verdict.DIFFERENT), (None, Verdict.DIFFERENT)],
)
def test_a_ratio_that_is_mostly_the_tools_has_no_verdict(echo_s: float | None, verdict: Verdict) -> None:
    one = found(at_a_rate(1.5e-3, 3e-3, echo_latency_mean_s=echo_s, generator="vegeta"))
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
    one = found(at_a_rate(1.5e-3, 1.5e-3, echo_latency_mean_s=echo_s, generator="vegeta"))
    assert one.verdict == verdict
    assert (one.margin is None, one.band is None) == (verdict == Verdict.INCONCLUSIVE,) * 2
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
    assert found(frame, metric).not_about == f"mostly not the services' own ({said})"
    assert found(frame.assign(generator="vegeta"), metric).about_services


def test_what_was_measured_goes_before_what_is_known() -> None:
    frame = at_a_rate(1.5e-3, 3e-3, generator="wrk2", echo_latency_mean_s=1e-4)
    assert found(frame).verdict == Verdict.DIFFERENT
    assert found(frame.assign(echo_latency_mean_s=None)).verdict == Verdict.NOT_ABOUT_SERVICES


def test_at_saturation_the_tools_part_is_not_on_top() -> None:
    frame = at_a_rate(1.5e-3, 3e-3, generator="wrk2", echo_latency_mean_s=1.4e-3)
    assert found(frame.assign(bound_by="service")).verdict == Verdict.DIFFERENT


def test_only_latencies_have_such_a_part() -> None:
    frame = at_a_rate(1.5e-3, 3e-3, generator="wrk2", echo_latency_mean_s=1.4e-3)
    go, java = (frame[frame["variant"] == name] for name in ("go", "java"))
    for metric in ("cpu_s_per_request", "throughput_per_s", "latency_max_s", "rss_after_bytes"):
        assert tool_part(go, java, metric) is None
    part = tool_part(go, java, MEAN)
    assert part is not None and part.refused and part.share == pytest.approx(1.4 / 1.5, rel=0.02)
