# SPDX-License-Identifier: Apache-2.0
"""The ledger of claims is complete, refers to what is there, and what is wrong with it is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.tables.schema import NUMBERS
from harness.definitions import load_study
from harness.definitions.claims import load_claims
from harness.errors import InputError
from harness.model.claim import Claim
from harness.project import EXPERIMENTS, LEDGERS
from harness.tests.support.kept_sessions import make_claims_project
from harness.tests.support.sessions import REPOSITORY

#: Letter of a claim -> how many there are.
ROWS = {"N": 32, "T": 16, "B": 6, "R": 9, "X": 5}
OF_PARTS = {
    "latency_mean_s", "latency_p50_s", "latency_p99_s", "latency_max_s", "throughput_per_s", "service_cores",
    "rss_max_bytes",
}  # fmt: skip


@pytest.fixture(scope="module")
def ledger() -> dict[str, Claim]:
    return load_claims(REPOSITORY)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_claims_project(tmp_path)


def test_every_row_is_there_once_and_in_order(ledger: dict[str, Claim]) -> None:
    assert list(ledger) == [f"{letter}{n}" for letter, last in ROWS.items() for n in range(1, last + 1)]


def test_every_metric_is_a_column_of_what_is_measured(ledger: dict[str, Claim]) -> None:
    known = {True: OF_PARTS, False: {*NUMBERS, "error_share"}}
    tests = [test for claim in ledger.values() for test in claim.tests]
    numbers = [row for test in tests for row in (*test.rows, *test.then, *test.then_ours)]
    assert len(numbers) > 50
    assert [number for number in numbers if number.metric not in known["part" in number.where]] == []


#: Source -> the mixes of requests that are its article's: of the bank's rematch also in the same shares, one by one.
REQUESTS = {
    "nikitsenka2018": {"original"}, "kirichenko2020": {"rematch", "independent"},
    "tivrfoa2024": {"hello", "hello-published", "hello-minors", "db"}, "nelson2020": {"hello"},
    "nelson2026": {"work-128", "work-8192"},
}  # fmt: skip


def test_what_judges_a_claim_of_an_article_asks_the_articles_requests(ledger: dict[str, Claim]) -> None:
    """One query a request of a program that no article had is another bank."""
    other = []
    for name, claim in ledger.items():
        for number in (number for test in claim.tests for number in test.rows):
            experiment = load_study(REPOSITORY, number.experiment).experiment
            chosen = (experiment.factors.get(factor, {}).get(level) for factor, level in number.where.items())
            mixes = {level.mix for level in chosen if level is not None and level.mix}
            if not (mixes or {experiment.mix}) <= REQUESTS[claim.source]:
                other.append((name, number.experiment, mixes))
            arms = (number.variant, None if number.along else number.reference)
            programs = {experiment.variants[arm].implementation for arm in arms if arm}
            if claim.workload == "bank" and not programs <= {"go-gorilla", "java-spring"}:
                other.append((name, number.experiment, programs))
    assert other == []


def complaint(root: Path, before: str, after: str) -> str:
    path = root / EXPERIMENTS / "claims.toml"
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), "utf-8")
    with pytest.raises(InputError) as problem:
        load_claims(root)
    said = str(problem.value)
    assert "claims.toml" in said
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("[claims.N1]\n", "[claims.N1\n", ["broken TOML", "line"]),
        ('source = "nelson2020"', 'source = "nelson202"', ["claims.N1.source", "did you mean 'nelson202"]),
        ('statement = "On a laptop', 'statment = "On a laptop', ["claims.N1", "did you mean 'statement'"]),
        ('family = "strings-logging"\n', "", ["claims.N1.family", "missing key"]),
        ('kind = "below", limit = 0.9', 'kind = "under", limit = 0.9', ["claims.N1.tests.0.predicate"]),
        ("limit = 0.9 }", "limit = -1.0 }", ["claims.N1.tests.0.predicate.limit", "greater than 0"]),
        ("limit = 0.9 }", 'limit = "0.9" }', ["claims.N1.tests.0.predicate.limit", "valid number"]),
        ('file = "strings-rounds"', 'file = "strings-round"', ["published.file", "did you mean 'strings-rounds'"]),
        ('experiment = "strings-published"', 'experiment = "strings"', ["rows.0.experiment", "unknown experiment"]),
        ('variant = "go-kit", along', 'variant = "gokit", along', ["rows.0.variant", "did you mean 'go-kit'"]),
        ('along = "logging", ', 'along = "loging", ', ["rows.0", "along needs a reference, and its level in where"]),
        ('reference = "off"', 'reference = "of"', ["rows.0.reference", "'off'"]),
        ('reference = "off", ', "", ["claims.N1.tests.0.rows", "along needs a reference"]),
        ('load = "saturation", logging', 'load = "most", logging', ["where.load", "unknown level"]),
        ('load = "saturation", logging', "logging", ["every factor", "a level of load too"]),
        ('warm_up = "none", logging = "on"', 'warm_up = "none", logging = "off"', ["must compare two levels"]),
        ("[not_then.nelson2026]", "[not_then.go125]", ["claims.X3.tests.0.then", "no row of its time, and no reason"]),
        (
            'missing = "no experiment varies logging, machine, runtime and warm-up together"',
            "",
            ["claims.N3.tests.0", "either rows or missing"],
        ),
        ('opposes = ["N19"]', 'opposes = ["N20"]', ["claims.N18.opposes", "does not say the opposite"]),
        ('opposes = ["N19"]', 'opposes = ["N99"]', ["claims.N18.opposes", "unknown claim"]),
        ('pick = "wins", by = ["payload_bytes", "users"]', 'pick = "wins"', ["X3.tests.0.published", "wins needs by"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(root: Path, before: str, after: str, words: list[str]) -> None:
    said = complaint(root, before, after)
    for word in words:
        assert word in said, said


def test_a_ledger_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(InputError, match=r"other\.toml: cannot be read"):
        load_claims(root, "other")


def test_what_vendors_claim_comes_with_their_sentence_and_where_it_stands() -> None:
    ledger = load_claims(REPOSITORY, LEDGERS[1])
    assert list(ledger) == ["V1", "V2", "V3", "V4", "V5"]
    for claim in ledger.values():
        assert claim.origin == "vendor" and claim.quote and claim.page and claim.page.startswith("https://")
