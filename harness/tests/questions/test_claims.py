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

from harness.analysis.evidence import Evidence
from harness.definitions.claims import load_ledgers
from harness.errors import InputError
from harness.model import ClosedLoad
from harness.model.claim import (
    Above,
    Below,
    Cell,
    Claim,
    ClaimTest,
    ClaimVerdict,
    Near,
    Predicate,
    PublishedNumber,
    RowFilter,
)
from harness.questions.claims import JudgedClaim, PublishedTables, counts, judge_claims
from harness.questions.claims.evaluation import Outcome, evaluate, measured_verdict, size_of
from harness.questions.claims.rows import Row
from harness.questions.claims.words import predicate_words, then_words
from harness.rows import Session
from harness.rows.limits import row_of
from harness.tests.support.made_up_trials import trial, uneven_speeds
from harness.tests.support.sessions import REPOSITORY

LEDGER = load_ledgers(REPOSITORY)
TABLES = PublishedTables(REPOSITORY)
TESTS = [
    (f"{name}-{place}", test) for name, claim in LEDGER.items() for place, test in enumerate(claim.tests)
]
#: CPUs of the made-up machine: enough for every claim.
MANY = 64
RATIO = RowFilter(experiment="e", metric="throughput_per_s", variant="a", reference="b")
LEVELS = RowFilter(
    experiment="e", metric="throughput_per_s", variant="a", along="f", reference="off", where={"f": "on"}
)
VALUE = RowFilter(experiment="e", metric="rss_after_bytes", variant="a")


def made_session(
    trials: pd.DataFrame, *, n_cpus: int = MANY, experiment: str = "e", commit: str | None = None,
    begun_epoch_s: float = 0.0, connections: int = 16,
) -> Session:  # fmt: skip
    """A session without files: its trials, its reference, its machine, and when and how it was made."""
    made: Any = SimpleNamespace
    folder = made(key=f"{experiment}/made", bundled=True)
    evidence = Evidence(root=Path(), experiment=experiment, sessions=(folder,))
    machine = made(n_cpus=n_cpus, cpu_model="made up")
    load = made(profile=ClosedLoad(users=connections, loops=1))
    profiles = {"quick": made(warm_up=made(window_s=1.0))}
    header = made(
        experiment=made(reference=str(trials["variant"].iloc[0]), profiles=profiles),
        provenance=made(machine=machine, commit=commit, started_epoch_s=begun_epoch_s),
        plan=made(profile="quick", trials=(made(configuration=made(load=load)),)),
    )
    vars(evidence).update(trials=trials, header=header)
    return Session(root=Path(), experiment=experiment, evidence=evidence)


def made_trials(
    wanted: RowFilter, value: float, *, blocks: int = 8, noise: float = 0.005, bound_by: str = "service",
    seed: int = 1,
) -> pd.DataFrame:  # fmt: skip
    """Trials in which the number is ``value``: of a ratio the base is 1, and everything scatters by ``noise``."""
    rng = np.random.default_rng(seed)
    arms: list[tuple[dict[str, Any], str, float]] = [({}, wanted.variant, value)]
    if wanted.along is not None:
        arms.append(({wanted.along: wanted.reference}, wanted.variant, 1.0))
    elif wanted.reference is not None:
        arms.append(({}, wanted.reference, 1.0))
    rows: list[dict[str, object]] = []
    for block in range(1, blocks + 1):
        for own, variant, mean in arms:
            made = mean * float(np.exp(rng.normal(0, noise)))
            share = wanted.metric == "error_share"
            row = trial(
                len(rows), variant, block, configuration=f"{variant},{own}", bound_by=bound_by, n_requests=1e6,
                n_errors=1e6 * made if share else 0.0, measurement_s=10.0, **wanted.where | own,
            )  # fmt: skip
            rows.append(row if share else row | {wanted.metric: made})
    return pd.DataFrame(rows)


def fulfilling(predicate: Predicate) -> float:
    return predicate.limit * {"above": 1.5, "below": 0.5, "near": 1.0}[predicate.kind]


def failing(predicate: Predicate) -> float:
    if isinstance(predicate, Near):
        return predicate.limit * (1 + predicate.margin) * 1.5
    return predicate.limit * {"above": 0.5, "below": 1.5}[predicate.kind]


def made_row(trials: pd.DataFrame, wanted: RowFilter, predicate: Predicate) -> Row:
    row = row_of(made_session(trials), wanted, limit=predicate.limit, margin=predicate.margin)
    assert isinstance(row, dict), row
    return row


