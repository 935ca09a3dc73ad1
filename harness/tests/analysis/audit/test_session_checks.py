# SPDX-License-Identifier: Apache-2.0
"""Validity of a session: equal arms and cells, curves of warm-up, and a metric that follows the speed of the CPUs."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import product

import numpy as np
import pandas as pd
import pytest

from harness.analysis.audit.session_checks import (
    LAW,
    AuditedTrial,
    TrialCheck,
    audit_trial,
    equal_arms,
    equal_cells,
    leading_metric,
    slope_within,
    speed_response,
)
from harness.analysis.warmup.classify import SteadyState
from harness.analysis.warmup.curves import WINDOWS, warm_up_curve, warm_up_table
from harness.errors import InputError
from harness.formats.wrk_histogram import UNDONE, LatencyHistogram
from harness.model import AnswerCount, ClosedLoad, LoadProfile, LoadSummary, OpenLoad
from harness.tests.analysis.trial_tables import trial_table
from harness.tests.support.made_up_trials import uneven_speeds


def session(*, blocks: int = 8, slope: float = 0.0, noise: float = 0.02, seed: int = 1) -> pd.DataFrame:
    """Three equal trials a block, whose values drift by the factor exp(slope) over the session."""
    n = 3 * blocks
    scatter = noise * np.random.default_rng(seed).standard_normal(n)
    values = 1000 * np.exp(slope * np.arange(n) / (n - 1) + scatter)
    rows = ({"block": n // 3 + 1, "variant": "a", "throughput_per_s": each} for n, each in enumerate(values))
    return trial_table(rows)


def test_measuring_one_arm_after_the_other_makes_a_difference_of_drift_and_too_few_trials_say_so() -> None:
    rates = [equal_arms(session(seed=seed), "throughput_per_s").blocked.value for seed in range(12)]
    assert 0.01 < float(np.mean([rate for rate in rates if rate is not None])) < 0.10
    arms = equal_arms(session(slope=0.3, noise=0.01), "throughput_per_s")
    assert arms.ordered.high is not None and arms.ordered.high < 1
    assert (arms.blocked.value or 0) < 0.2
    few = equal_arms(session(blocks=2), "throughput_per_s")
    assert few.blocked.value is None and few.ordered.value is not None
    with pytest.raises(InputError, match="too few equal trials"):
        equal_arms(session(blocks=1), "throughput_per_s")


def requests(n: int, cold: float, rng: np.random.Generator) -> pd.DataFrame:
    """The first fifth of the requests takes ``cold`` times as long."""
    latency = 0.002 * rng.lognormal(0, 0.2, n) * np.where(np.arange(n) < n / 5, cold, 1.0)
    return pd.DataFrame({"start_epoch_s": 1.7e9 + np.cumsum(latency), "latency_s": latency, "ok": True})


def test_a_cold_start_is_a_warm_up_that_ends_where_the_level_ends_and_a_short_trial_is_undecidable() -> None:
    frame = requests(8000, 1.3, np.random.default_rng(1))
    about = {"trial": "e/s/t", "variant": "v", "label": "V"}
    curve = warm_up_curve(frame, **about, block=1)
    assert curve.found.kind == SteadyState.WARM_UP
    assert len(curve.at_s) == WINDOWS
    ends = float(frame["start_epoch_s"].iloc[1600] - frame["start_epoch_s"].iloc[0])
    assert curve.steady_from_s == pytest.approx(ends, rel=0.05)
    assert curve.cold_ratio == pytest.approx(1.3, rel=0.05)
    (row,) = warm_up_table([curve])
    assert row.classes[SteadyState.WARM_UP] == 1 and row.steady_from_s.low is None  # one trial
    short = warm_up_curve(frame[:500], **about, block=1)
    assert short.found.kind == SteadyState.UNDECIDABLE and "50 windows" in short.found.warnings[0]
    assert warm_up_table([short])[0].steady_from_s.value is None


def doubled(*, duplicate_shift: float = 1.0) -> pd.DataFrame:
    """Two variants and the reference's duplicate, with a log line and without."""
    rng = np.random.default_rng(1)
    arms = ("go", False, 1.0), ("go", True, duplicate_shift), ("java", False, 0.8)
    return trial_table(
        {
            "block": block, "duplicate": duplicate, "variant": variant, "logging": logging,
            "configuration": f"{variant},{logging}", "load_model": "closed", "latency_mean_s": 0.01,
            "throughput_per_s": 1000 * shift * np.exp(0.02 * rng.standard_normal()),
        }
        for block, logging, (variant, duplicate, shift) in product(range(8), ("off", "on"), arms)
    )  # fmt: skip


