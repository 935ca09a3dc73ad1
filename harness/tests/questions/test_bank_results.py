# SPDX-License-Identifier: Apache-2.0
"""From sessions of the bank and the clients to their tables: overloaded trials stay, and nothing is made up."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.stats.comparisons import Comparison
from harness.evidence import Evidence
from harness.evidence.load_parts import parts_table
from harness.evidence.load_response import (
    at_most_load,
    calibration_of,
    describe_calibration,
    effect_between,
    load_response,
    offered_per_s,
)
from harness.evidence.opening import open_evidence
from harness.loadgen.mix import right_bodies
from harness.model import ClosedLoad, Load, OpenLoad
from harness.model.trial import StoredReading
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.case import Case
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, leaves
from harness.questions.bank.analysis import knees
from harness.questions.bank.results import (
    admission_results,
    craft_results,
    kept,
    pooled_levels,
    rematch_results,
    rematch_rows,
    response_rows,
)
from harness.session.planning import prepare
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.sessions import make_session_project, tiny_assembly
from harness.tests.support.synthetic import CAPACITY_PER_S

CHOSEN = ("bank-connections", "clients-hello")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = lay_project(tmp_path_factory.mktemp("articles"), profile="smoke", experiments=CHOSEN)
    tidy_all(StageParameters(profile="smoke", experiments=",".join(CHOSEN)), root=root)
    return root


def opened(project: Path, name: str) -> Evidence:
    return open_evidence(StageParameters(profile="smoke", experiments=name), name, root=project)


def load(profile: ClosedLoad | OpenLoad) -> Load:
    return Load(generator="jmeter", profile=profile)


def test_users_who_come_once_and_arrivals_offer_a_rate_and_users_who_wait_offer_none() -> None:
    assert offered_per_s(load(ClosedLoad(users=1000, ramp_up_s=60, loops=1)), 3) == pytest.approx(50)
    assert offered_per_s(load(OpenLoad(rate_per_s=100, duration_s=1)), 7) == 700
    assert offered_per_s(load(ClosedLoad(users=100, loops=10000, ramp_up_s=10)), 1) is None
    assert offered_per_s(load(ClosedLoad(users=4, duration_s=2)), 1) is None


def test_the_table_tells_what_the_load_did_and_what_the_database_saw(project: Path) -> None:
    evidence = opened(project, "bank-connections")
    table = load_response(evidence)
    assert table is not None
    assert len(table) == len(evidence.trials)
    assert table["offered_per_s"].round(6).unique().tolist() == [0.5 * CAPACITY_PER_S * 7]
    assert set(table["most_connections"]) == {8}
    assert (table["highest_backlog"] >= 1).all()
    assert at_most_load(table) is not None
    assert all(found.value is None for found in knees(table).values())  # one load has no knee


def test_an_overloaded_trial_stays_in_the_table_and_out_of_the_comparison(project: Path) -> None:
    evidence = opened(project, "bank-connections")
    table = load_response(evidence)
    assert table is not None
    wrecked = table.assign(excluded=table["connections"].str.startswith("per-statement"))
    wrecked["outcome"] = wrecked["excluded"].map({True: "overloaded", False: "ok"})
    rows = [
        row for row in response_rows(wrecked, evidence.variants, by=["connections", "authentication"]) if row
    ]
    assert [row["ended"] for row in rows] == ["1 ok"] * 4 + ["1 overloaded"] * 8
    found = effect_between(
        wrecked, "connections", "latency_p99_s", variant="go-gorilla", base="pool-20", other="per-statement"
    )
    assert found is None or found.ratio.value is None


@pytest.fixture(scope="module")
def rematch(tmp_path_factory: pytest.TempPathFactory) -> Case:
    settings = StageParameters(profile="quick", experiments="bank-rematch")
    root = lay_project(tmp_path_factory.mktemp("rematch"), profile="quick", experiments=("bank-rematch",))
    tidy_all(settings, root=root)
    return Case("bank-rematch", open_evidence(settings, "bank-rematch", root=root))


def test_the_programs_of_the_rematch_are_compared_with_each_other_alone(rematch: Case) -> None:
    found = {".".join(path): leaf for path, leaf in leaves(rematch_results(rematch))}
    for key, face in (("repaired.mean.java-spring", "repaired"), ("mean.java-spring", "matched")):
        one = found[key]
        assert isinstance(one, Comparison)
        assert one.levels["face"] == face
        assert (one.variant, one.reference, one.n_blocks) == ("java-spring", "go-gorilla", 5)
    shown = {(row["face"], row["connections"]) for row in rematch_rows(rematch) if row}
    assert shown == {("matched", "pool-20"), ("matched", "per-statement"), ("repaired", "pool-95")}


def test_banks_are_compared_within_a_craft_and_each_by_hand_with_itself(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = StageParameters(profile="quick", experiments="bank-craft")
    root = lay_project(tmp_path_factory.mktemp("craft"), profile="quick", experiments=("bank-craft",))
    tidy_all(settings, root=root)
    case = Case("bank-craft", open_evidence(settings, "bank-craft", root=root))
    assert case.warm_up == "full load until it had settled, for 150 s at most"
    found = {".".join(path): leaf for path, leaf in leaves(craft_results(case))}
    for craft in ("idiomatic", "tuned"):
        for variant in case.others:
            one = found[f"{craft}.cpu.{variant}"]
            assert isinstance(one, Comparison)
            assert one.levels["craft"] == craft
            assert (one.variant, one.reference, one.n_blocks) == (variant, "go-gorilla", 5)
    for variant in case.variants:
        one = found[f"by_hand.cpu.{variant}"]
        assert isinstance(one, Comparison)
        assert (one.variant, one.reference, one.n_blocks) == ("tuned", "idiomatic", 5)
    unmeasured = {".".join(path) for path, _ in leaves(craft_results(Case("bank-craft", None)))}
    assert unmeasured == set(found)


def test_banks_with_several_numbers_of_threads_are_compared_within_a_memory_limit(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = StageParameters(profile="quick", experiments="bank-admission")
    root = lay_project(tmp_path_factory.mktemp("admission"), profile="quick", experiments=("bank-admission",))
    tidy_all(settings, root=root)
    case = Case("bank-admission", open_evidence(settings, "bank-admission", root=root))
    found = {".".join(path): leaf for path, leaf in leaves(admission_results(case))}
    for limit in ("512m", "2g"):
        for variant in case.others:
            one = found[f"{limit}.throughput.{variant}"]
            assert isinstance(one, Comparison)
            assert (one.variant, one.reference, one.n_blocks) == (variant, "java-spring-200", 5)
            assert one.levels["limit"] == limit
    assert not any(isinstance(leaf, Comparison) for key, leaf in found.items() if key.startswith("1g."))
    assert (
        len([row for row in response_rows(case.response, case.variants, by=["limit", "users"]) if row])
        == 2 * 4
    )
    assert {".".join(path) for path, _ in leaves(admission_results(Case("bank-admission", None)))} == set(
        found
    )


def test_an_older_session_without_faces_is_all_matched_and_has_no_programs_of_the_rematch(
    rematch: Case,
) -> None:
    assert pooled_levels(rematch) == {"connections": "pool-20", "face": "matched"}
    assert pooled_levels(Case("bank-rematch", None)) == {"connections": "pool-20"}
    nothing = {".".join(path): leaf for path, leaf in leaves(rematch_results(Case("bank-rematch", None)))}
    assert nothing["repaired.mean.java-spring"] == NO_COMPARISON
    response = rematch.response
    assert response is not None
    old = Case("bank-rematch", None)
    vars(old)["response"] = response[response["face"] == "matched"].drop(columns="face")
    assert {row["face"] for row in rematch_rows(old) if row} == {"matched"}


def test_lost_money_and_right_answers_without_their_row_are_counted(project: Path) -> None:
    records = [record for *_, record in opened(project, "bank-connections").with_records()]
    n = len(records)
    assert kept(records)["money"] == f"{n} of {n} trials"
    first, *rest = records
    broken = tuple(row.model_copy(update={"found": row.expected - 1}) for row in first.invariants)
    assert kept([first.model_copy(update={"invariants": broken}), *rest])["money"] == f"{n - 1} of {n} trials"
    all_there = StoredReading(request="pay", n_right=100, n_stored=102)
    lost = all_there.model_copy(update={"n_stored": 97})
    two = [first.model_copy(update={"stored": stored}) for stored in ((all_there,), (all_there, lost))]
    assert kept(two)["promises"] == "297 of 300, in 2 trials"
    assert kept([]) == {"money": NO_TEXT, "promises": Absent(unit="1")}


def test_every_part_of_every_trial_stands_in_a_row_and_parts_can_be_compared(project: Path) -> None:
    evidence = opened(project, "clients-hello")
    parts = parts_table(evidence)
    assert parts is not None
    assert len(parts) == 4 * len(evidence.trials)
    assert parts.groupby("trial_id")["n_requests"].sum().eq(1200).all()
    found = effect_between(parts, "part", "latency_mean_s", variant="go-nethttp", base="1", other="4")
    assert found is not None
    assert found.ratio.value == pytest.approx(1.0, abs=0.2)


def test_the_calibration_is_told_with_what_was_saturated(project: Path) -> None:
    evidence = opened(project, "clients-hello")
    found = calibration_of(evidence)
    assert found is not None
    assert found.capacity_per_s == CAPACITY_PER_S
    assert "150 requests per second, Go net/http, 4 users" in describe_calibration([None, evidence])
    assert describe_calibration([None]).startswith("none")


def test_what_was_not_measured_has_no_table() -> None:
    assert load_response(None) is None
    assert parts_table(None) is None
    assert knees(None) == {}
    assert effect_between(None, "part", "x", variant="a", base="1", other="2") is None
    assert at_most_load(pd.DataFrame({"offered_per_s": [float("nan")]})) is None


def test_a_session_expects_the_decimals_that_the_contract_writes(tmp_path: Path) -> None:
    root = make_session_project(tmp_path)
    path = root / "services/strings/contract/requests.jsonl"
    lines = path.read_text().splitlines()
    asked = json.loads(lines[0])
    asked["expect"] = {"status": 200, "json": {"salary": 0}}
    path.write_text("\n".join([json.dumps(asked).replace('"salary": 0', '"salary": 3000.00'), *lines[1:]]))
    prepared = prepare(tiny_assembly(root), "tiny", profile="smoke", host="local", seed=1)
    expected = prepared.study.requests[asked["mix"]][0].expect
    assert right_bodies(expected) is not None
    assert '{"salary":3000.00}' in (right_bodies(expected) or ())
