# SPDX-License-Identifier: Apache-2.0
"""Collectors: a line per collector over memory held, and the least memory that gives 95 % of the best throughput."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.warm import Warm, warm_services
from harness.model import Verdict
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.results import Absent, Words, leaves
from harness.questions.collectors import points, results
from harness.questions.collectors.analysis import enough, memory_ratio, unlike_only_in_build
from harness.tests.support.kept_sessions import lay_project

EXPERIMENT = "collectors"
#: variant -> what it held in MiB, and its right answers per second: chosen here, every other variant is far behind.
MADE = {
    "go-gogc-50": (20, 900), "go-gogc-100": (30, 970), "go-gogc-400": (60, 1000),
    "g1-2x": (90, 900), "serial-2x": (80, 980), "g1-6x": (200, 1000), "z-2x": (70, 500),
}  # fmt: skip


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A made-up quick session."""
    root: Path = lay_project(tmp_path_factory.mktemp("collectors"), experiments=(EXPERIMENT,))
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    return open_evidence(settings, EXPERIMENT, root=root)


def made(evidence: Evidence, values: Mapping[str, tuple[float, float]] = MADE, **columns: str | bool) -> Warm:
    """The session with memory and throughput of known sizes; block by block they scatter by a hundredth around these."""
    warm = warm_services(evidence)
    assert warm is not None
    trials = warm.saturation
    orders = {
        name: np.random.default_rng(n).permutation(5)
        for n, name in enumerate(dict.fromkeys(trials["variant"]))
    }
    scatter = np.array(
        [
            np.exp(0.005 * (orders[v][b - 1] - 2))
            for v, b in zip(trials["variant"], trials["block"], strict=True)
        ]
    )
    pairs = [values.get(str(name), (400.0, 100.0)) for name in trials["variant"]]
    mib, per_s = (pd.Series([pair[i] for pair in pairs], index=trials.index, dtype=float) for i in (0, 1))
    changed = trials.assign(
        rss_after_bytes=mib * 2**20 * scatter, throughput_per_s=per_s * scatter, bound_by="service"
    )
    return replace(warm, saturation=changed.assign(**columns))


def test_what_is_enough_is_the_least_memory_with_95_percent_of_the_best_throughput(
    evidence: Evidence,
) -> None:
    warm = made(evidence)
    go, java = enough(warm, "go"), enough(warm, "java")
    assert go is not None and (go.variant, go.best) == ("go-gogc-100", "go-gogc-400")
    assert java is not None and (java.variant, java.best) == ("serial-2x", "g1-6x")
    assert go.share is not None and go.share.value == pytest.approx(0.97)
    ratio = memory_ratio(warm, java, go)
    assert ratio is not None and ratio.ratio.value == pytest.approx(80 / 30)
    assert ratio.verdict is Verdict.DIFFERENT and ratio.n_blocks == 5


def test_who_is_fastest_in_the_least_memory_is_enough_for_itself(evidence: Evidence) -> None:
    found = enough(made(evidence, {"g1-2x": (10, 1000), "z-2x": (9, 900)}), "java")
    assert found is not None and found.variant == found.best == "g1-2x" and found.share is None


def test_where_throughput_still_rises_with_the_largest_heap_nothing_is_called_enough(
    evidence: Evidence,
) -> None:
    warm = made(evidence, {**MADE, "g1-2x": (90, 600), "serial-2x": (80, 500)})
    found = enough(warm, "java")
    assert found is not None and found.variant == "g1-6x" and found.rising
    told = results(warm, evidence.header.experiment)
    said, title = told["answer_memory"], told["finding"]["title"]  # type: ignore[index]  # a branch of the tree
    assert isinstance(said, Words) and isinstance(title, Words)
    assert said.text.startswith("What memory is enough for Java is not known: throughput was still rising")
    assert "higher" not in said.text
    assert title.text == "No memory that was measured is shown to be enough for Java"
    level = enough(made(evidence), "java")
    assert level is not None and not level.rising


def test_where_the_generator_was_the_limit_nothing_is_enough(evidence: Evidence) -> None:
    warm = made(evidence, bound_by="generator")
    assert enough(warm, "go") is None and enough(None, "go") is None
    assert memory_ratio(warm, enough(warm, "java"), enough(warm, "go")) is None
    assert isinstance(results(warm, evidence.header.experiment)["answer_memory"], Absent)
    assert all(one.about for one in points(warm) or ())


def test_every_family_is_a_line_from_little_memory_to_much(evidence: Evidence) -> None:
    found = points(made(evidence))
    assert found is not None and points(None) is None
    for family in {one.family for one in found}:
        held = [one.memory.value or 0.0 for one in found if one.family == family]
        assert held == sorted(held)
    of = {one.variant: one.family for one in found}
    assert of["g1-6x"] == "G1" and of["g1-compact-6x"] == "G1, compact headers"
    assert of["go-limit-2x"] == "Go, a limit alone" and of["go-gogc-50"] == "Go, GOGC"
    assert of["go-former-gogc-100"] == "Go without Green Tea"


def test_the_collector_that_go_had_before_is_compared_with_the_same_growth_rule_alone(
    evidence: Evidence,
) -> None:
    assert unlike_only_in_build(made(evidence)) == ["go-former-gogc-100"]


def test_the_answer_names_programs_settings_and_blocks(evidence: Evidence) -> None:
    said = results(made(evidence), evidence.header.experiment)["answer_memory"]
    assert isinstance(said, Words) and said.inputs
    sizes = r"80\.\d\sMiB \([\d.]+ to [\d.]+\) against 30\.\d+\sMiB \([\d.]+ to [\d.]+\), a ratio of 2\.6"
    assert re.match(rf"The memory that is enough for Java is higher than Go's: {sizes}", said.text)
    assert "Java Helidon SE with Serial, 2x (20 MiB), and Go net/http with GOGC 100" in said.text
    assert "95 % of a language's best throughput" in said.text and "uppercase-32768" in said.text


def test_the_tree_has_the_same_leaves_whatever_was_measured(evidence: Evidence) -> None:
    full = dict(leaves(results(made(evidence), evidence.header.experiment)))
    none = dict(leaves(results(None, evidence.header.experiment)))
    assert set(full) == set(none)
    assert all(isinstance(leaf, Absent) for path, leaf in none.items() if path[0] != "name")
    least = str(full["least",])
    assert (
        least.startswith("10 MiB with ")
        and least.count("Shenandoah") == least.count("Go, a limit alone") == 1
    )
    assert full["setting", "g1-6x"] == "6x: 60 MiB" and full["setting", "go-limit-2x"] == "2x: 20 MiB"
