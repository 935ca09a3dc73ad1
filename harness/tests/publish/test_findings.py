# SPDX-License-Identifier: Apache-2.0
"""A finding says what the verdicts say: counts and directions are theirs, and without one there is no title."""

from __future__ import annotations

import dataclasses
import re

import pandas as pd
import pytest

from harness.analysis.stats.comparisons import Comparison, compare
from harness.model import Verdict
from harness.model.formatting import verdict_words
from harness.publish.findings import NO_FINDING, Phrase, comparisons_in, finding
from harness.publish.results import Absent, Tree, Words

PHRASE = Phrase(
    who="services",
    more="answer more than the reference",
    less="answer fewer than the reference",
    more_short="more",
    less_short="fewer",
    one="the service's rate is {} than the reference's",
    none="no ratio is about the services",
)


def compared(rates: dict[str, float]) -> list[Comparison]:
    """Comparisons with a reference of 100/s, over six blocks with a scatter of a percent."""
    trials = pd.DataFrame(
        [
            {
                "experiment": "e", "session_id": "s", "trial_id": f"{block}-{variant}-{again}", "source": "measured",
                "variant": variant, "configuration": variant, "block": block, "duplicate": again, "excluded": False,
                "outcome": "ok", "flags": "", "position": block,
                "throughput_per_s": rate * (1 + 0.01 * ((block * 7 + len(variant) + 3 * again) % 5)), "n_requests": 1000,
            }
            for block in range(6)
            for variant, rate in {"go": 100.0, **rates}.items()
            for again in ((False, True) if variant == "go" else (False,))
        ]
    )  # fmt: skip
    return list(compare(trials, "throughput_per_s", reference="go"))


def as_if(found: Comparison, verdict: Verdict) -> Comparison:
    """A comparison with another verdict; an inconclusive one has an interval with 1 in it."""
    around = {"low": min(0.9, found.ratio.low or 0.9), "high": max(1.1, found.ratio.high or 1.1)}
    ratio = found.ratio.model_copy(update=around if verdict is Verdict.INCONCLUSIVE else {})
    return found.model_copy(update={"verdict": verdict, "ratio": ratio})


def text(leaf: object) -> str:
    assert isinstance(leaf, Words)
    return leaf.text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_counts_and_directions_are_those_of_the_verdicts() -> None:
    said = finding(compared({"java-a": 50.0, "java-b": 60.0, "java-c": 200.0}), PHRASE)
    assert text(said["title"]) == "2 of 3 services answer fewer than the reference, 1 answers more"
    assert text(said["takeaway"]).startswith("2 of 3 services answer fewer than the reference (0.")
    assert re.search(r"; 1 answers more \((1\.9|2\.0)\d* times, ", text(said["takeaway"]))
    assert text(said["sure"]).startswith(
        "95 % intervals over 6 blocks of fresh processes; 3 of 3 comparisons are conclusive"
    )
    assert "the reference over itself: " in text(said["sure"])
    told = said["title"]
    assert isinstance(told, Words) and len(told.inputs) > 10


def test_where_all_agree_the_title_says_all() -> None:
    assert text(finding(compared({"java-a": 50.0, "java-b": 60.0}), PHRASE)["title"]) == (
        "Both services answer fewer than the reference"
    )


@pytest.mark.parametrize("verdict", [Verdict.INCONCLUSIVE, Verdict.EQUIVALENT])
def test_without_a_direction_there_is_no_title(verdict: Verdict) -> None:
    found = [as_if(one, verdict) for one in compared({"java-a": 50.0, "java-b": 200.0})]
    said = finding(found, PHRASE)
    assert isinstance(said["title"], Absent)
    assert not re.search(r"\b(more|fewer)\b", text(said["takeaway"]))
    words = {
        Verdict.INCONCLUSIVE: "None of the 2 services is shown to",
        Verdict.EQUIVALENT: "Both services are equal",
    }
    assert text(said["takeaway"]).startswith(words[verdict])


def test_a_ratio_that_is_not_about_the_services_counts_for_no_direction() -> None:
    found = [as_if(one, Verdict.NOT_ABOUT_SERVICES) for one in compared({"java-a": 50.0, "java-b": 60.0})]
    said = finding(found, PHRASE)
    assert text(said["title"]) == "No ratio is about the services"
    assert text(said["takeaway"]).startswith("None of the 2 services can be judged, because something else")
    mixed = finding([found[0], *compared({"java-b": 60.0})], PHRASE)
    assert text(mixed["title"]) == "1 of 2 services answers fewer than the reference"


def of_few(found: Comparison) -> Comparison:
    """The same ratio, whose interval leaves out 1, over too few blocks for a verdict."""
    return found.model_copy(update={"verdict": Verdict.INCONCLUSIVE, "n_blocks": 4})


def test_a_ratio_far_from_one_over_few_blocks_is_not_called_alike() -> None:
    one, other = compared({"java-a": 25.0, "java-b": 60.0})
    said = text(finding([of_few(one), other], PHRASE)["takeaway"])
    assert re.search(r"; 1 has too few blocks for a verdict \(0\.25\d* times, ", said)
    sure = finding([of_few(one), other], PHRASE)["sure"]
    assert "; 1 of 2 comparisons is conclusive" in text(sure)
    alone = text(finding([of_few(one)], PHRASE)["takeaway"])
    assert alone.startswith("The service's rate is by so few blocks not shown to be more or fewer than")
    few = verdict_words(of_few(one))
    assert few == "by so few blocks not shown to differ from"
    around = of_few(one)
    around = around.model_copy(update={"ratio": around.ratio.model_copy(update={"low": 0.2, "high": 1.2})})
    assert verdict_words(around) == "not shown to differ from"


@pytest.mark.parametrize(("of_several", "of_one"), [("carry", "carries"), ("show", "shows"), ("have", "has")])
def test_the_verb_agrees_with_one_of_several(of_several: str, of_one: str) -> None:
    phrase = dataclasses.replace(PHRASE, less=f"{of_several} fewer than the reference")
    said = finding(compared({"java-a": 101.0, "java-b": 60.0}), phrase)
    assert text(said["title"]) == f"1 of 2 services {of_one} fewer than the reference"


def test_of_a_single_thing_the_words_are_those_of_one() -> None:
    (one,) = compared({"java-a": 50.0})
    said = finding([one], PHRASE)
    assert text(said["title"]) == "The service's rate is fewer than the reference's"
    open_ = finding([as_if(one, Verdict.INCONCLUSIVE)], PHRASE)
    assert isinstance(open_["title"], Absent)
    assert text(open_["takeaway"]).startswith(
        "The service's rate is not shown to be more or fewer than the reference's (0."
    )


def test_nothing_compared_is_no_finding() -> None:
    assert finding([], PHRASE) == NO_FINDING == finding([None], PHRASE)


def test_comparisons_are_found_in_a_branch_by_name() -> None:
    found = {one.variant: one for one in compared({"java-a": 50.0, "java-b": 60.0})}
    tree: Tree = {"mean": {"java-a": "text"}, **found}
    assert [one.variant for one in comparisons_in(tree)] == ["java-a", "java-b"]
    assert [one.variant for one in comparisons_in(tree, ["java-b"])] == ["java-b"]
    assert comparisons_in("text") == []
