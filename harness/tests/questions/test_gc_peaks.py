# SPDX-License-Identifier: Apache-2.0
"""At equal memory: pairs of a made-up session, and what is said first where memory is not equal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.analysis.attribution.memory_labels import memory_fit, memory_words
from harness.analysis.attribution.table import attribution_table
from harness.analysis.attribution.trial import TrialAttribution
from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.tables.tidy import tidy
from harness.evidence import Evidence
from harness.evidence.opening import find_evidence
from harness.evidence.requests import attribute_peaks, defined_variants
from harness.model import SessionHeader, Verdict
from harness.pipeline import StageParameters
from harness.publish import Publisher, read_values
from harness.publish.cells import attribution_rows
from harness.publish.memory_words import asked_words, least_words
from harness.questions.gc_peaks.analysis import one_of_each
from harness.questions.gc_peaks.equal_memory import MemoryPair, defined_pairs, memory_pairs
from harness.questions.gc_peaks.results import pair_rows, results
from harness.store import Store
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import LEAST_MIB, ROOT, make_project
from harness.tests.support.synthetic_trial import HELD_MIB

MIB = 2**20


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_project(tmp_path_factory.mktemp("equal"), experiments=())
    lay_session(root, "gc-peaks", "quick")
    tidy(root, experiments=("gc-peaks",))
    return root


@pytest.fixture(scope="module")
def evidence(project: Path) -> Evidence:
    found = find_evidence(StageParameters(profile="quick", experiments="gc-peaks"), "gc-peaks", root=project)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def peaks(evidence: Evidence) -> tuple[TrialAttribution, ...]:
    return attribute_peaks(evidence)


@pytest.fixture(scope="module")
def pairs(evidence: Evidence) -> tuple[MemoryPair, ...]:
    return memory_pairs(evidence)


def test_each_go_variant_stands_beside_the_java_variant_whose_memory_it_was_given(
    pairs: tuple[MemoryPair, ...],
) -> None:
    defined = defined_pairs("gc-peaks", root=ROOT)
    assert {pair.go: pair.java for pair in pairs}.items() <= defined.items()
    assert len(pairs) >= 2
    for pair in pairs:
        assert pair.equal and pair.words == "equal within 10 %"
        assert pair.java_rss_bytes.value == pytest.approx(HELD_MIB * MIB, rel=0.1)
        assert pair.memory.ratio.value == pytest.approx(1.0, rel=0.1)
        assert pair.memory.n_blocks == pair.p99.n_blocks == 5
        assert (pair.p99.ratio.value or 1) < 0.5  # the made-up Java pauses, the made-up Go does not


@pytest.mark.parametrize(
    ("verdict", "margin", "words"),
    [
        (Verdict.DIFFERENT, 0.10, "NOT EQUAL within 10 %"),
        (Verdict.DIFFERENT, None, "NOT EQUAL (noise 28 %, above 25 %)"),
        (Verdict.INCONCLUSIVE, 0.10, "NOT SHOWN EQUAL within 10 %"),
        (Verdict.INCONCLUSIVE, 0.20, "NOT SHOWN EQUAL within 20 %"),
        (Verdict.INCONCLUSIVE, None, "NOT SHOWN EQUAL (noise 28 %, above 25 %)"),
    ],
)
def test_memory_that_is_not_equal_is_said_loudly_in_the_row(
    pairs: tuple[MemoryPair, ...], verdict: Verdict, margin: float | None, words: str
) -> None:
    why = None if margin else "noise 28 %, above 25 %"
    memory = pairs[0].memory.model_copy(
        update={"verdict": verdict, "margin": margin, "why_not_equivalent": why}
    )
    off = pairs[0].model_copy(update={"memory": memory})
    assert not off.equal
    (row,) = pair_rows([off])
    assert row is not None and row["equal"] == words


def test_the_noise_of_a_pair_is_not_that_of_a_program_with_another_heap(
    evidence: Evidence, pairs: tuple[MemoryPair, ...]
) -> None:
    twins = aa_noise(evidence.trials, "rss_after_bytes")
    assert twins.n_blocks == 5  # the reference was run twice, and is in neither pair
    for pair in pairs:
        assert evidence.reference not in (pair.go, pair.java)
        assert pair.memory.noise.noise is None and pair.memory.margin == 0.10


def test_a_margin_that_noise_has_widened_is_the_one_that_is_named(pairs: tuple[MemoryPair, ...]) -> None:
    memory = pairs[0].memory.model_copy(update={"verdict": Verdict.EQUIVALENT, "margin": 0.17})
    wide = pairs[0].model_copy(update={"memory": memory})
    assert wide.equal
    assert wide.words == "equal within 17 %, the noise between equal trials"


def test_p99_of_a_pair_is_that_of_settled_requests(
    peaks: tuple[TrialAttribution, ...], pairs: tuple[MemoryPair, ...]
) -> None:
    rows = {row.variant: row for row in attribution_table(peaks)}
    pair = pairs[0]
    there = rows[pair.go].latency_s.value, rows[pair.java].latency_s.value
    assert pair.p99.ratio.value == pytest.approx((there[0] or 0) / (there[1] or 1))
    assert any("no A/A pairs of these programs" in warning for warning in pair.memory.warnings)


def test_the_table_says_what_bounded_memory_and_how_often_it_was_collected(
    peaks: tuple[TrialAttribution, ...],
) -> None:
    rows = {row.variant: row for row in attribution_table(peaks)}
    assert rows["g1-6x"].memory == f"6x: {6 * LEAST_MIB} MiB"
    assert rows["go-as-g1-3x"].memory == f"as G1, 3x: {HELD_MIB} MiB"
    assert rows["go-gogc-100"].memory == "GOGC 100"
    java, go = rows["serial-3x"], rows["go-gogc-100"]
    assert java.collections.value == go.collections.value == 7
    assert java.median_pause_s.value == pytest.approx(0.025, rel=0.01)
    assert attribution_rows([java])[0]["memory"] == java.memory  # type: ignore[index]  # a row, no gap


def test_one_of_each_collector_is_the_tightest_java_heap(peaks: tuple[TrialAttribution, ...]) -> None:
    # of the made-up trials all of Java's logs are those of Serial
    assert one_of_each(peaks) == ["serial-3x", "go-gogc-100"]


def test_what_was_measured_is_published_by_variant_and_what_was_not_is_absent(
    project: Path,
    evidence: Evidence,
    peaks: tuple[TrialAttribution, ...],
    pairs: tuple[MemoryPair, ...],
) -> None:
    publisher = Publisher("41-gc-peaks", root=project, publish=True)
    labels = defined_variants("gc-peaks", root=ROOT)
    rows = attribution_table(peaks)
    found = results(evidence, rows, pairs, labels, defined_pairs("gc-peaks", root=ROOT))
    publisher.put("gc", found, guards=["equal"])
    values = read_values(project)
    assert values["gc.memory_setting.serial_3x"]["text"] == "3x: 30 MiB"
    assert values["gc.memory_setting.g1_1_3x"]["text"] == "not measured in this profile"
    assert re.search(rf"{LEAST_MIB} MiB with .*\bG1\b", values["gc.least"]["text"])
    assert values["gc.least_heap_load"]["text"].endswith(
        "by JMeter in short trials, of which two in a row had to hold"
    )
    assert values["gc.equal.memory_verdict.go_as_g1_3x"]["text"] == "equal within 10 %"
    assert values["gc.equal.memory.ratio.go_as_g1_3x"]["value"] == pytest.approx(1, rel=0.1)
    assert values["gc.equal.p99.ratio.go_as_z_3x"]["value"] is None
    assert values["gc.equal.measured"]["text"] == "measured"


def test_a_search_whose_attempts_disagreed_says_so(evidence: Evidence) -> None:
    fit = memory_fit(evidence.header)
    assert fit is not None
    doubted = fit.model_copy(update={"least": (fit.least[0].model_copy(update={"steady": False}),)})
    assert least_words(doubted) == "10 MiB with Serial (at least: repeated attempts disagreed)"


def test_a_search_in_which_no_generator_took_part_says_so(evidence: Evidence) -> None:
    fit = memory_fit(evidence.header)
    assert fit is not None
    assert asked_words(fit.model_copy(update={"tried": None})).endswith("and by no load generator")


def test_a_session_from_before_memory_was_measured_is_read_as_it_is(evidence: Evidence) -> None:
    header = old(evidence.header)
    assert memory_fit(header) is None
    assert memory_words(header, "serial-1.3x") == "64 MiB"
    assert memory_words(header, "go-gogc-100") == "GOGC 100"
    assert memory_words(header, "go-as-g1-3x") == "limit: 64 MiB"
    assert memory_pairs(None) == ()


def old(header: SessionHeader) -> SessionHeader:
    """The header as sessions had it when sizes were written by hand."""
    sizes = {
        name: {"heap_max": "64m"} if variant.runtime.heap_max else {"gomemlimit": "64MiB"}
        for name, variant in header.experiment.variants.items()
        if variant.runtime.heap_max or variant.runtime.gomemlimit
    }
    return header.model_copy(update={"notes": {}, "experiment": header.experiment.with_memory(sizes)})


def test_the_session_that_comes_with_the_project_is_read() -> None:
    for session in Store(ROOT).sessions("gc-peaks", bundled=True):
        for name in session.header.experiment.variants:
            assert memory_words(session.header, name)
