# SPDX-License-Identifier: Apache-2.0
"""The section on validity answers with what simulations, equal programs and a known handicap said, where measured."""

from __future__ import annotations

from harness.analysis.audit.adequacy import EqualCell
from harness.analysis.stats.aa_test import AATest, aa_test
from harness.publish.findings import NO_FINDING
from harness.publish.results import Absent, Words
from harness.questions.validity.adequacy import Enough
from harness.questions.validity.finding import trust
from harness.questions.validity.known_effect import recovered
from harness.tests.questions.test_validity_known_effect import SHARE, session
from harness.verify.simulated.result import VerifyResult, result, share


def simulated(*, lowest: float = 0.93) -> VerifyResult:
    cells = [share(400, name=f"law {value}", value=value, at_least=0.92) for value in (lowest, 0.965)]
    control = share(400, name="over requests", value=0.53, at_most=0.8, control=True)
    return result("coverage", bar="bar", control="control", cells=[*cells, control], sims=400, seed=1)


def enough(*passed: bool | None) -> Enough:
    found: AATest = aa_test([1.0, 1.01, 0.99, 1.02, 0.98], [1.0, 0.99, 1.0, 1.01, 1.0])
    cells = tuple(
        EqualCell(
            levels={}, metric="throughput_per_s", found=found.model_copy(update={"passed": one}), n_blocks=5
        )
        for one in passed
    )
    return Enough(measured={}, blocks={}, equal={"aa": cells}, worth={}, p99={}, p999={}, step_s=None)


def text(leaf: object) -> str:
    assert isinstance(leaf, Words)
    return leaf.text


def test_the_answer_has_coverage_its_control_equal_programs_and_a_known_handicap() -> None:
    handicaps = recovered(session(SHARE), {"slow": SHARE}, reference="go")
    said = trust(simulated(), enough(True, True, False, None), handicaps)
    assert text(said["title"]) == "Intervals contain a known truth in 93.0 to 96.5 % of simulated experiments"
    taken = text(said["takeaway"])
    assert "in place of trials do so in 53.0 % at the most." in taken
    assert "differs from its own duplicate in 1 of 3 cells" in taken
    assert "lies within the interval in 2 of 2 measurements, and is detected in 2." in taken
    assert text(said["sure"]).startswith("400 simulated experiments for each law of trials")
    told = said["takeaway"]
    assert isinstance(told, Words) and told.inputs


def test_what_was_not_measured_is_not_said() -> None:
    said = trust(simulated(), enough(), ())
    assert "duplicate" not in text(said["takeaway"]) and "handicap" not in text(said["takeaway"])
    assert "real cell" not in text(said["sure"])


def test_a_refuted_limit_leaves_no_title_and_its_number_in_the_answer() -> None:
    said = trust(simulated(lowest=0.6), enough(), ())
    assert isinstance(said["title"], Absent) and "60.0 to 96.5 %" in text(said["takeaway"])


def test_without_simulations_nothing_is_found() -> None:
    nothing = result("coverage", bar="bar", control="control", cells=[], sims=0, seed=1)
    assert trust(nothing, enough(), ()) == NO_FINDING