def outcome_of(predicate: Predicate, row: Row, n_family: int = 1) -> tuple[Outcome, str]:
    """What a row says; its p-value is that of the smallest of a family."""
    p = None if isinstance(predicate, Near) or row["p_value"] is None else min(1.0, n_family * row["p_value"])
    judgement = evaluate(predicate, row, p, n_family)
    return judgement.outcome, judgement.why


def judged(wanted: RowFilter, predicate: Predicate, value: float, **made: Any) -> tuple[Outcome, str]:
    return outcome_of(predicate, made_row(made_trials(wanted, value, **made), wanted, predicate))


@pytest.mark.parametrize(
    "test", [test for _, test in TESTS if test.rows], ids=[n for n, t in TESTS if t.rows]
)
def test_every_predicate_can_hold_and_can_fail(test: ClaimTest, monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in (*test.rows, *test.then, *test.then_ours):
        for value, expected in ((fulfilling(test.predicate), "holds"), (failing(test.predicate), "fails")):
            share = wanted.metric == "error_share"
            trials = made_trials(wanted, min(value, 0.9) if share and not wanted.is_ratio else value)
            if share and wanted.is_ratio:
                trials["n_errors"] *= 0.1  # shares of one and more are none
            parts = trials.drop(columns=["bound_by"])
            monkeypatch.setattr("harness.rows.limits.parts", lambda _, parts=parts: parts)
            row = made_row(trials, wanted, test.predicate)
            outcome, why = outcome_of(test.predicate, row)
            assert (outcome, row["says"] == "refused") == (expected, False), (wanted, why)


def test_every_predicate_of_the_ledger_tells_printed_numbers_apart() -> None:
    for name, test in TESTS:
        assert test.predicate.holds(fulfilling(test.predicate)), name
        assert not test.predicate.holds(failing(test.predicate)), name
        assert predicate_words(test), name


@pytest.mark.parametrize(
    ("number", "predicate", "value", "expected"),
    [
        *(
            (number, predicate, value, expected)
            for number in (RATIO, LEVELS)
            for predicate, value, expected in (
                (Above(limit=1.0), 1.2, "holds"),
                (Above(limit=1.0), 0.8, "fails"),
                (Above(limit=1.0), 1.01, "fails"),  # within the margin: equal
                (Above(limit=1.2), 1.1, "fails"),
                (Below(limit=1.0), 0.8, "holds"),
                (Near(limit=1.0), 1.01, "holds"),
                (Near(limit=1.0), 1.2, "fails"),
                (Near(limit=2.0, margin=0.2), 2.1, "holds"),
            )
        ),
        (VALUE, Above(limit=100.0), 120.0, "holds"),
        (VALUE, Below(limit=100.0), 80.0, "holds"),
        (VALUE, Near(limit=100.0, margin=0.1), 102.0, "holds"),
        (VALUE, Near(limit=100.0, margin=0.1), 130.0, "fails"),
    ],
)
def test_a_number_has_its_limit(number: RowFilter, predicate: Predicate, value: float, expected: str) -> None:
    # nothing bounds memory
    bound_by = "generator" if number is VALUE else "service"
    assert judged(number, predicate, value, bound_by=bound_by)[0] == expected


RATE = VALUE.model_copy(update={"metric": "throughput_per_s"})


@pytest.mark.parametrize(
    ("wanted", "predicate", "value", "made", "why"),
    [
        *((RATIO, kind(limit=1.0), 1.03, {"noise": 0.2}, "") for kind in (Above, Below, Near)),
        # an interval that leaves out 1 but not the margin does not say that two are not near each other
        (RATIO, Near(), 1.05, {"noise": 0.012, "blocks": 12}, "the 95 % interval allows both"),
        (RATIO, Above(), 3.0, {"blocks": 4}, "4 blocks, fewer than 5"),
        (VALUE, Above(limit=100.0), 100.0, {"noise": 0.1}, "the 95 % interval allows both"),
        *(
            (wanted, Above(), 3.0, {"bound_by": "generator"}, "no verdict: bound by the generator")
            for wanted in (RATIO, LEVELS, RATE)
        ),
    ],
)
def test_what_decides_nothing_says_why(
    wanted: RowFilter, predicate: Predicate, value: float, made: dict[str, Any], why: str
) -> None:
    outcome, reason = judged(wanted, predicate, value, **made)
    assert outcome == "undecided" and reason.startswith(why)


def test_a_family_of_many_asks_more_of_each() -> None:
    row = made_row(made_trials(RATIO, 1.12, noise=0.09, blocks=10, seed=5), RATIO, Above(limit=1.0))
    assert outcome_of(Above(limit=1.0), row)[0] == "holds"
    alone = "different on its own, not within its family"
    assert outcome_of(Above(limit=1.0), row, 12) == ("undecided", alone)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["holds", "holds"], ClaimVerdict.HOLDS),
        (["holds weaker", "holds stronger"], ClaimVerdict.HOLDS_WEAKER),
        (["holds stronger", "holds"], ClaimVerdict.HOLDS),
        (["holds stronger", "holds stronger"], ClaimVerdict.HOLDS_STRONGER),
        (["fails", "fails reversed"], ClaimVerdict.DOES_NOT_HOLD),
        (["holds", "fails reversed"], ClaimVerdict.REVERSED),
        (["holds", "undecided"], ClaimVerdict.INCONCLUSIVE),
        (["holds weaker", "not testable"], ClaimVerdict.INCONCLUSIVE),
        (["not testable", "not testable"], ClaimVerdict.UNTESTABLE),
    ],
)
def test_a_claim_holds_where_each_of_its_numbers_does(outcomes: list[str], expected: ClaimVerdict) -> None:
    sizes = ("weaker", "stronger", "reversed")
    numbers: Any = [tuple(one.split(" ")) if one.endswith(sizes) else (one, None) for one in outcomes]
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
    predicate: Predicate, published: float | None, interval: tuple[float, float], outcome: Outcome,
    expected: str | None,
) -> None:  # fmt: skip
    low, high = interval
    assert size_of(predicate, published, {"low": low, "high": high}, outcome) == expected
    # a ratio and its inverse are as far from 1
    if not isinstance(predicate, Near):
        turned = Below if isinstance(predicate, Above) else Above
        inverse = {"low": 1 / high, "high": 1 / low}
        other = turned(limit=1 / predicate.limit)
        assert size_of(other, None if published is None else 1 / published, inverse, outcome) == expected


