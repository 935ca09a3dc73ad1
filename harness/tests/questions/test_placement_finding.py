# SPDX-License-Identifier: Apache-2.0
"""The section on places answers with counts of verdicts, the ends of the ratios, and what two sessions differ by."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from harness.evidence import Evidence
from harness.evidence.parameters import StageParameters
from harness.model import Estimate, Verdict
from harness.project import find_root
from harness.publish.findings import NO_FINDING
from harness.publish.results import Absent, Words
from harness.questions.placement.analysis import PlaceRow
from harness.questions.placement.results import AGAIN, first_place, places_finding


def row(label: str, kind: str, ratio: float, verdict: Verdict) -> PlaceRow:
    estimate = Estimate(
        value=ratio, low=0.98 * ratio, high=1.02 * ratio, unit="ratio", method="log-t", estimand="ratio", n_trials=10,
        inputs=(f"placement/{label}/{kind}",),
    )  # fmt: skip
    return PlaceRow(
        variant=label.lower(), label=label, language="go", metric="throughput_per_s", kind=kind,
        place="the same again" if kind == AGAIN else kind, reference="process, unpinned", paired=kind == "pinned",
        ratio=estimate, equivalence=estimate, margin=0.05, verdict=verdict, n_trials=10,
    )  # fmt: skip


def text(leaf: object) -> str:
    assert isinstance(leaf, Words) and leaf.inputs
    return leaf.text


ROWS = (
    row("Go", "pinned", 1.01, Verdict.EQUIVALENT),
    row("Go", "container", 0.99, Verdict.EQUIVALENT),
    row("Java", "container", 0.8, Verdict.DIFFERENT),
    row("Go", AGAIN, 1.2, Verdict.INCONCLUSIVE),
)


def test_the_title_counts_the_places_whose_throughput_differs() -> None:
    said = places_finding({"throughput": ROWS, "p99": ()})
    assert text(said["title"]) == "1 of 3 comparisons of places differs in throughput"


def test_the_answer_has_the_ends_of_the_ratios_and_a_second_session_at_the_first_place_is_none_of_them() -> (
    None
):
    said = places_finding({"throughput": ROWS, "p99": ROWS[:1]})
    taken = text(said["takeaway"])
    assert taken.startswith("Ratios of throughput to the first place (process, unpinned): from 0.80")
    assert "for Java (container) to 1.01" in taken and "1.2" not in taken
    assert "2 of 3 are equivalent; Java (container) differs." in taken
    assert "Ratios of the ninety-ninth percentile of latency to the first place" in taken
    assert "1 of 3 ratios pair blocks of one session, the others are of two sessions" in text(said["sure"])
    assert "the first place once more: 1.2" in text(said["sure"])


def test_equivalence_everywhere_is_a_title_and_what_is_undecided_is_none() -> None:
    same = places_finding({"throughput": ROWS[:2]})
    assert text(same["title"]) == "Throughput is equivalent at every place"
    assert "the first place once more: not measured" in text(same["sure"])
    undecided = places_finding({"throughput": (*ROWS[:1], row("Java", "far", 0.9, Verdict.INCONCLUSIVE))})
    assert isinstance(undecided["title"], Absent)


def test_without_a_second_place_nothing_is_found() -> None:
    assert places_finding({}) == NO_FINDING == places_finding({"throughput": ROWS[3:]})


def test_the_first_place_is_a_process_here_whichever_session_is_the_newest() -> None:
    places = [("docker", "local", 1), ("process", "far", 1), ("process", "local", 2), ("process", "local", 1)]
    sessions = [
        SimpleNamespace(header=SimpleNamespace(plan=SimpleNamespace(launcher=launcher, host=host, seed=seed)))
        for launcher, host, seed in places
    ]
    evidence = cast("Evidence", SimpleNamespace(root=find_root(), experiment="placement", sessions=sessions))
    plan = first_place(evidence, StageParameters(experiments="placement")).header.plan
    assert (plan.launcher, plan.host, plan.seed) == ("process", "local", 1)
