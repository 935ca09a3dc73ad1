# SPDX-License-Identifier: Apache-2.0
"""Warm services: the answer follows the verdicts, nothing is said where the gate refuses, and cold starts are counted."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.stats.comparisons import Comparison, compare
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.requests import definition_of
from harness.evidence.warm import ColdStart
from harness.model import Verdict
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.project import find_root
from harness.publish.results import Absent, Words, leaves
from harness.publish.session_agreement import agreement_counts, agreement_rows
from harness.publish.warm_words import THROUGHPUT, answer, until_warm, where
from harness.questions.strings_warm import cold_windows, duet_results, quantities, results, warm_services
from harness.questions.strings_warm.short_answer import answers
from harness.tests.support.kept_sessions import lay_project, lay_session
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.made_up_trials import made_up_trials

EXPERIMENT = "strings-warm"


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A made-up quick session: JVMs begin slowly, all others at once, and every process settles."""
    root: Path = lay_project(tmp_path_factory.mktemp("warm"), experiments=(EXPERIMENT,))
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    return open_evidence(settings, EXPERIMENT, root=root)


def comparison(verdict: Verdict, variant: str, ratio: float, not_about: str | None = None) -> Comparison:
    trials = made_up_trials().query("logging == 'off' and language != 'rust'")
    found = next(iter(compare(trials, "throughput_per_s", reference="go-nethttp")))
    estimate = found.ratio.model_copy(update={"value": ratio, "low": 0.9 * ratio, "high": 1.1 * ratio})
    return found.model_copy(
        update={
            "variant": variant, "verdict": verdict, "ratio": estimate, "not_about": not_about, "margin": 0.05,
        }
    )  # fmt: skip


