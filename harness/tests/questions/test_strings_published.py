# SPDX-License-Identifier: Apache-2.0
"""The programs as published: sentences follow the verdicts, nothing is said where the gate refuses, waits are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.model import Estimate, Verdict
from harness.model.study import ProfileName
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.results import Absent, Words, leaves
from harness.questions.strings_published import programs_as_published, results
from harness.questions.strings_published.analysis import OFF, ON, PLAN, RECORDED, SATURATION, Waits
from harness.questions.strings_published.answer import (
    half_answer,
    lock_answer,
    log_answer,
    waits_in_words,
    where,
)
from harness.questions.strings_published.results import notes
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.made_up_trials import made_up_trials

EXPERIMENT = "strings-published"
VIEW = """
                            Contention by Lock Class

Lock Class                                          Count     Avg.      P90     Longest
--------------------------------------------------- ------- --------- -------- --------
rematch.strings.PublishedLog$LockedHandler            1,204   50.0 us  90.0 us  1.20 ms
java.lang.Object                                          2   20.0 us  20.0 us  20.0 us
"""


def opened(folder: Path, profile: ProfileName) -> Evidence:
    root: Path = lay_project(folder, profile=profile, experiments=(EXPERIMENT,))
    settings = StageParameters(profile=profile, experiments=EXPERIMENT)
    for trial in (root / "data/raw" / EXPERIMENT).glob(f"*/*-{RECORDED}"):
        (trial / "contention.txt").write_text(VIEW, "utf-8")
    tidy_all(settings, root=root)
    return open_evidence(settings, EXPERIMENT, root=root)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A made-up quick session in which a log line leaves seven tenths of every program's throughput."""
    return opened(tmp_path_factory.mktemp("quick"), "quick")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A made-up smoke session, with a program that recorded its waits."""
    return opened(tmp_path_factory.mktemp("smoke"), "smoke")


def comparison(verdict: Verdict, ratio: float, not_about: str | None = None) -> Comparison:
    trials = made_up_trials().query("logging == 'off' and language != 'rust'")
    found = next(iter(compare(trials, "throughput_per_s", reference="go-nethttp")))
    estimate = found.ratio.model_copy(update={"value": ratio, "low": 0.95 * ratio, "high": 1.05 * ratio})
    return found.model_copy(
        update={"verdict": verdict, "ratio": estimate, "not_about": not_about, "margin": 0.05}
    )


LABELS = {"a": "A", "b": "B", "c": "C", "d": "D"}
REFUSED = "bound by the generator (9 of 10 trials)"


def test_each_program_is_told_with_what_a_line_leaves_or_why_nothing_can_be_said() -> None:
    text = log_answer(
        {
            "a": comparison(Verdict.DIFFERENT, 0.5), "b": comparison(Verdict.INCONCLUSIVE, 0.9),
            "c": comparison(Verdict.NOT_ABOUT_SERVICES, 0.77, REFUSED), "d": comparison(Verdict.EQUIVALENT, 1.01),
        },
        LABELS,
    )  # fmt: skip
    assert "A 0.500 (0.475 to 0.525);" in text
    assert "B 0.900 (0.855 to 0.945), by so few blocks not shown to differ from 1;" in text
    assert f"C ({REFUSED}: nothing can be said);" in text and "0.77" not in text
    assert "equivalent within 5 %" in text and "over 5 blocks of fresh processes" in text
    assert log_answer({}, LABELS) == ""


def test_more_than_half_is_said_where_the_whole_interval_is_above_two() -> None:
    text = half_answer(
        {
            "a": comparison(Verdict.DIFFERENT, 3.0), "b": comparison(Verdict.DIFFERENT, 2.0),
            "c": comparison(Verdict.DIFFERENT, 1.5), "d": comparison(Verdict.NOT_ABOUT_SERVICES, 3.0, REFUSED),
        },
        LABELS,
    )  # fmt: skip
    assert text == (
        "Of the CPU time per request, the log line takes more than half in A and less than half in C. "
        "Whether it takes more than half in B is not shown. Nothing can be said of its part in D."
    )
    assert half_answer({}, LABELS) == ""


@pytest.mark.parametrize(
    ("verdict", "ratio", "words"),
    [
        (Verdict.DIFFERENT, 1.4, "more requests per second (1.400 (1.330 to 1.470)): the lock is a cost"),
        (Verdict.DIFFERENT, 0.7, "fewer requests per second"),
        (Verdict.DIFFERENT_BUT_NEGLIGIBLE, 1.02, "negligibly more"),
        (Verdict.EQUIVALENT, 1.0, "as many requests per second within 5 %"),
        (Verdict.INCONCLUSIVE, 1.1, "is by so few blocks not shown to answer more or fewer"),
        (Verdict.INCONCLUSIVE, 1.01, "is not shown to answer more or fewer"),
    ],
)
def test_the_lock_is_a_cost_only_where_more_was_answered_without_it(
    verdict: Verdict, ratio: float, words: str
) -> None:
    text = lock_answer(comparison(verdict, ratio), (4.0,))
    assert words in text and text.startswith("On 4 cores, Helidon")
    assert ("the lock is a cost" in text) == (verdict == Verdict.DIFFERENT and ratio > 1)
    assert ("not the limit" in text) == (verdict != Verdict.INCONCLUSIVE and "a cost" not in text)


def test_of_a_refused_ratio_and_of_none_nothing_is_said_of_the_lock() -> None:
    text = lock_answer(comparison(Verdict.NOT_ABOUT_SERVICES, 1.44, REFUSED), (1.0,))
    assert (
        text == f"Whether the lock of java.util.logging limits Helidon on one core cannot be said: {REFUSED}."
    )
    assert lock_answer(None, (1.0,)) == ""


def test_on_one_core_it_is_said_that_one_thread_runs_at_a_time() -> None:
    assert "one thread runs at a time" in lock_answer(comparison(Verdict.EQUIVALENT, 1.0), (1.0,))
    assert "one thread" not in lock_answer(comparison(Verdict.EQUIVALENT, 1.0), (2.0,))
    assert where((1.0, 2.0)) == "different numbers of cores"


def test_waits_are_told_with_their_mean_where_there_were_any() -> None:
    some = Waits(n_processes=1, n_requests=5_000, n_waits=200, waited_s=0.01, inputs=())
    assert waits_in_words(some) == (
        "threads waited for the handler's lock 200 times in 5,000 requests, for 50.0\N{NARROW NO-BREAK SPACE}µs on average"
    )
    none = Waits(n_processes=1, n_requests=5_000, n_waits=0, waited_s=0.0, inputs=())
    assert waits_in_words(none).endswith("0 times in 5,000 requests")


def test_a_line_is_compared_within_each_program_at_each_load(evidence: Evidence) -> None:
    programs = programs_as_published(evidence)
    assert programs is not None and programs.cpus == (2.0,)
    for load in (SATURATION, PLAN):
        found = programs.log_effects("throughput_per_s", load)
        assert set(found) == {"go-kit", "java-helidon", "helidon-unlocked", "java-jaxrs-published"}
        assert all(one.ratio.value == pytest.approx(0.7, rel=0.1) for one in found.values())


def test_the_other_lock_is_compared_with_the_published_one_at_each_level_of_logging(
    evidence: Evidence,
) -> None:
    programs = programs_as_published(evidence)
    assert programs is not None
    found = programs.other_lock("throughput_per_s", "none")
    assert set(found) == {OFF, ON}
    assert {(one.variant, one.reference) for one in found.values()} == {("helidon-unlocked", "java-helidon")}
    assert programs.other_lock("throughput_per_s", "jdk") == {}, "not in this profile"


def test_waits_of_recorded_processes_are_those_for_the_handlers_lock(recorded: Evidence) -> None:
    programs = programs_as_published(recorded)
    assert programs is not None
    waits = programs.waits(ON)
    assert waits is not None
    assert waits.n_waits == 1_204 * waits.n_processes
    assert waits.waited_s == pytest.approx(waits.n_waits * 50e-6)
    assert waits.n_requests > 0 and waits.inputs
    assert RECORDED not in set(programs.at(SATURATION)["variant"])


def test_the_answer_names_the_published_programs_that_its_title_counts(evidence: Evidence) -> None:
    programs = programs_as_published(evidence)
    assert programs is not None
    found = dict(leaves(results(programs, evidence.header.experiment)))
    title, takeaway = found["finding", "title"], found["finding", "takeaway"]
    assert isinstance(title, Words) and isinstance(takeaway, Words)
    assert title.text.startswith("All 3 published programs")
    labels = evidence.variants
    published = {labels[name] for name in ("go-kit", "java-helidon", "java-jaxrs-published")}
    assert {label for label in labels.values() if label in takeaway.text} == published
    said = " ".join(notes(programs))
    assert f"Not a published program, and not counted in the answer: {labels['helidon-unlocked']}." in said


def test_the_tree_has_the_same_leaves_whatever_was_measured(evidence: Evidence, recorded: Evidence) -> None:
    trees = [
        dict(leaves(results(programs_as_published(one), evidence.header.experiment)))
        for one in (evidence, recorded, None)
    ]
    assert set(trees[0]) == set(trees[1]) == set(trees[2])
    assert all(isinstance(leaf, Absent) for path, leaf in trees[2].items() if path[0] != "name")
    assert isinstance(trees[1]["answer_waits",], Words) and isinstance(trees[0]["answer_waits",], Absent)
    assert not isinstance(trees[0]["log", "saturation", "throughput", "java-helidon"], Absent)
    assert isinstance(trees[0]["saturation", "cpu", "on", "mean", "helidon-heap-32m"], Estimate | Absent)