@cache
def without_sessions() -> Mapping[str, JudgedClaim]:
    return {one.name: one for one in judge_claims(LEDGER, {}, TABLES, {})}


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
        ("N27", 0, 15216 * 1024),
        ("T1", 0, 1320 / 1.81),
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
    given: dict[str, Any] = {"what": "a number", "predicate": Above(limit=1.0), "rows": (RATIO,)}
    test = ClaimTest.model_validate(given | changed)
    return Claim(
        source="s", statement="a over b", workload="w", condition="c", metric="m", family="f", tests=(test,)
    )


def judged_claim(claim: Claim, *sessions: Session) -> JudgedClaim:
    opened = {session.experiment: session for session in sessions}
    (judged_one,) = judge_claims({"A1": claim}, opened, TABLES, {"s": "no program of its time"})
    return judged_one


def test_a_published_contradiction_stands_whatever_was_measured() -> None:
    printed = PublishedNumber(
        file="strings-rounds", column="throughput_per_s",
        of={"round": 1, "application": "Helidon JVM", "logging": "on"}, over={"round": 1, "application": "Go", "logging": "on"},
    )  # fmt: skip
    claim = judged_claim(one_claim(published=printed), made_session(made_trials(RATIO, 1.5)))
    assert (claim.verdict, claim.measured_verdict) == (ClaimVerdict.CONTRADICTED, ClaimVerdict.HOLDS)
    assert claim.contradiction is claim.tests[0]


def test_what_is_missing_is_named() -> None:
    claim = judged_claim(one_claim(needs_cpus=8), made_session(made_trials(RATIO, 1.5), n_cpus=2))
    assert claim.verdict is ClaimVerdict.UNTESTABLE
    assert claim.tests[0].judgement.why == "speaks of 8 CPUs or more, the machine has 2"
    assert judged_claim(one_claim()).tests[0].judgement.why == "no session of e"
    lacking = made_session(made_trials(RATIO, 1.5).replace({"variant": {"a": "c"}}))
    why = judged_claim(one_claim(), lacking).tests[0].judgement.why
    assert why == "no throughput_per_s of a in e"
    level = LEVELS.model_copy(update={"where": {"f": "full"}})
    why = str(row_of(made_session(made_trials(LEVELS, 1.5)), level))
    assert why == "no throughput_per_s of full in e"
    with pytest.raises(InputError, match="no such metric; found 'speed'"):
        row_of(made_session(made_trials(RATIO, 1.5)), RATIO.model_copy(update={"metric": "speed"}))


@pytest.mark.parametrize("predicate", [Above(limit=1.0), Near(limit=1.0)], ids=["above", "near"])
def test_what_is_equal_by_the_noise_alone_is_undecided(predicate: Predicate) -> None:
    """The duplicates of the base differ by a sixth: a tenth is neither shown to be more, nor near."""
    trials = made_trials(RATIO, 1.1)
    again = trials[trials["variant"] == "b"].assign(duplicate=True, position=lambda t: t["position"] + 100)
    again["trial_id"] = [f"again-{place}" for place in range(len(again))]
    again["throughput_per_s"] *= 1.16 * np.exp(np.random.default_rng(2).normal(0, 0.003, len(again)))
    row = made_row(pd.concat([trials, again], ignore_index=True), RATIO, predicate)
    outcome, why = outcome_of(predicate, row)
    assert (outcome, why.split(",")[0]) == ("undecided", "within what equal trials differ by")


