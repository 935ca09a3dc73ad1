# SPDX-License-Identifier: Apache-2.0
"""A trial whose CPUs ran at another speed than the session's middle one enters no estimate, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.tables.layout import load_exclusions, load_trials
from harness.analysis.tables.resource_columns import (
    FEWEST_TRIALS,
    SPEED_DIFFERS,
    exclude_other_speeds,
    speed_columns,
)
from harness.analysis.tables.tidy import tidy
from harness.model import Outcome
from harness.tests.support.toy_sessions import header, make_session, record, speeds

USUAL_S = 64e-9


def rows_of(*ratios: float, load: str = "saturation") -> list[dict[str, object]]:
    usual = {"load_name": load, "excluded": False, "exclusion_reason": None, "bound_by": "service"}
    return [usual | {"service_step_s": USUAL_S * ratio} for ratio in ratios]


@pytest.mark.parametrize(
    ("ratio", "words"), [(1.27, "machine: the service's CPUs took 27 % longer"), (0.7, "30 % shorter")]
)
def test_a_trial_at_another_speed_is_excluded_and_the_machine_bounded_it(ratio: float, words: str) -> None:
    rows = rows_of(*[1.0] * FEWEST_TRIALS, ratio)
    assert exclude_other_speeds(rows) == [rows[-1]]
    assert rows[-1]["excluded"] and rows[-1]["bound_by"] == "service"
    assert words in str(rows[-1]["exclusion_reason"])
    assert not any(row["excluded"] for row in rows[:-1])


@pytest.mark.parametrize(
    "rows",
    [
        rows_of(*[1.0] * FEWEST_TRIALS, 1 + SPEED_DIFFERS - 0.001),
        rows_of(*[1.0] * FEWEST_TRIALS, 1 / (1 + SPEED_DIFFERS) + 0.001),
        rows_of(*[1.0] * (FEWEST_TRIALS - 2), 2.0),
        rows_of(*[1.0] * FEWEST_TRIALS) + rows_of(*[1.3] * FEWEST_TRIALS, load="rate"),
        [*rows_of(*[1.0] * FEWEST_TRIALS), {"service_step_s": None, "load_name": "saturation", "excluded": False}],
    ],
    ids=["a little slower", "a little faster", "too few to judge", "another load", "not read"],
)  # fmt: skip
def test_all_others_are_kept(rows: list[dict[str, object]]) -> None:
    assert exclude_other_speeds(rows) == []


@pytest.mark.parametrize(("bound_by", "n"), [("service", 0), ("offered", 1)])
def test_a_slower_generator_counts_where_the_service_was_not_the_limit(bound_by: str, n: int) -> None:
    usual = rows_of(*[1.0] * (FEWEST_TRIALS + 1))
    rows = [row | {"generator_step_s": USUAL_S, "bound_by": bound_by} for row in usual]
    rows[3]["generator_step_s"] = 1.3 * USUAL_S
    found = exclude_other_speeds(rows)
    assert found == rows[3 : 3 + n]
    assert all("the generator's CPUs took 30 % longer" in str(row["exclusion_reason"]) for row in found)


def test_the_columns_are_those_of_the_cpus_of_each_and_of_all_where_it_was_not_pinned(tmp_path: Path) -> None:
    head = header("smoke", 1)
    told = record(head.plan.trials[0], head, Outcome.OK).model_copy(update={"cpu_speeds": speeds(80.0)})
    found = speed_columns(told)  # its service is pinned to CPU 0, its generator is not pinned
    assert found["service_step_s"] == pytest.approx(80e-9)
    assert found["generator_step_s"] == pytest.approx(70e-9)
    assert speed_columns(told.model_copy(update={"cpu_speeds": ()})) == {}


def test_the_tables_of_a_session_leave_it_out_and_count_it(tmp_path: Path) -> None:
    make_session(tmp_path, step_ns=lambda position: 90.0 if position == 4 else 64.0)
    (result,) = tidy(tmp_path).experiments
    assert (result.n_made, result.n_kept, result.by_reason) == (10, 9, {"at another speed": 1})
    rows = load_trials(tmp_path, "toy")
    assert list(rows.loc[rows["excluded"], "position"]) == [4]
    (one,) = load_exclusions(tmp_path, "toy").excluded
    assert one.reason.startswith("machine: the service's CPUs took 41 % longer")
    again = tidy(tmp_path)
    assert (again.n_fresh, again.experiments[0].n_kept) == (0, 9), "unchanged rows are judged again"
