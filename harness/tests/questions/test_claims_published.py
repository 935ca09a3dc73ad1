# SPDX-License-Identifier: Apache-2.0
"""What notebook and paper say of claims follows from the numbers, and every claim is named somewhere."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from harness.model import Estimate
from harness.publish.publisher import slug
from harness.publish.results import Absent, Words, leaves
from harness.questions.claims import TABLES as SECTION
from harness.questions.claims import as_table, experiments, front_rows, results, table_rows
from harness.questions.claims.results import FRONT, FRONT_ROWS, untestable
from harness.tests.questions.test_claims import (
    LEDGER,
    RATIO,
    judged_claim,
    made_evidence,
    made_trials,
    one_claim,
    without_sessions,
)
from harness.tests.support.sessions import REPOSITORY


def test_every_claim_is_in_one_table_or_named_as_not_testable() -> None:
    sources = [source for table in SECTION.values() for source in table]
    assert sorted({claim.source for claim in LEDGER.values()}) == sorted(sources)
    judged = tuple(without_sessions().values())
    assert [row for table in SECTION for row in table_rows(judged, table)] == []  # nothing was measured
    missing, said = untestable(judged), {".".join(path): leaf for path, leaf in leaves(results(judged))}
    told = [name for name in LEDGER if re.search(rf"\b{name}\b", f"{missing}, {said['contradicted']}")]
    assert told == list(LEDGER) and "N4" in str(said["contradicted"])


def test_a_claim_that_was_judged_has_a_row_with_the_number_that_decided() -> None:
    claim = one_claim().model_copy(update={"source": "nelson2020"})
    one = judged_claim(claim, made_evidence(made_trials(RATIO, 1.5)))
    (row,) = (row for table in SECTION for row in table_rows([one], table))
    assert row is not None and row["claim"] == one.name and row["verdict"] == "holds"
    assert str(row["here"]).startswith("1.4985 (") and row["bound"] == "service 16 of 16"


def test_the_table_near_the_front_has_claims_of_the_ledger_of_which_something_was_measured() -> None:
    assert set(FRONT) <= set(LEDGER)
    assert front_rows(tuple(without_sessions().values())) == []
    one = judged_claim(one_claim(), made_evidence(made_trials(RATIO, 1.5)))
    several = [replace(one, name=name) for name in [*reversed(FRONT), "A1"]]
    rows = [row for row in front_rows(several) if row is not None]
    assert [row["claim"] for row in rows] == list(FRONT[:FRONT_ROWS])
    assert {row["verdict"] for row in rows} == {"holds"}


def test_the_finding_counts_only_the_claims_that_were_decided() -> None:
    said = {".".join(path): leaf for path, leaf in leaves(results(tuple(without_sessions().values())))}
    assert isinstance(said["finding.takeaway"], Absent)
    holds = judged_claim(one_claim(), made_evidence(made_trials(RATIO, 1.5)))
    open_one = judged_claim(one_claim(), made_evidence(made_trials(RATIO, 1.5, bound_by="machine")))
    found = {".".join(path): leaf for path, leaf in leaves(results([holds, open_one]))}
    takeaway, count = found["finding.takeaway"], found["count.judged"]
    assert isinstance(found["finding.title"], Absent)  # how many claims hold is no title
    assert isinstance(takeaway, Words) and isinstance(count, Estimate)
    assert takeaway.text == (
        "Of 2 published claims 1 could be judged: 1 holds. Of the others: 1 is inconclusive."
    )
    assert count.value == 1 and len(takeaway.inputs) == 16


def test_what_is_published_says_direction_and_verdict_from_the_numbers() -> None:
    tree = results(tuple(without_sessions().values()))
    said = {".".join(path): leaf for path, leaf in leaves(tree)}
    line = said["line.N4"]
    assert isinstance(line, Words)
    assert "claimed above 0.5, printed 0.150, untestable here (no session of scaling)" in line.text
    assert line.text.endswith("Verdict: contradicted by its own numbers.")
    count = said["count.all"]
    assert isinstance(count, Estimate) and count.value == len(LEDGER)
    absent = [said[f"{branch}.{name}"] for branch in ("here", "verdict") for name in LEDGER]
    assert all(isinstance(leaf, Absent) for leaf in absent), (
        "a sentence on a verdict has a number, or is left out"
    )
    one = judged_claim(one_claim(), made_evidence(made_trials(RATIO, 1.5)))
    found = {".".join(path): leaf for path, leaf in leaves(results([one]))}["line.A1"]
    assert isinstance(found, Words)
    assert "n = 8, bound by service 16 of 16, e/made): holds." in found.text
    assert len(found.inputs) == 16
    assert list(as_table([one])["outcome"]) == ["holds"]


def test_the_paper_prints_verdicts_of_claims_from_the_ledger_alone() -> None:
    published = {
        ".".join(("claims", *map(slug, path)))
        for path, _ in leaves(results(tuple(without_sessions().values())))
    }
    printed = set()
    for section in sorted((REPOSITORY / "paper").glob("**/*.tex")):
        for key in re.findall(r"\\(?:val|valci|ifsaid)\{([^}]*)\}", section.read_text("utf-8")):
            if "claim" not in key:
                continue
            assert key.startswith("claims."), (section.name, key)
            if re.fullmatch(r"claims\.(?:verdict|here|line)\..+", key):
                assert key in published, (section.name, key)  # of another key ifsaid would say nothing
                printed.add(key.rpartition(".")[2])
    assert printed == {"n10", "n11", "n5", "n9", "r1", "r4", "t1", "t2"}


def test_the_notebook_opens_every_experiment_that_a_claim_names() -> None:
    notebook = json.loads((REPOSITORY / "notebooks/61-claims.ipynb").read_text("utf-8"))
    assert tuple(notebook["metadata"]["rematch"]["optional"]) == experiments(REPOSITORY)