@pytest.mark.parametrize(
    ("then", "ours", "now", "expected"),
    [
        (0.5, 0.5, 0.5, "wrong then"),
        (0.5, None, 0.5, "wrong then"),
        (0.5, 1.5, 0.5, "outdated"),  # true of the services, and not shown by its method on this machine
        (1.5, 0.5, 0.5, "artefact of the method"),
        (1.5, 1.5, 0.5, "outdated"),
        (1.5, 1.5, 1.5, None),  # reproduced
        (1.5, None, 0.5, None),  # outdated or an artefact: nobody knows
        (None, None, 0.5, None),
        (0.5, 0.5, None, None),  # not measured now
    ],
)
def test_what_was_not_reproduced_is_divided_where_both_verdicts_exist(
    then: float | None, ours: float | None, now: float | None, expected: str | None
) -> None:
    values = {"now": now, "then": then, "ours": ours}
    filters = {name: RATIO.model_copy(update={"experiment": name}) for name in values}
    claim = one_claim(rows=(filters["now"],), then=(filters["then"],), then_ours=(filters["ours"],))
    measured = {name: value for name, value in values.items() if value is not None}
    sessions = (made_session(made_trials(RATIO, value), experiment=name) for name, value in measured.items())
    (test,) = judged_claim(claim, *sessions).tests
    assert test.not_reproduced == expected
    assert (test.then.outcome == "not testable") == (then is None)


def test_by_its_own_method_nothing_is_asked_of_bounds_and_ages() -> None:
    session = made_session(made_trials(RATIO, 1.5, bound_by="machine").assign(age="young"))
    (test,) = judged_claim(one_claim(age="warm", then=(RATIO,), then_ours=(RATIO,)), session).tests
    assert (test.then.outcome, test.then_ours.outcome) == ("holds", "not testable")
    assert "speaks of warm services" in test.then_ours.why
    assert test.outcome == "not testable"


def test_sessions_that_say_different_things_of_its_method_leave_a_number_undecided() -> None:
    sessions = [made_session(made_trials(RATIO, 1.0 + 0.5 * n), experiment=f"{n}") for n in (-1, 1)]
    filters = tuple(RATIO.model_copy(update={"experiment": session.experiment}) for session in sessions)
    (test,) = judged_claim(one_claim(then=filters), *sessions).tests
    assert (test.then.outcome, test.then.why) == ("undecided", "its sessions say different things")


def test_trials_that_a_neighbour_slowed_count_for_programs_of_the_time_alone() -> None:
    wanted = RATIO.model_copy(update={"variant": "java-helidon", "reference": "go-nethttp"})
    session = made_session(uneven_speeds(busy=0.5))
    (test,) = judged_claim(one_claim(rows=(wanted,), then=(wanted,), then_ours=(wanted,)), session).tests
    assert test.row is not None and test.then.row is not None
    assert (test.then.row["n"], test.row["n"] < 20) == (20, True)
    assert test.then.row["value"] == pytest.approx(1.5, rel=0.02)
    assert then_words(test.then).startswith("1.4994 (1.4897 to 1.5093), as claimed: ")


@pytest.mark.parametrize(
    ("predicate", "ratio", "outcome"),
    [
        (Above(limit=1.0), 1.5, "holds"),
        (Above(limit=1.0), 0.7, "fails"),
        (Above(limit=2.0), 1.5, "undecided"),
        (Above(limit=0.5), 0.7, "undecided"),
        (Below(limit=0.8), 0.7, "holds"),
        (Below(limit=2.0), 1.5, "undecided"),
        (Near(limit=1.0), 1.0, "undecided"),
        (Near(limit=1.0), 1.5, "fails"),
    ],
)
def test_the_tools_part_hides_a_larger_ratio(predicate: Predicate, ratio: float, outcome: str) -> None:
    wanted = RATIO.model_copy(update={"metric": "latency_mean_s"})
    trials = made_trials(wanted, ratio, bound_by="offered").assign(throughput_per_s=100.0)
    alone = outcome_of(predicate, made_row(trials, wanted, predicate))
    of_tool = outcome_of(predicate, made_row(trials.assign(echo_latency_mean_s=0.3), wanted, predicate))
    assert of_tool[0] == outcome, of_tool[1]
    if outcome == "undecided":
        assert any(words in of_tool[1] for words in ("farther from 1", "nothing is called equivalent"))
        assert alone[0] != "undecided"
