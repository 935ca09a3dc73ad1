# SPDX-License-Identifier: Apache-2.0
"""What services of the clients used, their percentiles, their faces, and the published numbers beside them."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.analysis.load.load_segments import last_part
from harness.analysis.stats.comparisons import Comparison
from harness.errors import InputError
from harness.evidence.opening import open_evidence
from harness.model import Estimate, LoadSummary
from harness.model.load_tools import BY_NAME
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.results import Absent, Leaf, Tree, leaves
from harness.questions.clients.published import (
    histogram_rows,
    percentiles_beside,
    published_clients,
    published_histograms,
    published_rows,
)
from harness.questions.clients.results import (
    ClientCase,
    calls_results,
    craft_results,
    face_results,
    face_rows,
    parts_results,
    percentile_rows,
    tool_results,
    tool_rows,
    use_rows,
)
from harness.questions.clients.usage import (
    PERCENTILES,
    most_cores,
    percentiles_of,
    printed_percentiles,
    second_half,
    use_table,
)
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.synthetic import ROOT
from harness.tests.support.synthetic_files import OPENED_PUBLISHED

CHOSEN = ("clients-hello", "clients-faces", "clients-hello-tools", "clients-calls", "clients-craft")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = lay_project(tmp_path_factory.mktemp("clients"), profile="smoke", experiments=CHOSEN)
    tidy_all(StageParameters(profile="smoke", experiments=",".join(CHOSEN)), root=root)
    return root


def opened(project: Path, name: str) -> ClientCase:
    evidence = open_evidence(StageParameters(profile="smoke", experiments=name), name, root=project)
    return ClientCase(name, evidence)


def flat(tree: Tree) -> dict[str, Leaf]:
    return {".".join(path): leaf for path, leaf in leaves(tree)}


def test_what_few_requests_cannot_tell_is_not_told() -> None:
    few, many = percentiles_of(np.arange(1, 101) / 1e3), percentiles_of(np.arange(1, 1_000_001) / 1e6)
    assert (few["p50_s"], few["p99_s"]) == (0.05, 0.099)
    assert [column for column in PERCENTILES if math.isnan(few[column])] == ["p999_s", "p9999_s", "p99999_s"]
    assert many["p999_s"] == pytest.approx(0.999)
    assert [column for column in PERCENTILES if math.isnan(many[column])] == ["p99999_s"]


def test_the_most_cpu_is_that_of_the_busiest_second_of_the_service_under_load() -> None:
    at = np.arange(0, 10, 0.1)
    cpu = np.interp(at, [0, 4, 5, 10], [0, 2, 4, 5])  # half a core, then two for a second, then a fifth
    rows = pd.DataFrame({"monotonic_s": at, "role": "service", "cpu_s": cpu})
    samples = pd.concat([rows, rows.assign(role="generator", cpu_s=at * 3)])
    assert most_cores(samples, (0, 10)) == pytest.approx(2.0, abs=0.01)
    assert most_cores(samples, (6, 10)) == pytest.approx(0.2, abs=0.01)
    assert most_cores(samples, (6, 6.5)) is None  # no second of it
    assert most_cores(rows.assign(role="generator"), (0, 10)) is None


def test_the_last_part_holds_what_was_due_in_it() -> None:
    start = np.concatenate([begin + np.arange(0, 2, 0.1) for begin in (0.0, 3.0, 6.0)])
    requests = pd.DataFrame({"start_epoch_s": 1e9 + start})
    assert len(last_part(requests, 2.0, (0.0, 3.0, 6.0))) == 20
    assert len(last_part(requests, 8.0, (0.0,))) == 60


def test_the_second_half_is_what_was_answered_after_the_middle_of_the_load() -> None:
    due = pd.Series([0.0, 4.0, 9.0, 9.9, 10.5, 19.0])
    requests = pd.DataFrame({"start_epoch_s": 1e9 + due, "latency_s": [9.0, 7.0, 0.5, 0.2, 0.1, 0.1]})
    assert second_half(requests, 20.0)["latency_s"].tolist() == [7.0, 0.2, 0.1, 0.1]


def test_what_a_tool_prints_is_of_the_window_that_it_keeps() -> None:
    told = {"p50": 0.001, "p99": 0.002, "p99.9": 0.003, "p99.99": 0.004}
    load = LoadSummary(
        n_requests=400_000, n_errors=0, start_epoch_s=None, duration_s=20, offered_per_s=20_000, achieved_per_s=20_000,
        latency_mean_s=0.001, latency_quantiles_s=told, n_latencies=200_000, resolution_s=1e-6, has_requests=False,
    )  # fmt: skip
    all_of_it = replace(BY_NAME["wrk2"], latencies_after_s=0.0)
    # 200,000 latencies are too few for p99.99
    of_half = {"p50_half_s": 0.001, "p99_half_s": 0.002, "p999_half_s": 0.003}
    assert printed_percentiles(load, BY_NAME["wrk2"], 20.0) == of_half
    assert printed_percentiles(load, BY_NAME["wrk2"], 15.0) == {}  # a third of it: neither all nor a half
    assert (
        printed_percentiles(load, BY_NAME["wrk2"], 8.0)["p50_s"] == 0.001
    )  # ends before it would leave anything out
    assert printed_percentiles(load, all_of_it, 20.0)["p999_s"] == 0.003


def test_trials_of_two_tools_are_never_one_row(project: Path) -> None:
    case = opened(project, "clients-hello")
    used = case.used
    assert used is not None
    case.__dict__["used"] = used.assign(
        generator=["k6", "vegeta"] * (len(used) // 2) + ["k6"] * (len(used) % 2)
    )
    for rows in (percentile_rows, use_rows):
        with pytest.raises(InputError, match="several load tools"):
            rows(case)


def test_each_tool_has_rows_of_its_own_for_each_load_of_a_process(project: Path) -> None:
    case = opened(project, "clients-hello-tools")
    rows = [row for row in tool_rows(case) if row]
    expected = {(tool, run) for tool in ("vegeta", "wrk2") for run in ("first", "second")}
    assert {(row["tool"], row["run"]) for row in rows} == expected
    assert {row["variant"] for row in rows} == {"Go net/http", "Java Vert.x"}
    found = flat(tool_results(case))
    assert {path.split(".", 1)[0] for path in found} == {"vegeta", "wrk2"}
    ratio = found["vegeta.cpu.go-nethttp"]
    assert isinstance(ratio, Comparison) and (ratio.variant, ratio.reference) == ("second", "first")
    assert set(found) == set(flat(tool_results(ClientCase("clients-hello-tools", None))))
    assert tool_rows(ClientCase("clients-hello-tools", None)) == []


def test_both_calls_at_once_are_set_against_one_after_the_other(project: Path) -> None:
    found = flat(calls_results(opened(project, "clients-calls")))
    ratio = found["mean.go-nethttp"]
    assert isinstance(ratio, Comparison) and (ratio.variant, ratio.reference) == ("parallel", "sequential")


def test_a_craft_is_set_against_the_other_of_the_same_variant_and_variants_within_a_craft(
    project: Path,
) -> None:
    found = flat(craft_results(opened(project, "clients-craft")))
    gain = found["tuned_over_idiomatic.cpu.go-nethttp"]
    assert isinstance(gain, Comparison) and (gain.variant, gain.reference) == ("tuned", "idiomatic")
    for craft in ("idiomatic", "tuned"):
        other = found[f"{craft}.cpu.java-vertx"]
        assert isinstance(other, Comparison) and (other.variant, other.reference) == (
            "java-vertx",
            "go-nethttp",
        )
    nothing = flat(craft_results(ClientCase("clients-craft", None)))
    assert set(nothing) == set(found) and {type(leaf) for leaf in nothing.values()} == {Absent}


def test_each_trial_has_a_row_of_what_its_service_used(project: Path) -> None:
    evidence = opened(project, "clients-hello").evidence
    table = use_table(evidence)
    assert table is not None and evidence is not None
    assert len(table) == len(evidence.trials)
    assert set(table["most_connections"]) == {8}
    assert table["most_cores"].round(2).eq(1.2).all()
    assert table["p50_s"].gt(0).all()
    assert table["p9999_s"].isna().all()
    assert use_table(None) is None


def test_connections_to_the_upstream_are_those_opened_under_load_and_only_go_tells(project: Path) -> None:
    table = use_table(opened(project, "clients-faces").evidence)
    assert table is not None
    of_go = table[table["variant"] == "go-nethttp"]
    assert of_go.groupby("face")["upstream_opened"].mean().to_dict() == {
        "matched": 0,
        "published": OPENED_PUBLISHED,
    }
    assert table.loc[table["variant"] == "java-quarkus", "upstream_opened"].isna().all()


def test_the_faces_are_compared_within_a_variant_and_absent_with_a_reason_when_not_measured(
    project: Path,
) -> None:
    case = opened(project, "clients-faces")
    found, nothing = flat(face_results(case)), flat(face_results(ClientCase("clients-faces", None)))
    opened_by_go, ratio = found["opened.published"], found["mean.go-nethttp"]
    assert isinstance(opened_by_go, Estimate) and opened_by_go.value == OPENED_PUBLISHED
    assert isinstance(ratio, Comparison) and (ratio.variant, ratio.reference) == ("published", "matched")
    assert set(nothing) == set(found) and {type(leaf) for leaf in nothing.values()} == {Absent}
    rows = [row for row in face_rows(case) if row]
    assert [(row["variant"], row["face"]) for row in rows] == [
        ("Go net/http", "published"),
        ("Go net/http", "matched"),
        ("Java Quarkus", "published"),
        ("Java Quarkus", "matched"),
    ]
    untold = rows[-1]["upstream_opened"]
    assert isinstance(untold, Estimate)
    assert untold.value is None
    assert untold.warnings == ("only Go counts them",)
    assert face_rows(ClientCase("clients-faces", None)) == []


def test_what_each_used_at_most_is_told_of_every_variant_of_the_definition(project: Path) -> None:
    case = opened(project, "clients-hello")
    found = flat(parts_results(case))
    of_go = found["most.connections.go-nethttp"]
    assert isinstance(of_go, Estimate) and of_go.value == 8
    assert found["most.connections.java-quarkus"] == Absent(unit="1")  # smoke leaves it out
    assert {row["variant"] for row in use_rows(case)} == {"Go net/http", "Java Vert.x"}


def test_the_last_part_is_compared_with_the_first_and_with_the_reference(project: Path) -> None:
    found = flat(parts_results(opened(project, "clients-hello")))
    over_first, over_go = found["last_over_first.mean.go-nethttp"], found["last.mean.java-vertx"]
    assert isinstance(over_first, Comparison) and (over_first.variant, over_first.reference) == ("4", "1")
    assert isinstance(over_go, Comparison) and over_go.reference == "go-nethttp"
    assert "last.mean.go-nethttp" not in found
    assert set(found) == set(flat(parts_results(ClientCase("clients-hello", None))))


def test_published_loads_stand_beside_the_same_part_of_ours(project: Path) -> None:
    case = opened(project, "clients-hello")
    rows = [row for row in published_rows(published_clients("clients-hello"), case) if row]
    of_vertx = [(row["who"], row["part"]) for row in rows if row["variant"] in ("Vert.x", "Java Vert.x")]
    assert of_vertx == [(who, str(part)) for who in ("published", "here") for part in (1, 2, 3, 4)]
    first = next(row["latency_mean_s"] for row in rows if row["variant"] == "Quarkus, JVM")
    assert isinstance(first, Estimate)
    assert first.value == pytest.approx(1.32)
    assert published_rows(published_clients("clients-db"), ClientCase("clients-db", None)) == []


def test_percentiles_stand_above_the_published_ones_and_say_what_they_cannot(project: Path) -> None:
    case, published = opened(project, "clients-hello"), published_clients("clients-hello")
    rows = [row for row in percentiles_beside(published, case) if row]
    assert [(row["who"], row["window"]) for row in rows] == [
        *[("here", "all of it"), ("here", "second half")] * 2,
        *[("published, best of five", "second half")] * 4,
    ]
    ours, theirs = rows[0]["p99999_s"], rows[4]["p99999_s"]
    assert isinstance(ours, Estimate)
    assert ours.warnings == ("no trial has requests enough for this percentile",)
    assert isinstance(theirs, Estimate)
    assert theirs.value == pytest.approx(0.0098)
    assert percentiles_beside(published, ClientCase("clients-hello", None)) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("1.369", "soon", "positive numbers"),
        ("1.369", "-1", "positive numbers"),
        ("rss_max_mb", "rss", "columns"),
    ],
)
def test_published_numbers_are_checked(tmp_path: Path, old: str, new: str, what: str) -> None:
    (tmp_path / "data").mkdir()
    shutil.copytree(ROOT / "data/published", tmp_path / "data/published")
    path = tmp_path / "data/published/clients-hello.csv"
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=what):
        published_clients("clients-hello", root=tmp_path)
    with pytest.raises(InputError, match="no published numbers"):
        published_clients("clients-nothing", root=tmp_path)


def test_the_published_tool_kept_half_of_each_load_in_its_latencies() -> None:
    found = published_histograms()
    kept = found["recorded"] / found["requests"]
    quick = (
        found["mean_ms"] < 100
    )  # in a slow first load the backlog of the first half is answered in the second
    assert kept[quick].between(0.49, 0.51).all()
    assert kept[~quick].gt(0.6).all()
    rows = [row for row in histogram_rows(found) if row]
    assert len(rows) == len(found)
    assert rows[1]["run"] == "1" and rows[0]["run"] is None


def test_every_throughput_that_the_article_prints_for_the_database_is_there_with_its_source() -> None:
    found = published_clients("clients-db")
    assert set(found["source"]) == {"tivrfoa2024"}
    printed = found.groupby("stack", sort=False)["throughput_per_s"].apply(list).to_dict()
    assert printed == {
        "java-quarkus": [1989.96, 2000.15, 2000.17],
        "java-quarkus-native": [2000.25],
        "go-nethttp": [2000.28],
        "java-vertx": [2000.28, 2000.40, 2000.40],
    }