def test_equal_cells_pass_and_a_duplicate_that_differs_is_named_in_its_cells() -> None:
    for shift, inside in ((1.0, True), (1.3, False)):
        cells = equal_cells(doubled(duplicate_shift=shift), ("logging",))
        assert [levels for levels, _ in cells] == [{"logging": "off"}, {"logging": "on"}]
        for _, noise in cells:
            assert noise.n_blocks == 8 and len(noise.ratio.inputs) == 16
            assert noise.ratio.low is not None and noise.ratio.high is not None
            assert (noise.ratio.low <= 1 <= noise.ratio.high) == inside
    assert leading_metric(doubled()) == "throughput_per_s"
    assert leading_metric(doubled().assign(load_model="open")) == "latency_mean_s", "arrivals at a rate"


def test_the_slope_is_that_of_an_analysis_of_covariance() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.array(["a", "b", "c"], dtype=object), [5, 7, 4])
    x = rng.standard_normal(16)
    y = 0.7 * x + (groups == "b") * 4.0 + rng.standard_normal(16)
    found = slope_within(x, y, groups, level=0.9)
    smf = import_module("statsmodels.formula.api")  # not above: every worker collects this file
    model = smf.ols("y ~ x + C(group)", pd.DataFrame({"x": x, "y": y, "group": groups})).fit()
    assert found is not None
    assert (found.value, found.p_value) == pytest.approx((model.params["x"], model.pvalues["x"]))
    assert (found.low, found.high) == pytest.approx(tuple(model.conf_int(0.1).loc["x"]))


@pytest.mark.parametrize("elasticity", [-1.0, 0.0])
def test_the_interval_of_the_elasticity_holds_the_truth_and_failed_trials_do_not(elasticity: float) -> None:
    trials = uneven_speeds(elasticity=elasticity)
    failed, unread = trials.index[0], trials.index[1]
    trials.loc[failed, "excluded"], trials.loc[failed, "exclusion_reason"] = True, "failed: it ended"
    trials.loc[unread, "service_step_s"] = np.nan
    told = speed_response(trials, "throughput_per_s")
    assert told is not None and told.n_trials == len(trials) - 2
    assert told.low is not None and told.high is not None and told.low <= elasticity <= told.high
    assert speed_response(trials.assign(service_step_s=np.nan), "throughput_per_s") is None


