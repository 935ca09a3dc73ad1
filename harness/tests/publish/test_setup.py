# SPDX-License-Identifier: Apache-2.0
"""The tables of the setup say what plans and records say, and where a version was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.definitions import experiment_files, load_study
from harness.evidence import Evidence
from harness.model import ClosedLoad, Load, OpenLoad, RuntimeSettings
from harness.publish import Publisher
from harness.publish.load_words import go_in_words, java_in_words, load_in_words
from harness.publish.session_facts import registrations
from harness.publish.settings import load_cells, runtime_cells, settings_tables
from harness.publish.versions import libraries_in, tool_versions, version_cells
from harness.store import Store
from harness.tests.support.synthetic import ROOT, make_project, make_session

SERVICES = sorted(ROOT.glob("services/*/java-*/pom.xml")) + sorted(ROOT.glob("services/*/go-*/go.mod"))


def bundled(experiment: str) -> Evidence:
    """The session of an experiment that comes with the project."""
    return Evidence(
        root=ROOT, experiment=experiment, sessions=tuple(Store(ROOT).sessions(experiment, bundled=True))
    )


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        (ClosedLoad(users=100, loops=100, ramp_up_s=1), "closed: 100 users, 100 passes each, ramp 1 s"),
        (ClosedLoad(users=1, loops=1), "closed: 1 user, 1 pass each"),
        (ClosedLoad(users=32, duration_s=2, think_time_s=0.5), "closed: 32 users, 2 s, pause 0.5 s"),
        (OpenLoad(rate_per_s=478.5, duration_s=3, arrivals="constant", parts=4, pause_s=1),
         "open: 478.5/s (constant), 4 x 3 s, 1 s apart, 100 connections"),
    ],
)  # fmt: skip
def test_a_load_is_said_with_users_passes_ramp_rate_and_length(
    profile: ClosedLoad | OpenLoad, words: str
) -> None:
    assert load_in_words(Load(generator="jmeter", profile=profile)) == words


def test_memory_is_said_by_collector_and_by_growth_rule() -> None:
    g1 = [RuntimeSettings(gc="g1", heap_max=heap) for heap in ("39m", "78m", "39m")]
    assert java_in_words([*g1, RuntimeSettings(gc="z")]) == ["G1, 39m and 78m", "ZGC, heap by default"]
    assert java_in_words([]) == []
    limited = RuntimeSettings(gogc="off", gomemlimit="129MiB")
    assert go_in_words([RuntimeSettings(), limited]) == ["default GOGC", "GOGC off, GOMEMLIMIT 129MiB"]


@pytest.mark.parametrize("experiment", sorted(experiment_files(ROOT)))
def test_every_load_of_every_experiment_can_be_said(experiment: str) -> None:
    study = load_study(ROOT, experiment)
    for profile in study.experiment.profiles.values():
        assert all(load_in_words(load) for load in profile.loads.values())


def test_the_headlines_load_and_memory_are_those_of_its_session() -> None:
    evidence = bundled("strings-rounds")
    (load,) = (row for row in load_cells(evidence) if row is not None)
    assert load["generator"] == "JMeter"
    assert load["load"] == "closed: 100 users, 100 passes each, ramp 1 s"
    assert load["warm_up"] == "1,000 or none"
    (runtime,) = (row for row in runtime_cells(evidence) if row is not None)
    assert (runtime["cpus"], runtime["java"], runtime["go"]) == ("2", "G1, 512m", "default GOGC")


@pytest.mark.parametrize(
    "build_file", SERVICES, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}"
)
def test_the_build_file_of_every_service_names_its_framework_or_none(build_file: Path) -> None:
    alone = {"java-jdkhttp", "go-nethttp", "go-raw"}
    found = libraries_in(build_file.read_text("utf-8"))
    framework = [name for name in found if not any(other in name for other in ("pgx", "logfmt"))]
    assert bool(framework) == (build_file.parent.name not in alone | {"go-pgx"}), found
    assert all(version.lstrip("v")[0].isdigit() for version in found.values())


def test_versions_of_generators_are_those_that_trials_recorded_and_no_idle_tool_is_listed() -> None:
    sessions = bundled("headroom").sessions
    used = tool_versions(sessions, used_only=True)
    assert {"jmeter", "wrk", "k6", "locust", "oha"} <= set(used)
    assert "oha" not in tool_versions(bundled("aa").sessions, used_only=True)
    assert used["jdk"] == ["25.0.3+9 (Eclipse Adoptium)"]


def test_a_frameworks_version_comes_with_the_place_where_it_was_read(tmp_path: Path) -> None:
    rows = {str(row["part"]): row for row in version_cells([bundled("aa")], ROOT) if row is not None}
    assert rows["Go"]["read_from"] == "the sessions' records"
    assert "go.mod" in str(rows["strings/go-nethttp"]["read_from"])
    root = make_project(tmp_path, profile="smoke", experiments=("strings-rounds",))
    evidence = Evidence(
        root=root, experiment="strings-rounds", sessions=tuple(Store(root).sessions("strings-rounds"))
    )
    read_from = {
        row["read_from"] for row in version_cells([evidence], root) if row and "/" in str(row["part"])
    }
    assert read_from == {"go.mod, as it is now", "pom.xml, as it is now"}


def test_it_is_said_of_how_many_registered_sessions_the_hash_holds() -> None:
    said = registrations([("a", ()), ("b", None), ("c", ("definition",))])
    assert said.startswith(
        "2 of 3 sessions registered plan, margins and rule of stopping before the first trial"
    )
    assert said.endswith(
        "; the stored ones have the hash of then in all of them; changed since: c (definition)"
    )
    assert registrations([("b", None)]) == "No session registered its plan before its first trial"


def test_the_tables_hold_every_experiment_that_was_measured(tmp_path: Path) -> None:
    root = make_project(tmp_path, profile="smoke", experiments=("strings-startup",))
    make_session(root, "gc-peaks", "quick")
    opened = [
        Evidence(root=root, experiment=name, sessions=tuple(Store(root).sessions(name)))
        for name in ("gc-peaks", "strings-startup")
    ]
    loads, runtimes, _ = settings_tables(Publisher("20-tidy", root=root, publish=True), opened)
    assert "strings-startup | none | none: start and idle" in repr(loads)
    assert "gc-peaks | JMeter | open: 400/s (Poisson)" in repr(loads)
    for collector in ("Serial", "Parallel", "G1", "ZGC"):
        assert collector in repr(runtimes)
