# SPDX-License-Identifier: Apache-2.0
"""The best evidence judges a claim, whatever the ledger's order; what notebook and paper say follows from the numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from harness.analysis.tables.schema import LEDGER as COLUMNS
from harness.model.claim import Above, Below, ClaimTest, ClaimVerdict, Near, RowFilter
from harness.questions.claims import as_table, data_set, experiments, results
from harness.questions.claims.rows import Choice, choose
from harness.questions.claims.words import here_words, passed_over_words
from harness.rows import Session
from harness.rows.schema import keyed, slug
from harness.tests.questions.test_claims import (
    LEDGER,
    RATIO,
    VALUE,
    judged_claim,
    made_session,
    made_trials,
    one_claim,
    without_sessions,
)
from harness.tests.support.sessions import REPOSITORY

#: Two experiments with the same number: 1.5 in the first, 0.7 in the second.
FIRST, SECOND = (RATIO.model_copy(update={"experiment": name}) for name in ("first", "second"))
Change = Callable[[pd.DataFrame], pd.DataFrame]


def of_age(age: str) -> Change:
    return lambda trials: trials.assign(age=age)


def chosen(
    first: Mapping[str, Any], second: Mapping[str, Any], *, reverse: bool = False, **test: Any
) -> Choice:
    """Choose between two experiments: of each the arguments of its trials, ``change`` of them, and of its session."""

    def session(name: str, value: float, made: Mapping[str, Any]) -> Session:
        of_session = {key: made[key] for key in ("begun_epoch_s", "commit", "connections") if key in made}
        of_trials = {key: made[key] for key in ("blocks", "bound_by") if key in made}
        change: Change = made.get("change", lambda trials: trials)
        trials = change(made_trials(RATIO, value, **of_trials))
        return made_session(trials, experiment=name, **of_session)

    sessions = {"first": session("first", 1.5, first), "second": session("second", 0.7, second)}
    numbers = (SECOND, FIRST) if reverse else (FIRST, SECOND)
    given = {"what": "a number", "predicate": Above(limit=1.0), "rows": numbers} | test
    return choose(ClaimTest.model_validate(given), sessions)


def experiment_of(choice: Choice) -> str:
    assert choice.row is not None
    wanted: RowFilter = choice.row["filter"]
    return wanted.experiment


@pytest.mark.parametrize("reverse", [False, True], ids=["listed first", "listed last"])
@pytest.mark.parametrize(
    ("worse", "better", "why"),
    [
        ({"change": of_age("young"), "blocks": 20}, {"change": of_age("warm")}, "young processes"),
        ({"bound_by": "generator", "blocks": 20}, {}, "bound by the generator (40 of 40 trials)"),
        ({"blocks": 6, "begun_epoch_s": 9.0}, {"blocks": 8}, "fewer blocks (6 against 8)"),
        ({"begun_epoch_s": 1.0}, {"begun_epoch_s": 2.0}, "an older session"),
        # age comes before what bounded the trials, and that before the number of blocks
        ({"change": of_age("young")}, {"change": of_age("warm"), "bound_by": "machine"}, "young processes"),
    ],
    ids=["age", "bound", "blocks", "day", "age first"],
)
def test_the_best_evidence_judges_wherever_it_is_listed(
    worse: Mapping[str, Any], better: Mapping[str, Any], why: str, reverse: bool
) -> None:
    choice = chosen(worse, better, reverse=reverse)
    assert experiment_of(choice) == "second"
    (other,) = choice.passed_over
    assert (other.filter.experiment, other.why) == ("first", why)
    assert passed_over_words(other).startswith("first/made, throughput_per_s a over b: 1.")


def test_a_commit_that_the_repository_lacks_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.questions.claims.rows.has_commit", lambda _, commit: commit != "lost")
    choice = chosen({"commit": "lost", "begun_epoch_s": 9.0}, {"commit": "there"})
    assert experiment_of(choice) == "second"
    assert choice.passed_over[0].why == "of a commit that is not in this repository"


def test_where_nothing_tells_them_apart_the_ledger_does() -> None:
    assert experiment_of(chosen({}, {})) == "first"
    assert experiment_of(chosen({}, {}, reverse=True)) == "second"


def test_a_claim_about_warm_services_is_never_judged_by_young_ones() -> None:
    young = {"change": of_age("young")}
    choice = chosen(young, young, age="warm")
    assert choice.row is None
    assert "speaks of warm services, the processes of first are young" in choice.why
    assert [other.filter.experiment for other in choice.passed_over] == ["first", "second"]
    assert experiment_of(chosen(young, young)) == "first"  # others may be, with the word
    assert chosen({}, {}, age="warm").row is None  # of no age that is known
    warm = chosen(young, {"change": of_age("aot-compiled")}, age="warm")
    assert experiment_of(warm) == "second"
    assert here_words(chosen(young, young).row).endswith("), young")
    one = judged_claim(one_claim(age="warm"), made_session(of_age("young")(made_trials(RATIO, 1.5))))
    assert one.verdict is ClaimVerdict.UNTESTABLE


@pytest.mark.parametrize(("subject", "says"), [("services", "refused"), ("system", "higher")])
def test_a_claim_on_a_system_is_judged_whatever_bounds_the_trials(subject: str, says: str) -> None:
    wanted = RATIO.model_copy(update={"metric": "latency_mean_s"})
    claim = one_claim(predicate=Above(limit=2.0), rows=(wanted,), subject=subject)
    row = judged_claim(claim, made_session(made_trials(wanted, 3.0, bound_by="backing"))).tests[0].row
    assert row is not None and row["says"] == says


def test_a_load_of_too_few_connections_tests_nothing() -> None:
    choice = chosen({"connections": 16}, {"connections": 64}, needs_connections=201)
    assert choice.row is None
    assert choice.why.startswith("speaks of 201 connections at once or more, the load of first has 16")
    assert experiment_of(chosen({"connections": 16}, {"connections": 256}, needs_connections=201)) == "second"


def test_throughput_at_a_rate_that_all_meet_is_no_evidence() -> None:
    offered = {"bound_by": "offered"}
    why = chosen(offered, offered).why
    assert why == "in first all meet the rate that is offered; in second all meet the rate that is offered"
    assert experiment_of(chosen(offered, {"blocks": 5})) == "second"


@pytest.mark.parametrize(("value", "expected"), [(3.8, "holds"), (0.5, "fails")])
def test_a_fact_of_files_needs_neither_blocks_nor_bounds(value: float, expected: str) -> None:
    wanted = RATIO.model_copy(update={"metric": "image_bytes"})
    trials = made_trials(wanted, value, blocks=2, noise=0.0, bound_by="offered")
    test = judged_claim(one_claim(rows=(wanted,)), made_session(trials)).tests[0]
    assert test.outcome == expected and test.row is not None
    assert (test.row["n"], test.row["bound_by"], test.row["says"] == "refused") == (1, None, False)


@pytest.mark.parametrize(
    ("predicate", "seconds", "expected"),
    [
        (Above(limit=1.0), [0.0] * 6, "fails"),
        (Above(limit=0.5), [0.0] * 6, "undecided"),
        (Below(limit=1.5), [0.0] * 6, "holds"),
        (Near(limit=5.0), [0.0] * 6, "fails"),
        (Above(limit=1.0), [0.0, 0.0, 9.0, 9.0, 9.0, 9.0], "undecided"),
    ],
)
def test_a_time_below_its_windows_is_printed_so(predicate: Any, seconds: list[float], expected: str) -> None:
    wanted = VALUE.model_copy(update={"metric": "cold_s"})
    trials = made_trials(wanted, 1.0, blocks=6).assign(cold_s=seconds)
    claim = one_claim(what="seconds until warm", predicate=predicate, rows=(wanted,))
    test = judged_claim(claim, made_session(trials)).tests[0]
    assert test.outcome == expected
    if not any(seconds):
        assert here_words(test.row) == "< 1.00\N{NARROW NO-BREAK SPACE}s"


def test_only_what_was_measured_has_a_verdict_and_a_number() -> None:
    judged = tuple(without_sessions().values())
    rows = keyed("claims", results(judged))
    assert not rows["name"].isin(["verdict", "here"]).any()
    assert rows.set_index("key").loc["claims.all.count", "value"] == len(LEDGER)
    numbers = as_table(judged)
    assert set(numbers["claim"]) == set(LEDGER)
    assert numbers.groupby("claim")["decides"].sum().eq(1).all()
    n4 = numbers[numbers["decides"] & numbers["claim"].eq("N4")].iloc[0]
    assert (n4["claimed"], n4["printed"], n4["why"]) == ("above 0.5", "0.150", "no session of scaling")


def test_a_claim_that_was_judged_has_its_verdict_and_the_number_that_decided_it() -> None:
    holds = judged_claim(one_claim(then=(RATIO,)), made_session(made_trials(RATIO, 1.5)))
    rows = keyed("claims", results([holds])).set_index("key")
    assert list(rows.loc[["claims.verdict.fact.a1", "claims.then.fact.a1.1"], "text"]) == ["holds", "holds"]
    assert rows["value"].loc["claims.here.ratio.a1"] == pytest.approx(1.4985, abs=5e-5)
    assert len(rows["inputs"].loc["claims.here.ratio.a1"]) == 16
    assert list(rows["value"].loc[["claims.judged.count", "claims.holds.count"]]) == [1, 1]
    row = as_table([holds]).iloc[0]
    assert (row["bound_by"], row["outcome"]) == ("service 16", "holds")
    undecided = judged_claim(one_claim(), made_session(made_trials(RATIO, 1.5, bound_by="machine")))
    counted = keyed("claims", results([holds, replace(undecided, name="A2")])).set_index("key")["value"]
    assert counted["claims.judged.count"] == counted["claims.inconclusive.count"] == 1


def test_the_data_set_has_its_described_columns_and_a_row_for_the_bank_of_2018() -> None:
    judged = tuple(without_sessions().values())
    frame = data_set(judged, {})
    assert list(frame.columns) == [column.name for column in COLUMNS]
    assert len(frame) == sum(len(claim.tests) for claim in judged) + 1
    n9 = frame[frame["claim"] == "N9"].iloc[0]
    assert (n9["year"], n9["published_in"], n9["unit"]) == (2020, "Helidon blog on Medium", "ratio")
    assert n9["published"] == pytest.approx(21333.33 / 18273.18)
    assert n9["place"].startswith("data/published/strings-rounds.csv, throughput_per_s at round=1")
    experiments_of = ("strings-warm", "strings-rounds", "strings-then-now")
    now = "not measured: " + "; ".join(f"no session of {name}" for name in experiments_of)
    assert (n9["verdict_now"], n9["decides"]) == (now, "true")
    assert n9["verdict_then"].replace("no session of strings-then-", "") == "not measured: now; log; cold"
    bank = frame[frame["claim"] == "nikitsenka2018"].iloc[0]
    assert bank["verdict_then"] == "not measured: no session of bank-original"


def test_the_paper_prints_verdicts_of_claims_of_the_ledger_alone() -> None:
    known = {f"claims.verdict.fact.{slug(name)}" for name in LEDGER}
    printed = re.compile(r"\\(?:val|valci|ifsaid)\{(claims\.verdict[^}]*)\}")
    for section in sorted((REPOSITORY / "paper").glob("**/*.tex")):
        # of another key ifsaid would say nothing
        assert set(printed.findall(section.read_text("utf-8"))) <= known, section.name


def test_the_notebook_opens_every_experiment_that_a_claim_names() -> None:
    notebook = json.loads((REPOSITORY / "notebooks/61-claims.ipynb").read_text("utf-8"))
    assert tuple(notebook["metadata"]["rematch"]["optional"]) == experiments(REPOSITORY)
