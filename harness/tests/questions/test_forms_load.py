# SPDX-License-Identifier: Apache-2.0
"""Forms under load: courses from real tables, break-even by block, and words that count the blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.warmup.break_even import BreakEven
from harness.definitions import load_study
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.warm import Warm, warm_services
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.findings import comparisons_in
from harness.publish.results import Absent, leaves
from harness.questions.forms_load import leads, leads_of_forms, results
from harness.questions.forms_load.analysis import Ends, compared_with_plain, ends, plain_of, races
from harness.questions.forms_load.results import in_words
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.synthetic import ROOT

EXPERIMENT = "forms-load"


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A made-up quick session: with an AOT cache the first answer comes in half the time, and nothing else differs."""
    root: Path = lay_project(tmp_path_factory.mktemp("forms"), experiments=(EXPERIMENT,))
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    return open_evidence(settings, EXPERIMENT, root=root)


def the_warm(evidence: Evidence) -> Warm:
    found = warm_services(evidence)
    assert found is not None
    return found


def test_every_form_is_raced_against_its_own_program_in_every_block(evidence: Evidence) -> None:
    found = races(the_warm(evidence), "time")
    assert {one.variant: one.plain for one in found} == {
        "java-helidon-aot": "java-helidon", "java-helidon-jlink": "java-helidon",
        "java-helidon-native": "java-helidon", "java-jaxrs-aot": "java-jaxrs", "java-jaxrs-native": "java-jaxrs",
    }  # fmt: skip
    assert all(sum(other.variant == one.variant for other in found) == 5 for one in found)
    assert "go-nethttp" not in plain_of(load_study(ROOT, EXPERIMENT).experiment)


def test_a_form_is_compared_with_its_own_program_and_not_with_the_reference(evidence: Evidence) -> None:
    warm = the_warm(evidence)
    found = compared_with_plain(warm, "throughput_per_s")
    assert {one.variant: one.reference for one in found} == {
        "java-helidon-aot": "java-helidon", "java-helidon-jlink": "java-helidon",
        "java-helidon-native": "java-helidon", "java-jaxrs-aot": "java-jaxrs", "java-jaxrs-native": "java-jaxrs",
    }  # fmt: skip
    by_reference = {one.variant: one for one in warm.compared("throughput_per_s")}
    for one in found:
        if one.reference == "java-helidon":
            assert one.ratio.value == pytest.approx(by_reference[one.variant].ratio.value)
    tree = results(warm, EXPERIMENT)
    assert comparisons_in(tree["own"], ["java-jaxrs-native"])[0].reference == "java-jaxrs"
    assert compared_with_plain(None, "throughput_per_s") == ()


def test_a_course_begins_with_the_first_answer_and_ends_with_all_windows(evidence: Evidence) -> None:
    (one, *_) = races(the_warm(evidence), "time")
    windows = evidence.windows(str(one.trial["session_id"]), str(one.trial["trial_id"]))
    assert windows is not None
    course, first_s = one.form_course, float(one.trial["time_to_first_response_s"])
    assert course.n_requests[0] == 1 and course.spent[0] == pytest.approx(first_s)
    assert course.n_requests[-1] == 1 + windows["n_requests"].sum() - windows["n_errors"].sum()
    last = windows.iloc[-1]
    assert course.spent[-1] == pytest.approx(first_s + last["start_s"] + last["duration_s"])
    assert course.warm_cost == pytest.approx(1 / one.trial["throughput_per_s"])


def test_an_aot_cache_is_ahead_from_the_first_answer_on(evidence: Evidence) -> None:
    lines = leads(the_warm(evidence))
    assert lines is not None and leads(None) is None
    mine = lines[(lines["variant"] == "java-helidon-aot") & (lines["spent"] == "time")]
    assert (mine.groupby("block")["lead"].first() > 0).all()
    assert set(lines["spent"]) == {"time", "cpu"}
    figure = leads_of_forms(lines, evidence.variants)
    assert len(figure.axes) == 2


def end(caught_up: tuple[float, ...], stayed: int = 0, never: int = 0, beyond: int = 0) -> Ends:
    return Ends(
        n=len(caught_up) + stayed + never, caught_up=caught_up, n_stayed_ahead=stayed, n_never_ahead=never,
        n_beyond=beyond, n_requests=None,
    )  # fmt: skip


def test_blocks_without_a_break_even_are_counted_in_words() -> None:
    assert in_words(end((), stayed=5)) == "it stays ahead"
    assert in_words(end((), never=5)) == "it is never ahead"
    text = in_words(end((1000.0, 3000.0, 2000.0), stayed=2, beyond=1))
    assert text.endswith("in 3 of 5, 1 of them by the warm cost; it stays ahead in 2 of 5")
    assert "1" in text and "3" in text and "0" in text


def test_a_mean_is_given_only_where_the_whole_jdk_caught_up_in_every_block(evidence: Evidence) -> None:
    found = races(the_warm(evidence), "time")
    for one, n_requests in zip(found, range(1000, 100_000, 1000), strict=False):
        object.__setattr__(one, "end", BreakEven(n_requests=float(n_requests), first_ahead=True))
    told = ends(found)
    assert all(one.n_requests is not None and one.n_requests.n_trials == 5 for one in told.values())
    object.__setattr__(found[0], "end", BreakEven(n_requests=None, first_ahead=True))
    again = ends(found)[found[0].variant]
    assert again.n_requests is None and again.n_stayed_ahead == 1 and len(again.caught_up) == 4


@pytest.mark.parametrize("experiment", [EXPERIMENT, "forms-load-clients"])
def test_the_tree_has_the_same_leaves_whatever_was_measured(evidence: Evidence, experiment: str) -> None:
    none = dict(leaves(results(None, experiment)))
    assert all(isinstance(leaf, Absent) for path, leaf in none.items() if path[0] != "name")
    if experiment == EXPERIMENT:
        full = dict(leaves(results(the_warm(evidence), experiment)))
        assert set(full) == set(none)
        assert not isinstance(full["own", "throughput", "java-jaxrs-native"], Absent)
