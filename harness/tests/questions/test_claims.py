# SPDX-License-Identifier: Apache-2.0
"""Claims on made-up trials of known effects: every predicate can hold and can fail, and the gate is asked first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.definitions.claims import load_claims
from harness.errors import InputError
from harness.evidence import Evidence
from harness.model import ClosedLoad, Estimate
from harness.model.claim import (
    Above,
    Below,
    Cell,
    Claim,
    ClaimTest,
    ClaimVerdict,
    MeasuredNumber,
    Near,
    Predicate,
    PublishedNumber,
)
from harness.project import LEDGERS
from harness.questions.claims import (
    JudgedClaim,
    PublishedTables,
    counts,
    judge_claims,
)
from harness.questions.claims.evaluation import measured_verdict
from harness.questions.claims.judging import Outcome, judge, size_of
from harness.questions.claims.measured import Measured, NotMeasured, measure
from harness.questions.claims.words import predicate_words
from harness.tests.support.sessions import REPOSITORY

LEDGER = load_claims(REPOSITORY) | load_claims(REPOSITORY, LEDGERS[1])
TABLES = PublishedTables(REPOSITORY)
TESTS = [
    (f"{name}-{place}", test) for name, claim in LEDGER.items() for place, test in enumerate(claim.tests)
]
#: CPUs of the made-up machine: enough for every claim.
MANY = 64
RATIO = MeasuredNumber(experiment="e", metric="throughput_per_s", variant="a", over="b")
LEVELS = MeasuredNumber(
    experiment="e", metric="throughput_per_s", variant="a", factor="f", level="on", base="off"
)
VALUE = MeasuredNumber(experiment="e", metric="rss_after_bytes", variant="a")


def made_evidence(
    trials: pd.DataFrame,
    *,
    n_cpus: int = MANY,
    experiment: str = "e",
    commit: str | None = None,
    begun_epoch_s: float = 0.0,
    connections: int = 16,
) -> Evidence:
    """Evidence of one session without files: its trials, its reference, its machine, and when and how it was made."""
    session: Any = SimpleNamespace(key=f"{experiment}/made", bundled=True)
    evidence = Evidence(root=Path(), experiment=experiment, sessions=(session,))
    machine = SimpleNamespace(n_cpus=n_cpus, cpu_model="made up")
    load = SimpleNamespace(profile=ClosedLoad(users=connections, loops=1))
    warm_up = SimpleNamespace(window_s=1.0)
    header = SimpleNamespace(
        experiment=SimpleNamespace(
            reference=str(trials["variant"].iloc[0]), profiles={"quick": SimpleNamespace(warm_up=warm_up)}
        ),
        provenance=SimpleNamespace(machine=machine, commit=commit, started_epoch_s=begun_epoch_s),
        plan=SimpleNamespace(
            profile="quick", trials=(SimpleNamespace(configuration=SimpleNamespace(load=load)),)
        ),
    )
    vars(evidence).update(trials=trials, header=header)
    return evidence


def made_trials(
    number: MeasuredNumber,
    value: float,
    *,
    blocks: int = 8,
    noise: float = 0.005,
    bound_by: str = "service",
    seed: int = 1,
) -> pd.DataFrame:
    """Trials in which the number is ``value``: of a ratio the base is 1, and everything scatters by ``noise``."""
    rng = np.random.default_rng(seed)
    if number.factor is not None:
        arms = [
            ({number.factor: number.level}, number.variant, value),
            ({number.factor: number.base}, number.variant, 1.0),
        ]
    elif number.over is not None:
        arms = [({}, number.variant, value), ({}, number.over, 1.0)]
    else:
        arms = [({}, number.variant, value)]
    rows: list[dict[str, object]] = []
    for block in range(1, blocks + 1):
        for own, variant, mean in arms:
            made = mean * float(np.exp(rng.normal(0, noise)))
            row: dict[str, object] = {
                "experiment": "e", "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block,
                "position": len(rows) + 1, "duplicate": False, "variant": variant, "label": variant, "flags": "",
                "configuration": f"{variant},{own}", "excluded": False, "bound_by": bound_by, "n_requests": 1e6,
                "n_errors": 1e6 * made if number.metric == "error_share" else 0.0, "measurement_s": 10.0,
                **number.levels, **own,
            }  # fmt: skip
            rows.append(row if number.metric == "error_share" else row | {number.metric: made})
    return pd.DataFrame(rows)


def fulfilling(predicate: Predicate) -> float:
    return predicate.limit * {"above": 1.5, "below": 0.5, "near": 1.0}[predicate.kind]


def failing(predicate: Predicate) -> float:
    if isinstance(predicate, Near):
        return predicate.limit * (1 + predicate.margin) * 1.5
    return predicate.limit * {"above": 0.5, "below": 1.5}[predicate.kind]


def judged(number: MeasuredNumber, predicate: Predicate, value: float, **made: Any) -> tuple[Outcome, str]:
    found = measure(made_evidence(made_trials(number, value, **made)), number, limit=predicate.limit)
    assert isinstance(found, Measured), found
    said = judge(predicate, found, p_adjusted=found.p_value, n_family=1)
    return said.outcome, said.why


@pytest.mark.parametrize(
    "test", [test for _, test in TESTS if test.measured], ids=[n for n, t in TESTS if t.measured]
)
def test_every_predicate_of_the_ledger_can_hold_and_can_fail(
    test: ClaimTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in test.measured:
        for value, expected in ((fulfilling(test.predicate), "holds"), (failing(test.predicate), "fails")):
            trials = made_trials(
                number, min(value, 0.9) if number.metric == "error_share" and not number.is_ratio else value
            )
            if number.metric == "error_share" and number.is_ratio:
                trials["n_errors"] *= 0.1  # shares of one and more are none
            parts = trials.drop(columns=["bound_by"])
            monkeypatch.setattr("harness.questions.claims.measured.parts_table", lambda _, parts=parts: parts)
            found = measure(made_evidence(trials), number, limit=test.predicate.limit)
            assert isinstance(found, Measured), found
            said = judge(test.predicate, found, p_adjusted=found.p_value, n_family=1)
            assert (said.outcome, found.not_about) == (expected, None), (number, said.why)


@pytest.mark.parametrize("test", [test for _, test in TESTS], ids=[name for name, _ in TESTS])
def test_every_predicate_of_the_ledger_tells_printed_numbers_apart(test: ClaimTest) -> None:
    assert test.predicate.holds(fulfilling(test.predicate))
    assert not test.predicate.holds(failing(test.predicate))
    assert predicate_words(test)


@pytest.mark.parametrize("number", [RATIO, LEVELS], ids=["variants", "levels"])
@pytest.mark.parametrize(
    ("predicate", "value", "expected"),
    [
        (Above(limit=1.0), 1.2, "holds"),
        (Above(limit=1.0), 0.8, "fails"),
        (Above(limit=1.0), 1.01, "fails"),  # within the margin: equal
        (Above(limit=1.2), 1.1, "fails"),
        (Above(limit=1.2), 1.4, "holds"),
        (Below(limit=1.0), 0.8, "holds"),
        (Below(limit=1.0), 1.2, "fails"),
        (Below(limit=0.9), 0.95, "fails"),
        (Near(limit=1.0), 1.01, "holds"),
        (Near(limit=1.0), 1.2, "fails"),
        (Near(limit=2.0, margin=0.2), 2.1, "holds"),
        (Near(limit=2.0, margin=0.2), 1.5, "fails"),
    ],
)
def test_a_ratio_is_judged_against_its_limit(
    number: MeasuredNumber, predicate: Predicate, value: float, expected: str
) -> None:
    assert judged(number, predicate, value)[0] == expected


def test_a_ratio_that_scatters_too_much_is_undecided() -> None:
    for predicate in (Above(limit=1.0), Below(limit=1.0), Near(limit=1.0)):
        assert judged(RATIO, predicate, 1.03, noise=0.2)[0] == "undecided"


def test_different_is_not_outside_of_the_margin() -> None:
    """An interval that leaves out 1 but not the margin does not say that two are not near each other."""
    outcome, why = judged(RATIO, Near(limit=1.0, margin=0.05), 1.05, noise=0.012, blocks=12)
    assert (outcome, why) == ("undecided", "the 95 % interval allows both")


def test_few_blocks_decide_nothing() -> None:
    outcome, why = judged(RATIO, Above(limit=1.0), 3.0, blocks=4)
    assert outcome == "undecided"
    assert why == "4 blocks, fewer than 5"


@pytest.mark.parametrize(
    ("predicate", "value", "expected"),
    [
        (Above(limit=100.0), 120.0, "holds"),
        (Above(limit=100.0), 80.0, "fails"),
        (Below(limit=100.0), 80.0, "holds"),
        (Below(limit=100.0), 120.0, "fails"),
        (Near(limit=100.0, margin=0.1), 102.0, "holds"),
        (Near(limit=100.0, margin=0.1), 130.0, "fails"),
        (Near(limit=100.0, margin=0.1), 70.0, "fails"),
    ],
)
def test_a_value_is_judged_by_its_interval(predicate: Predicate, value: float, expected: str) -> None:
    assert judged(VALUE, predicate, value)[0] == expected


def test_a_value_whose_interval_crosses_the_limit_is_undecided() -> None:
    assert judged(VALUE, Above(limit=100.0), 100.0, noise=0.1) == (
        "undecided",
        "the 95 % interval allows both",
    )


@pytest.mark.parametrize("number", [RATIO, LEVELS, VALUE.model_copy(update={"metric": "throughput_per_s"})])
def test_a_claim_is_judged_only_where_the_services_bounded_the_trials(number: MeasuredNumber) -> None:
    outcome, why = judged(number, Above(limit=1.0), 3.0, bound_by="generator")
    assert outcome == "undecided"
    assert why.startswith("not about the services: bound by the generator")


def test_memory_needs_no_bound() -> None:
    assert judged(VALUE, Above(limit=1.0), 3.0, bound_by="generator")[0] == "holds"


def test_a_family_of_many_asks_more_of_each() -> None:
    trials = made_trials(RATIO, 1.12, noise=0.09, blocks=10, seed=5)
    found = measure(made_evidence(trials), RATIO, limit=1.0)
    assert isinstance(found, Measured) and found.p_value is not None
    alone = judge(Above(limit=1.0), found, p_adjusted=found.p_value, n_family=1)
    among = judge(Above(limit=1.0), found, p_adjusted=min(1.0, 12 * found.p_value), n_family=12)
    assert (alone.outcome, among.outcome) == ("holds", "undecided")
    assert among.why == "different on its own, not within its family"


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["holds", "holds"], ClaimVerdict.HOLDS),
        (["holds weaker", "holds stronger"], ClaimVerdict.HOLDS_WEAKER),
        (["holds stronger", "holds"], ClaimVerdict.HOLDS),
        (["holds stronger", "holds stronger"], ClaimVerdict.HOLDS_STRONGER),
        (["holds", "fails", "undecided"], ClaimVerdict.DOES_NOT_HOLD),
        (["fails", "fails reversed"], ClaimVerdict.DOES_NOT_HOLD),
        (["holds", "fails reversed"], ClaimVerdict.REVERSED),
        (["holds", "undecided"], ClaimVerdict.INCONCLUSIVE),
        (["holds weaker", "not testable"], ClaimVerdict.INCONCLUSIVE),
        (["undecided", "not testable"], ClaimVerdict.INCONCLUSIVE),
        (["not testable", "not testable"], ClaimVerdict.UNTESTABLE),
    ],
)
def test_a_claim_holds_where_each_of_its_numbers_does(outcomes: list[str], expected: ClaimVerdict) -> None:
    sizes = ("weaker", "stronger", "reversed")
    numbers: Any = [
        (one.rsplit(" ", 1)[0], one.rsplit(" ", 1)[1]) if one.endswith(sizes) else (one, None)
        for one in outcomes
    ]
    assert measured_verdict(numbers) is expected
    assert expected.judged is (expected not in (ClaimVerdict.INCONCLUSIVE, ClaimVerdict.UNTESTABLE))


@pytest.mark.parametrize(
    ("predicate", "published", "interval", "outcome", "expected"),
    [
        (Above(limit=1.0), 1.17, (0.70, 0.72), "fails", "reversed"),
        (Above(limit=1.0), 1.17, (0.97, 1.02), "fails", None),  # equal is not the other way round
        (Above(limit=10.0), 729.0, (2.0, 4.0), "fails", None),
        (Below(limit=1.05), 0.88, (1.2, 1.4), "fails", "reversed"),  # printed below 1, measured above
        (Below(limit=1.05), None, (1.2, 1.4), "fails", None),  # nobody claims a side of 1
        (Above(limit=1.0), None, (0.8, 0.9), "fails", "reversed"),
        (Near(limit=1.0), 1.02, (0.5, 0.6), "fails", None),
        (Above(limit=10.0), 729.0, (89.0, 174.0), "holds", "weaker"),
        (Above(limit=2.0), 28.4, (23.7, 24.8), "holds", None),
        (Below(limit=1.1), 0.976, (0.45, 0.47), "holds", "stronger"),  # no gain was claimed, half is lost
        (Below(limit=1.0), 0.54, (0.52, 0.58), "holds", None),
        (Below(limit=1.1), 1.05, (0.45, 0.47), "holds", None),  # printed on the other side of 1
        (Near(limit=16.5, margin=0.5), 16.5, (11.9, 15.9), "holds", None),
        (Above(limit=1.0), 2.0, (1.2, 5.0), "holds", None),  # the interval allows both sizes
    ],
)
def test_a_verdict_says_how_the_measured_ratio_stands_to_the_published_one(
    predicate: Predicate,
    published: float | None,
    interval: tuple[float, float],
    outcome: Outcome,
    expected: str | None,
) -> None:
    low, high = interval
    ratio = Estimate(
        value=(low * high) ** 0.5, low=low, high=high, unit="ratio", method="m", estimand="e", n_trials=9
    )
    assert size_of(predicate, published, ratio, outcome) == expected
    # a ratio and its inverse are as far from 1
    if not isinstance(predicate, Near):
        turned = Below if isinstance(predicate, Above) else Above
        inverse = ratio.model_copy(update={"value": None, "low": 1 / high, "high": 1 / low})
        other = turned(limit=1 / predicate.limit)
        assert size_of(other, None if published is None else 1 / published, inverse, outcome) == expected


@cache
def without_sessions() -> Mapping[str, JudgedClaim]:
    return {one.name: one for one in judge_claims(LEDGER, lambda _: None, TABLES)}


def test_claims_against_their_own_tables_are_found_from_the_published_numbers_alone() -> None:
    found = without_sessions()
    wrong = {name for name, one in found.items() if one.verdict is ClaimVerdict.CONTRADICTED}
    assert wrong == {"N4", "N6", "N16", "N24", "B4"}
    assert all(one.verdict in (ClaimVerdict.CONTRADICTED, ClaimVerdict.UNTESTABLE) for one in found.values())
    assert {one.measured_verdict for one in found.values()} == {ClaimVerdict.UNTESTABLE}
    assert counts(tuple(found.values()))[ClaimVerdict.HOLDS] == 0


@pytest.mark.parametrize(
    ("name", "place", "expected"),
    [
        ("N1", 0, 15330.60 / 20364.11),
        ("N4", 1, 14273.48 / 82047.92),
        ("N5", 0, 430264 / 15144),
        ("N9", 0, 21333.33 / 18273.18),
        ("N24", 2, 30497.10 / 43712.02),
        ("N27", 0, 15216 * 1024),
        ("T1", 0, 1320 / 1.81),
        ("T12", 0, 1971.75),
        ("B1", 0, 0.0),
        ("B4", 1, 131.3 / 88.8),
        ("X3", 0, 20),
        ("X3", 1, 0),
    ],
)
def test_published_numbers_are_computed_from_the_tables(name: str, place: int, expected: float) -> None:
    assert without_sessions()[name].tests[place].published == pytest.approx(expected)


def test_a_published_number_that_is_not_one_cell_is_an_error() -> None:
    wrong: dict[str, Cell] = {"9 cells": {"round": 1}, "0 cells": {"round": 3}, "no such column": {"rund": 1}}
    for problem, of in wrong.items():
        number = PublishedNumber(file="strings-rounds", column="throughput_per_s", of=of)
        with pytest.raises(InputError, match=problem):
            TABLES.value(number)
    with pytest.raises(InputError, match="no column of numbers"):
        TABLES.value(PublishedNumber(file="strings-rounds", column="application", of={"round": 1}))


def one_claim(**changed: Any) -> Claim:
    test = ClaimTest(what="a number", predicate=Above(limit=1.0), measured=(RATIO,), **changed)
    return Claim(
        source="s", statement="a over b", workload="w", condition="c", metric="m", family="f", tests=(test,)
    )


def judged_claim(claim: Claim, evidence: Evidence | None) -> JudgedClaim:
    (one,) = judge_claims({"A1": claim}, lambda _: evidence, TABLES)
    return one


def test_the_verdict_carries_what_it_rests_on() -> None:
    one = judged_claim(one_claim(), made_evidence(made_trials(RATIO, 1.5)))
    assert one.verdict is ClaimVerdict.HOLDS
    found = one.tests[0].measured
    assert found is not None
    assert found.estimate.value == pytest.approx(1.5, rel=0.02)
    assert (found.n, found.bound_by, found.machine) == (8, {"service": 16}, f"{MANY} CPUs, made up")
    assert one.sessions == ("e/made",)


def test_a_published_contradiction_stands_whatever_was_measured() -> None:
    printed = PublishedNumber(
        file="strings-rounds", column="throughput_per_s",
        of={"round": 1, "application": "Helidon JVM", "logging": "on"}, over={"round": 1, "application": "Go", "logging": "on"},
    )  # fmt: skip
    one = judged_claim(one_claim(published=printed), made_evidence(made_trials(RATIO, 1.5)))
    assert (one.verdict, one.measured_verdict) == (ClaimVerdict.CONTRADICTED, ClaimVerdict.HOLDS)
    assert one.contradiction is one.tests[0]


def test_a_claim_of_a_large_machine_is_not_judged_on_a_small_one() -> None:
    one = judged_claim(one_claim(needs_cpus=8), made_evidence(made_trials(RATIO, 1.5), n_cpus=2))
    assert one.verdict is ClaimVerdict.UNTESTABLE
    assert one.tests[0].judgement.why == "speaks of 8 CPUs or more, the machine has 2"


def test_what_is_missing_is_named() -> None:
    assert judged_claim(one_claim(), None).tests[0].judgement.why == "no session of e"
    other = made_trials(RATIO, 1.5).replace({"variant": {"a": "c"}})
    why = judged_claim(one_claim(), made_evidence(other)).tests[0].judgement.why
    assert why == "no throughput_per_s of a in e"
    level = LEVELS.model_copy(update={"level": "full"})
    found = measure(made_evidence(made_trials(LEVELS, 1.5)), level, limit=1.0)
    assert found == NotMeasured("no trials of f full in e")


def test_an_unknown_metric_is_an_error() -> None:
    number = RATIO.model_copy(update={"metric": "speed"})
    with pytest.raises(InputError, match="no such metric; found 'speed'"):
        measure(made_evidence(made_trials(RATIO, 1.5)), number, limit=1.0)


@pytest.mark.parametrize("predicate", [Above(limit=1.0), Near(limit=1.0)], ids=["above", "near"])
def test_what_is_equal_by_the_noise_alone_is_undecided(predicate: Predicate) -> None:
    """The duplicates of the base differ by a sixth: a tenth is neither shown to be more, nor near."""
    trials = made_trials(RATIO, 1.1)
    again = trials[trials["variant"] == "b"].assign(
        duplicate=True, position=lambda rows: rows["position"] + 100
    )
    again["trial_id"] = [f"again-{place}" for place in range(len(again))]
    again["throughput_per_s"] *= 1.16 * np.exp(np.random.default_rng(2).normal(0, 0.003, len(again)))
    evidence = made_evidence(pd.concat([trials, again], ignore_index=True))
    found = measure(evidence, RATIO, limit=1.0)
    assert isinstance(found, Measured)
    said = judge(predicate, found, p_adjusted=found.p_value, n_family=1)
    assert (said.outcome, said.why.split(",")[0]) == ("undecided", "within what equal trials differ by")
