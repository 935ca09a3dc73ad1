# SPDX-License-Identifier: Apache-2.0
"""How many blocks a session needs, what its plan registers, reasons to distrust its trials, and means that can be."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.analysis.stats import sample_size, verdicts
from harness.analysis.stats.assumptions import check_assumptions
from harness.analysis.stats.inputs import judge_resolution
from harness.analysis.stats.quantiles import rank
from harness.analysis.stats.summaries import mean_within
from harness.analysis.stats.verdicts import ALTERED, changed_since, register
from harness.errors import InputError
from harness.model import Estimate, Support, support_of
from harness.store import SessionFolder, Store
from harness.tests.support.synthetic import ROOT, make_project, make_session
from harness.verify.simulated.result import share


def sd_of(cv: float) -> float:
    """Return the standard deviation of a log ratio of two arms that vary by this share from run to run."""
    return float(np.sqrt(2 * np.log1p(cv**2)))


@pytest.mark.parametrize(("cv", "wanted"), [(0.01, 5), (0.02, 11), (0.03, 22), (0.05, 55), (0.10, 205)])
def test_the_plan_needs_the_blocks_that_simulation_found(cv: float, wanted: int) -> None:
    assert sample_size.blocks_for(sd_of(cv)) == pytest.approx(wanted, rel=0.07)


def test_the_plan_is_made_of_the_pilots_spread() -> None:
    a, b = np.exp(np.random.default_rng(6).normal(0, 0.03, (2, 5)))
    assert sample_size.plan_repetitions(a, b) == sample_size.blocks_for(float(np.log(a / b).std(ddof=1)))
    for wrong in (([1.0], [1.0]), ([1e-9, 1.0, 1e9], [1.0, 1.0, 1.0])):
        with pytest.raises(InputError):
            sample_size.plan_repetitions(*wrong)


def test_two_groups_of_trials_and_drift_in_their_order_are_flagged_and_nothing_else_is() -> None:
    one = np.exp(np.random.default_rng(8).normal(0, 0.03, 20))
    two = one * np.where(np.arange(20) < 5, 1.5, 1.0)
    assert not any("two groups" in warning for warning in check_assumptions(one))
    assert "two groups of trials (15 low, 5 high): no single value describes them" in check_assumptions(two)
    few = check_assumptions([1.0, 1.01, 1.02, 1.5, 1.51])
    assert not any("two groups" in warning for warning in few), "five trials cannot show it"
    rng = np.random.default_rng(9)
    x = np.exp(0.01 * np.arange(20) + rng.normal(0, 0.02, 20))
    assert any("drift" in warning for warning in check_assumptions(x))
    assert not any("drift" in warning for warning in check_assumptions(x, positions=rng.permutation(20)))
    with pytest.raises(InputError, match="one position per value"):
        check_assumptions(x, positions=[1.0])


def test_resolution_warns_below_twenty_steps_and_refuses_below_two() -> None:
    for typical, kind in ((0.0301, "fine"), (0.015, "coarse"), (0.0015, "refused")):
        assert judge_resolution(typical, 0.001, "quantile")[0] == kind
    kind, _, warnings = judge_resolution(0.0015, 0.001, "mean")
    assert kind == "coarse" and "1.5 steps" in warnings[0]


@pytest.mark.parametrize("n_blocks", [5, 20])
def test_with_a_known_spread_the_effect_is_that_of_statsmodels(n_blocks: int) -> None:
    power = import_module("statsmodels.stats.power").TTestPower()  # not above: every worker collects this
    oracle = power.solve_power(nobs=n_blocks, alpha=0.05, power=sample_size.POWER, alternative="two-sided")
    assert sample_size.effect(None, n_blocks) == pytest.approx(oracle, rel=2e-3)


def test_more_blocks_and_less_spread_tell_smaller_ratios_and_few_pairs_none() -> None:
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.normal(0, 0.03, 10)), np.exp(rng.normal(0, 0.03, 10))
    by_blocks = [sample_size.detectable_ratio(a, b, n_blocks=n) for n in (5, 10, 20)]
    values = [ratio.value or 0.0 for ratio in by_blocks]
    assert values == sorted(values, reverse=True) and values[-1] > 1
    assert sample_size.detectable_ratio(np.sqrt(a), np.sqrt(b), n_blocks=10).value == pytest.approx(
        np.sqrt(values[1])
    )
    low, high = by_blocks[1].low, by_blocks[1].high
    assert low is not None and high is not None and 1 < low < values[1] < high
    few = sample_size.detectable_ratio([1.0, 1.1], [1.0, 1.2], n_blocks=10)
    assert few.value is None and f"fewer than {sample_size.FEWEST_PAIRS}" in few.warnings[0]
    with pytest.raises(InputError, match="one block"):
        sample_size.detectable_ratio([1.0] * 5, [2.0] * 5, n_blocks=1)


SIMS = 400


def holds(
    value: float, *, at_least: float | None = None, at_most: float | None = None, n: int = SIMS
) -> bool:
    """Tell whether a share of ``n`` simulations keeps its limits as far as so few can say."""
    return not share(n, name="share", value=value, at_least=at_least, at_most=at_most).refuted


def made(low: float, high: float, unit: str) -> Estimate:
    facts = {"value": 0.5, "unit": unit, "method": "t", "estimand": "mean", "n_trials": 5}
    return Estimate.model_validate(facts | {"low": low, "high": high})


@pytest.mark.parametrize(
    ("low", "high", "unit"),
    [(-40e-6, 206e-6, "s"), (-1.59, 2.29, "share"), (-0.004, 0.092, "share"), (0.48, 1.15, "share"),
     (-9.91, 11.65, "s"), (-0.1, 0.9, "ratio"), (-1.0, 2.0, "B"), (0.9, 0.1, "share")],
)  # fmt: skip
def test_an_estimate_with_an_impossible_interval_cannot_be_built(low: float, high: float, unit: str) -> None:
    with pytest.raises(ValidationError, match=r"cannot be|is above high"):
        made(low, high, unit)


@given(
    st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=8),
    st.sampled_from(["share", "s", "ratio", "1", ""]),
)
def test_a_mean_stays_where_its_quantity_can_be_whatever_the_trials(values: list[float], unit: str) -> None:
    found = mean_within(values, unit=unit)
    assert found.support is support_of(unit)
    if found.value is None:
        assert "cannot be said" in found.warnings[-1]
    else:
        assert min(values) - 1e-9 <= found.value <= max(values) + 1e-9


@pytest.mark.parametrize(
    ("values", "support"),
    [
        ([0.9, 0.95, -8.0, 0.2, 0.97], Support.REDUCTION),  # left between a fiftieth and ten times as much
        ([0.001, 0.999, 0.5, 0.01, 0.99], Support.SHARE),
    ],
)
def test_an_interval_from_none_to_all_leaves_no_value(values: list[float], support: Support) -> None:
    found = mean_within(values, support=support, unit="share")
    assert (found.value, found.low, found.high) == (None, None, None)
    assert "cannot be said: the interval over 5 trials reaches from below" in found.warnings[-1]


@pytest.mark.parametrize(
    ("values", "unit"),
    [([0.5, 1.3], "s"), ([0.0, 0.2, 0.4], "s"), ([0.0, 0.0, 0.3], "share"), ([0.4, 0.5, 0.6, 1 - 1e-15], "share")],
)  # fmt: skip
def test_few_trials_and_those_on_the_edge_have_no_interval(values: list[float], unit: str) -> None:
    found = mean_within(values, unit=unit)
    assert found.value == pytest.approx(np.mean(values)) and (found.low, found.high) == (None, None)
    assert "arithmetic" in found.estimand and "no interval" in found.warnings[0]


@given(n=st.integers(1, 3000), thousandths=st.integers(10, 999))
@example(n=375, thousandths=336)
@settings(max_examples=100, deadline=None)
def test_the_sample_quantile_is_the_inverted_cdf_in_whole_numbers(n: int, thousandths: int) -> None:
    q = thousandths / 1000
    exact = -(-n * thousandths // 1000)
    assert rank(n, q) == exact
    # Where n q is whole, its binary product can lie above it, and numpy then takes the next value.
    if n * thousandths % 1000:
        assert exact == np.quantile(np.arange(1.0, n + 1), q, method="inverted_cdf")


BUNDLED = {session.key: session for session in Store(ROOT).sessions(bundled=True)}


@pytest.fixture
def session(tmp_path: Path) -> SessionFolder:
    """A session that registered its plan; its header lies in a file."""
    made = make_session(make_project(tmp_path, experiments=()), "strings-startup", "smoke")
    header = made.header
    registered = register(header.plan, header.provenance.definition_sha256)
    path = made.folder / "session.json"
    path.write_text(header.model_copy(update={"registration": registered}).model_dump_json(), "utf-8")
    return SessionFolder(made.folder)


@pytest.fixture
def stored(session: SessionFolder) -> dict[str, Any]:
    return session.stored_header()


def definition_of(stored: dict[str, Any]) -> str:
    return str(stored["provenance"]["definition_sha256"])


def test_a_session_of_before_plans_were_registered_says_nothing(stored: dict[str, Any]) -> None:
    assert changed_since({**stored, "registration": None}, None) == ()


@pytest.mark.parametrize("key", BUNDLED)
def test_what_a_bundled_session_stored_is_what_it_registered(key: str) -> None:
    stored = BUNDLED[key].stored_header()
    assert (BUNDLED[key].header.registration is None) == (stored.get("registration") is None)
    assert changed_since(stored, definition_of(stored)) == ()


def test_another_margin_is_named_with_both(stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "DEFAULT_MARGIN", 0.2)
    (found,) = changed_since(stored, definition_of(stored))
    assert found.startswith("margin: 0.05") and "then, 0.2" in found


@pytest.mark.parametrize("now", ["0" * 64, None])
def test_another_definition_or_none_at_all_is_named(stored: dict[str, Any], now: str | None) -> None:
    assert changed_since(stored, now) == ("the definition of the experiment",)


@pytest.mark.parametrize(
    "alter",
    [
        lambda stored: stored["registration"]["rules"].update(margin=0.3),
        lambda stored: stored["registration"].update(stopping="when it looks good"),
        lambda stored: stored["plan"]["trials"].pop(),
        lambda stored: stored["plan"]["trials"][0]["configuration"].update(warm_up_requests=7),
    ],
    ids=["a rule", "when to stop", "fewer trials", "a trial"],
)
def test_a_registration_or_a_plan_that_was_altered_is_named(stored: dict[str, Any], alter: Any) -> None:
    alter(stored)
    assert ALTERED in changed_since(stored, definition_of(stored))
