# SPDX-License-Identifier: Apache-2.0
"""A session goes on under the plan it was recorded with, whatever the planner makes today; what trials should take."""

from __future__ import annotations

from typing import cast

import pytest

from harness.definitions import load_study
from harness.measure.session.dry_run import expected_s
from harness.measure.session.planning import Prepared, plan_without, refuse_other_plan
from harness.measure.session.wiring import Assembly
from harness.model import Plan, SessionHeader
from harness.model.plan import Pairs, configurations
from harness.store import Store
from harness.tests.support.synthetic import ROOT

BUNDLED = {session.key: session for session in Store(ROOT).sessions(bundled=True)}


def header_of(name: str) -> SessionHeader:
    return next(session.header for key, session in BUNDLED.items() if f"/{name}/" in key)


def planned(header: SessionHeader, pairs: Pairs | None = None) -> Plan:
    """What the planner of today makes of the header's own definition."""
    plan = header.plan
    return plan_without(
        header.experiment, plan.profile, header.unavailable,
        host=plan.host, seed=plan.seed, launcher=plan.launcher, pairs=pairs,
    )  # fmt: skip


def prepared_today(header: SessionHeader) -> Prepared:
    definition = {"experiment": header.experiment, "implementations": header.implementations}
    return Prepared(
        study=load_study(ROOT, header.experiment.name).model_copy(update=definition), plan=planned(header),
        session_id=header.session_id, unavailable=header.unavailable,
    )  # fmt: skip


@pytest.mark.parametrize("key", BUNDLED)
def test_every_session_that_comes_with_the_project_could_go_on(key: str) -> None:
    header = BUNDLED[key].header
    refuse_other_plan(header, prepared_today(header))


def test_a_session_begun_with_a_pair_in_one_cell_goes_on_with_it() -> None:
    header = header_of("strings-rounds")
    old, prepared = planned(header, "first cell"), prepared_today(header)
    assert len(prepared.plan.trials) > len(old.trials)
    refuse_other_plan(header.model_copy(update={"plan": old}), prepared)


def test_pods_and_an_autoscaler_are_part_of_what_a_trial_is_expected_to_take() -> None:
    study = load_study(ROOT, "k8s-scale-out")
    assembly = cast(Assembly, None)  # asked of loads alone
    go = {
        one.levels["pods"]: expected_s(assembly, study, one)
        for one in configurations(study.experiment, "full")
        if one.variant_name == "go-nethttp"
    }
    assert go["one"] < go["three"] == go["scaled"] < go["ten"] == go["boosted"]