def closed_rows(
    users: int, loops: int, *, ramp_up_s: float, serve_s: float, between_s: float, seed: int = 1
) -> pd.DataFrame:
    """Users who each ask, wait, and are held up in the generator; both times scatter."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        at = 1.7e9 + ramp_up_s * user / users
        for _ in range(loops):
            latency = serve_s * rng.gamma(20, 1 / 20)
            rows.append((at, latency))
            at += latency + between_s * rng.gamma(20, 1 / 20)
    frame = pd.DataFrame(rows, columns=["start_epoch_s", "latency_s"]).sort_values("start_epoch_s")
    return frame.assign(ok=True, label="hello").reset_index(drop=True)


def audited(requests: pd.DataFrame | None, profile: LoadProfile, **changes: object) -> AuditedTrial:
    """A trial whose record and row say what the requests are, but for the changes to the row."""
    assert requests is not None
    n, start = len(requests), requests["start_epoch_s"]
    duration_s = float((start + requests["latency_s"]).max() - start.min())
    paused_s = profile.paused_s if isinstance(profile, OpenLoad) else 0.0
    mean_s = float(requests["latency_s"].mean())
    load = LoadSummary(
        n_requests=n, n_errors=0, start_epoch_s=float(start.min()), duration_s=duration_s,
        offered_per_s=profile.rate_per_s if isinstance(profile, OpenLoad) else None,
        achieved_per_s=n / (duration_s - paused_s), latency_mean_s=mean_s, resolution_s=1e-6, has_requests=True,
        n_dropped=0, answers={"hello": AnswerCount(n_requests=n, n_right=n)},
    )  # fmt: skip
    p99 = float(np.sort(requests["latency_s"])[int(np.ceil(0.99 * n)) - 1])
    row: dict[str, object] = {
        "n_requests": n, "throughput_per_s": n / (duration_s - paused_s), "latency_mean_s": mean_s, "latency_p99_s": p99,
        "cpu_s_per_request": 1e-4, "service_cores": 1e-4 * n / duration_s, "headroom_ratio": 2.0,
        "echo_per_s": 2.0 * load.achieved_per_s,
    }  # fmt: skip
    return AuditedTrial(row=row | changes, load=load, profile=profile, requests=requests)


def sound_closed(**changes: object) -> AuditedTrial:
    rows = closed_rows(20, 50, ramp_up_s=0.5, serve_s=0.004, between_s=0.02)
    return audited(rows, ClosedLoad(users=20, loops=50, ramp_up_s=0.5), **changes)


def sound_open() -> AuditedTrial:
    rng = np.random.default_rng(2)
    start, latency = 1.7e9 + np.sort(rng.uniform(0, 10, 2000)), rng.gamma(4, 0.002, 2000)
    rows = pd.DataFrame({"start_epoch_s": start, "latency_s": latency, "ok": True})
    return audited(rows, OpenLoad(rate_per_s=200, duration_s=10))


def sound_wrk() -> AuditedTrial:
    """Users without a pause for a time, of whom the tool keeps a histogram and no rows."""
    rows = closed_rows(20, 500, ramp_up_s=0.0, serve_s=0.004, between_s=1e-5)
    rows["latency_s"] = rows["latency_s"].round(6)
    trial = audited(rows, ClosedLoad(users=20, duration_s=2.0))
    value_us, count = np.unique((rows["latency_s"] * 1e6).round().astype(np.int64), return_counts=True)
    of_tool = {"has_requests": False, "n_latencies": len(rows), "latency_method": UNDONE}
    load = trial.load.model_copy(update=of_tool)
    histogram = LatencyHistogram(value_us=value_us, count=count)
    return replace(trial, load=load, requests=None, histogram=histogram)


def by_name(trial: AuditedTrial) -> dict[str, TrialCheck]:
    return {check.name: check for check in audit_trial(trial)}


@pytest.mark.parametrize("trial", [sound_closed(), sound_open()], ids=["closed", "open"])
def test_every_check_of_a_sound_trial_holds(trial: AuditedTrial) -> None:
    found = by_name(trial)
    assert {check.result for check in found.values()} == {"held"}, [c for c in found.values() if c.why]
    assert len(found) >= 12


def altered(trial: AuditedTrial, how: str) -> AuditedTrial | None:
    """The trial with one thing altered; ``None``: a load by time has no plan for its requests."""
    profile, requests, histogram = trial.profile, trial.requests, trial.histogram
    if how == "throughput a fifth too high":
        faster = 1.2 * float(str(trial.row["throughput_per_s"]))
        return replace(trial, row={**trial.row, "throughput_per_s": faster})
    if how == "one wrong answer more":
        return replace(trial, load=trial.load.model_copy(update={"n_errors": trial.load.n_errors + 1}))
    if how == "another plan":
        if not isinstance(profile, ClosedLoad):
            return replace(trial, profile=profile.model_copy(update={"rate_per_s": 1.2 * profile.rate_per_s}))
        more = profile.model_copy(update={"users": profile.users + 1})
        return None if profile.loops is None else replace(trial, profile=more)
    lost = how == "one request lost"
    if histogram is not None:
        count, value_us = histogram.count.copy(), histogram.value_us * (1 if lost else 1000)
        count[0] -= lost
        return replace(trial, histogram=LatencyHistogram(value_us=value_us, count=count))
    assert requests is not None
    in_ms = requests.assign(latency_s=requests["latency_s"] * 1e3)
    return replace(trial, requests=requests.iloc[1:] if lost else in_ms)


@pytest.mark.parametrize(
    "trial", [sound_closed(), sound_open(), sound_wrk()], ids=["closed", "open", "histogram"]
)
@pytest.mark.parametrize(
    "how",
    ["throughput a fifth too high", "latencies in ms", "one request lost", "one wrong answer more", "another plan"],
)  # fmt: skip
def test_no_alteration_goes_unnoticed(trial: AuditedTrial, how: str) -> None:
    assert "failed" not in {check.result for check in audit_trial(trial)}
    another = altered(trial, how)
    if another is None:
        assert trial.profile == ClosedLoad(users=20, duration_s=2.0) and how == "another plan"
        return
    failed = [check for check in audit_trial(another) if check.result == "failed"]
    assert failed
    assert all("expected" in check.why or "more requests" in check.why for check in failed)


def test_a_law_fails_where_its_plan_was_another_one_and_says_why_it_cannot_be_asked() -> None:
    trial, loops = sound_closed(), "requests are users times loops"
    slower = replace(trial, profile=ClosedLoad(users=20, loops=50, ramp_up_s=3.0))
    assert by_name(slower)[LAW].result == "failed"
    crowded = by_name(replace(sound_closed(latency_mean_s=1.0), requests=None))
    assert crowded["no more requests in flight than users"].result == "failed"
    assert crowded[LAW].result == "not applicable" and "writes no single" in crowded[LAW].why
    by_time = by_name(replace(trial, profile=ClosedLoad(users=20, duration_s=2.0)))
    assert by_time[loops].why == "the load ends after a time, not after loops"
    ended = trial.load.model_copy(update={"n_flows": 20, "n_flows_right": 19})
    assert by_name(replace(trial, load=ended))[loops].why.startswith("passes ended")