LABELS = {"go-nethttp": "Go", "a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}


def said(*found: Comparison) -> str:
    return answer(found, LABELS, THROUGHPUT, where((1.0,)))


def test_directions_are_those_of_the_verdicts_and_each_group_is_named_once() -> None:
    text = said(
        comparison(Verdict.DIFFERENT, "a", 1.2), comparison(Verdict.DIFFERENT, "b", 0.5),
        comparison(Verdict.INCONCLUSIVE, "c", 1.3), comparison(Verdict.EQUIVALENT, "d", 1.01),
        comparison(Verdict.DIFFERENT, "e", 0.4),
    )  # fmt: skip
    assert text.startswith("Warm and on one core each, A (1.20 times, 1.08 to 1.32) answered more requests")
    assert "more requests per second than Go; B (" in text
    assert re.search(r"B \([^)]*\) and E \([^)]*\) answered fewer;", text)
    assert re.search(r"D \([^)]*\) answered as many within 5 %;", text)
    assert re.search(r"C \([^)]*\) is by so few blocks not shown to differ from it\.", text)
    assert "95 % intervals over 5 blocks" in text


def test_where_the_gate_refuses_the_reason_stands_in_place_of_the_ratio() -> None:
    why = "bound by the generator (5 of 10 trials)"
    text = said(comparison(Verdict.NOT_ABOUT_SERVICES, "a", 1.2, why))
    assert f"nothing can be said of the throughput against Go of A ({why})." in text
    assert "1.2" not in text and "more" not in text and "fewer" not in text


def test_without_a_comparison_nothing_is_said() -> None:
    assert answer((), LABELS, THROUGHPUT, where(())) == ""
    assert where((4.0,)) == "warm and on 4 cores each" and where((1.0, 2.0)) == "warm"


def cold(n_settled: int, later_s: tuple[float, ...]) -> ColdStart:
    return ColdStart(
        n=10, n_settled=n_settled, window_s=1.0, at_most_s=90.0, within_first=n_settled - len(later_s),
        later_s=later_s, seconds=None if not n_settled else comparison(Verdict.DIFFERENT, "a", 7.0).ratio,
        n_requests=None, extra_cpu_s=None,
    )  # fmt: skip


def test_who_was_warm_in_the_first_window_and_who_never_settled_are_told_and_counted() -> None:
    assert until_warm(cold(10, ())) == "< 1 s"
    assert until_warm(cold(10, (1.1, 2.2))).startswith("< 1 s in 8 of 10, ")
    assert until_warm(cold(8, ())) == "< 1 s; not settled within 90 s: 2 of 10"
    assert until_warm(cold(0, ())) == "not settled within 90 s, 10 of 10"
    assert "(" in until_warm(cold(7, (7.0,) * 7)) and "3 of 10" in until_warm(cold(7, (7.0,) * 7))


def test_cold_jvms_take_seconds_and_cpu_and_others_none(evidence: Evidence) -> None:
    warm = warm_services(evidence)
    assert warm is not None
    assert {one.n for one in warm.cold.values()} == {evidence.header.plan.n_blocks}
    helidon, go, native = (warm.cold[name] for name in ("java-helidon", "go-nethttp", "helidon-native"))
    assert until_warm(go) == until_warm(native) == "< 1 s"
    assert helidon.within_first == 0 and helidon.seconds is not None and helidon.extra_cpu_s is not None
    assert (helidon.seconds.value or 0) > 1 and (helidon.extra_cpu_s.value or 0) > 0
    assert go.extra_cpu_s is not None and (go.extra_cpu_s.value or 0) < (helidon.extra_cpu_s.value or 0)


def test_throughput_is_per_cpu_of_the_service_and_both_loads_are_kept_apart(evidence: Evidence) -> None:
    warm = warm_services(evidence)
    assert warm is not None and warm.cpus == (2.0,)
    per_cpu = warm.saturation["throughput_per_s"] * 2
    pd.testing.assert_series_equal(
        per_cpu, evidence.cell(load="saturation")["throughput_per_s"], check_names=False
    )
    assert set(warm.rate["load"]) == {"rate"}
    assert all(one.n_blocks == 5 for found in quantities(warm).values() for one in found)


def test_the_tree_has_the_same_leaves_whatever_was_measured(evidence: Evidence) -> None:
    warm = warm_services(evidence)
    full = dict(leaves(results(warm, evidence.header.experiment)))
    none = dict(leaves(results(None, evidence.header.experiment)))
    assert set(full) == set(none)
    assert all(isinstance(leaf, Absent) for path, leaf in none.items() if path[0] != "name")
    assert isinstance(full["compiling", "go-nethttp"], Absent) and not isinstance(
        full["compiling", "java-helidon"], Absent
    )
    spoken = full["answer_cold",]
    assert isinstance(spoken, Words) and "Go net/http < 1 s" in spoken.text and spoken.inputs


def test_another_reference_changes_ratios_labels_and_sentences_together(evidence: Evidence) -> None:
    """The ratios of Go over Helidon are those of Helidon over Go, upside down, and no sentence names the other one."""
    found = [
        results(warm_services(one), one.header.experiment)
        for one in (evidence, evidence.over("java-helidon"))
    ]
    usual, turned = (dict(leaves(tree)) for tree in found)
    for branch in ("throughput", "cpu", "memory"):
        java, go = usual[branch, "java-helidon"], turned[branch, "go-nethttp"]
        assert isinstance(java, Comparison) and isinstance(go, Comparison) and go.reference == "java-helidon"
        assert java.ratio.value and go.ratio.value == pytest.approx(1 / java.ratio.value)
        assert (branch, "java-helidon") not in turned
    title = turned["finding", "title"]
    assert isinstance(title, Words) and "warm Go services" in title.text and "than Java Helidon" in title.text
    spoken = [
        leaf.text for path, leaf in turned.items() if path[0] == "detectable" and isinstance(leaf, Words)
    ]
    assert any("against Java Helidon" in text for text in spoken)
    assert not any("against Go" in text for text in spoken)


def test_a_reference_that_is_no_variant_is_refused_with_those_that_are(evidence: Evidence) -> None:
    with pytest.raises(
        InputError, match="reference: no such variant; found 'helidon'; allowed: go-nethttp, "
    ):
        evidence.over("helidon")


def test_a_craft_that_was_not_measured_is_nothing(evidence: Evidence) -> None:
    assert warm_services(evidence, craft="tuned") is None and cold_windows(evidence, craft="tuned") is None
    assert warm_services(None) is None and cold_windows(None) is None


def test_windows_of_every_kept_process_stand_in_the_order_of_time(evidence: Evidence) -> None:
    windows = cold_windows(evidence)
    assert windows is not None
    assert windows["trial_id"].nunique() == 5 * len(evidence.variants)
    for _, mine in windows.groupby("trial_id"):
        assert list(mine["window"]) == list(range(1, len(mine) + 1)) and mine["at_s"].is_monotonic_increasing
    first = windows[windows["window"] == 1].groupby("language")["per_s"].median()
    last = windows[windows["window"] == windows["window"].max()].groupby("language")["per_s"].median()
    assert (last / first)["java"] > (last / first)["go"]


def short(
    *found: Comparison,
    memory: tuple[Comparison, ...] = (),
    cold: dict[str, ColdStart] | None = None,
    heaps: tuple[str, ...] = (),
) -> str:
    languages = {"go-nethttp": "go", "b": "go"} | dict.fromkeys("acde", "java")
    told = answers(found, memory, cold or {}, LABELS, languages, place=where((1.0,)), heaps=heaps)
    return " ".join(text for text in told.values() if text)


def test_the_short_answer_counts_the_services_of_the_other_language_by_verdict() -> None:
    text = short(
        comparison(Verdict.DIFFERENT, "a", 1.2), comparison(Verdict.DIFFERENT, "b", 0.5),
        comparison(Verdict.INCONCLUSIVE, "c", 1.3), comparison(Verdict.DIFFERENT, "d", 0.4),
        comparison(Verdict.NOT_ABOUT_SERVICES, "e", 0.4, "bound by the machine"),
    )  # fmt: skip
    assert text == (
        "It depends on the service. "
        "Warm and on one core each, 1 of 4 Java services answered more requests per second than Go: "
        "A, 1.20 times as many (1.08 to 1.32). 1 of 4 answered fewer: D, 0.40 times as many (0.36 to 0.44). "
        "1 of 4 is by so few blocks not shown to differ from Go in requests per second: C, 1.30 times as many (1.17 to "
        "1.43). "
        "The other one cannot be judged: E."
    )


def test_of_more_than_two_services_the_short_answer_names_those_at_the_ends() -> None:
    ratios = {"a": 0.5, "c": 0.4, "d": 0.7}
    text = short(*(comparison(Verdict.DIFFERENT, name, ratio) for name, ratio in ratios.items()))
    assert text == (
        "No. Warm and on one core each, all 3 Java services answered fewer requests per second than Go: "
        "from 0.40 times as many (0.36 to 0.44) for C to 0.70 times as many (0.63 to 0.77) for D."
    )


def test_the_short_answer_says_a_price_only_where_every_verdict_supports_it() -> None:
    ahead = (comparison(Verdict.DIFFERENT, "a", 1.2), comparison(Verdict.DIFFERENT, "c", 1.3))
    more = (comparison(Verdict.DIFFERENT, "a", 18.0), comparison(Verdict.DIFFERENT, "c", 26.0))
    assert short(*ahead).startswith("Yes. Warm and on one core each, both Java services answered more")
    held = "the Java services held 18.0 to 26.0 times the memory of Go (least: A; most: C)."
    assert held in short(*ahead, memory=more)
    assert "memory" not in short(*ahead, memory=more[:1])
    assert "memory" not in short(*ahead, memory=(more[0], comparison(Verdict.INCONCLUSIVE, "c", 26.0)))
    settled = {"go-nethttp": cold_start(0.0), "a": cold_start(7.0), "c": cold_start(18.0)}
    assert "needed 7.00 to 18.0 s of full load" in short(*ahead, cold=settled)
    assert "warm throughput; Go needed at most 1.0 s." in short(*ahead, cold=settled)
    assert "full load" not in short(*ahead, cold={**settled, "c": cold_start(18.0, n_settled=4)})
    assert "full load" not in short(*ahead, cold={**settled, "a": cold_start(0.5), "c": cold_start(0.0)})


def test_the_short_answer_names_the_services_that_were_warm_as_soon_as_the_reference() -> None:
    ahead = (comparison(Verdict.DIFFERENT, "a", 1.2), comparison(Verdict.DIFFERENT, "c", 1.3))
    cold = {"go-nethttp": cold_start(2.0), "a": cold_start(0.5), "c": cold_start(18.0)}
    assert (
        "From a cold start, 1 of 2 Java services needed 18.0 s of full load to come within 10 % of their warm throughput; "
        "Go needed at most 2.0 s and A at most 1.0 s."
    ) in short(*ahead, cold=cold)


def test_the_short_answer_says_how_large_heaps_were_allowed_to_be() -> None:
    ahead = (comparison(Verdict.DIFFERENT, "a", 1.2),)
    more = (comparison(Verdict.DIFFERENT, "a", 18.0),)
    assert "After the load, with heaps of at most 512 MiB, the Java services held 18.0 times" in short(
        *ahead, memory=more, heaps=("512m",)
    )


def test_the_short_answer_is_empty_where_there_is_one_language() -> None:
    assert short() == short(comparison(Verdict.DIFFERENT, "b", 0.5)) == ""


def cold_start(seconds: float, *, n_settled: int = 5) -> ColdStart:
    estimate = comparison(Verdict.DIFFERENT, "a", 1.0).ratio.model_copy(
        update={"value": seconds, "low": None, "high": None, "unit": "s"}
    )
    return ColdStart(
        n=5, n_settled=n_settled, window_s=1.0, at_most_s=90.0, within_first=0 if seconds else 5,
        later_s=(seconds,) * 5 if seconds else (), seconds=estimate, n_requests=None, extra_cpu_s=None,
    )  # fmt: skip


def test_the_sentence_on_smallest_differences_begins_with_equal_processes(evidence: Evidence) -> None:
    warm = warm_services(evidence)
    assert warm is not None
    found = results(warm, evidence.header.experiment)["detectable"]
    assert not isinstance(found, str | Words | Absent)
    text = found["text"]  # type: ignore[index]  # a branch of the tree
    assert isinstance(text, Words) and text.inputs
    assert re.search(
        r"throughput against Go net/http: equal processes [\d.]+ %, [\d.]+ % and [\d.]+ %; ", text.text
    )
    assert "5, 10 and 20 blocks" in text.text and "80%" not in text.text
    short = found["short"]  # type: ignore[index]  # a branch of the tree
    assert isinstance(short, Words) and short.inputs
    assert re.fullmatch(
        r"The smallest difference in throughput that \d+ blocks like those of this session find in 80 % of sessions "
        r"is [\d.]+ % for the service that varies least \([^)]+\) and [\d.]+ % for the one that varies most \([^)]+\)\.",
        short.text,
    )
    nothing = results(None, evidence.header.experiment)
    there = results(warm, evidence.header.experiment)
    keys = [[path for path, _ in leaves(tree) if path[0] == "detectable"] for tree in (nothing, there)]
    assert keys[0] == keys[1]


def test_every_verdict_of_another_session_has_a_row_and_is_counted_once(tmp_path: Path) -> None:
    root = lay_project(tmp_path, experiments=(EXPERIMENT,))
    lay_session(root, EXPERIMENT, "quick", 2)
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    evidence = open_evidence(settings, EXPERIMENT, root=root)
    rows = [row for row in agreement_rows(evidence, evidence.variants) if row is not None]
    counts = [row for row in agreement_counts(evidence) if row is not None]
    assert rows and sum(int(str(row["verdicts"])) for row in counts) == len(rows)
    for row in counts:
        kinds = [int(str(row[kind])) for kind in ("agree", "one undecided", "contradict")]
        assert sum(kinds) == row["verdicts"]
    assert agreement_rows(None, {}) == [] and agreement_counts(None) == []


def test_what_stands_side_by_side_has_the_same_keys_measured_or_not(tmp_path: Path) -> None:
    """Of the session of duets that comes with the project."""
    shutil.copy(find_root() / "pyproject.toml", tmp_path)
    (tmp_path / "harness/model").mkdir(parents=True)
    bundled = Path("data/raw/bundled/strings-warm-duet")
    shutil.copytree(find_root() / bundled, tmp_path / bundled)
    lay_tables(tmp_path, "strings-warm-duet")
    settings = StageParameters(experiments="strings-warm-duet", profile="sample")
    tidy_all(settings, root=tmp_path)
    measured = open_evidence(settings, "strings-warm-duet", root=tmp_path)
    definition = definition_of("strings-warm-duet")
    told = duet_results(measured, definition)
    untold = duet_results(None, definition)
    assert [path for path, _ in leaves(told)] == [path for path, _ in leaves(untold)]
    found = dict(leaves(told))
    compared = found["duet", "cpu", "java-helidon"]
    assert isinstance(compared, Comparison) and "both under contention" in compared.ratio.estimand
    assert isinstance(said := found["duet", "short"], Words) and "beside itself" in said.text
    assert all(isinstance(leaf, Absent) for _, leaf in leaves(untold))


def test_what_a_cell_shows_of_evidence_and_of_a_cold_start_is_short(evidence: Evidence) -> None:
    warm = warm_services(evidence)
    assert warm is not None
    assert repr(evidence) == "evidence of strings-warm/quick-local-1"
    assert (
        repr(warm)
        == f"{len(warm.saturation)} trials at saturation and {len(warm.rate)} at a rate, {evidence!r}"
    )
    assert "0001" not in repr(warm.cold["go-nethttp"]) and len(repr(warm.cold["go-nethttp"])) < 1000
