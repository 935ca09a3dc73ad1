# SPDX-License-Identifier: Apache-2.0
"""What notebook and paper say of claims follows from the numbers."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from harness.analysis.tables.schema import LEDGER as COLUMNS
from harness.questions.claims import as_table, data_set, experiments, results
from harness.rows.schema import keyed, slug
from harness.tests.questions.test_claims import LEDGER, RATIO, judged_claim, made_session, made_trials
from harness.tests.questions.test_claims import one_claim, without_sessions
from harness.tests.support.sessions import REPOSITORY


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
    holds = judged_claim(one_claim(), made_session(made_trials(RATIO, 1.5)))
    rows = keyed("claims", results([holds])).set_index("key")
    assert rows.loc["claims.verdict.fact.a1", "text"] == "holds"
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
    now = "not measured: no session of strings-warm; no session of strings-rounds"
    assert (n9["verdict_now"], n9["decides"]) == (now, "true")
    assert n9["verdict_then"] == "not measured: no session of strings-then-now"
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
