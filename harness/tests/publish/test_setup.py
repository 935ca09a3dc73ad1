# SPDX-License-Identifier: Apache-2.0
"""The tables of the setup say what plans and records say, and which flags trials carry."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.metrics import FLAG_WORDS
from harness.analysis.evidence.opening import open_evidence
from harness.model import Flag, RuntimeSettings
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish import session_facts
from harness.publish.publisher import Publisher
from harness.store import Store
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.synthetic import ROOT, make_project, make_session


def bundled(experiment: str) -> Evidence:
    """The session of an experiment that comes with the project."""
    return Evidence(
        root=ROOT, experiment=experiment, sessions=tuple(Store(ROOT).sessions(experiment, bundled=True))
    )


def test_settings_are_those_that_are_not_the_default_by_their_names() -> None:
    given = RuntimeSettings(gc="g1", gc_log=False, jvm_flags=("-Xint", "-Xshare:off"), cpus=2)
    words = session_facts.setting_words(given, "cpus")
    assert words == 'gc g1, gc_log false, jvm_flags ["-Xint", "-Xshare:off"]'
    assert session_facts.setting_words(RuntimeSettings()) == ""


def test_the_headlines_load_and_memory_are_those_of_its_session() -> None:
    evidence = bundled("strings-rounds")
    (load,) = session_facts.load_lines(evidence)
    assert (load["generator"], load["warm_up"]) == ("JMeter", "1,000 or none")
    assert load["load"] == "closed: users 100, ramp_up_s 1.0, loops 100"
    line = session_facts.runtime_line(evidence)
    assert line["cpus"] == "2" and line["go"] == "default" and "heap_max 512m" in str(line["java"])


def test_versions_of_generators_are_those_that_trials_recorded() -> None:
    versions = session_facts.tool_versions(bundled("headroom").sessions)
    assert {"jmeter", "wrk", "k6", "locust", "vegeta"} <= set(versions)
    assert versions["jdk"] == ["25.0.3+9 (Eclipse Adoptium)"]


def test_it_is_printed_of_how_many_registered_sessions_the_hash_holds() -> None:
    text = session_facts.registrations([("a", ()), ("b", None), ("c", ("definition",))])
    assert text.startswith(
        "2 of 3 sessions registered plan, margins and rule of stopping before their first trial"
    )
    assert text.endswith(", and all of these still have what was hashed; changed since: c (definition)")
    assert (
        session_facts.registrations([("b", None)]) == "No session registered its plan before its first trial"
    )


def test_the_tables_hold_every_experiment_that_was_measured(tmp_path: Path) -> None:
    root = make_project(tmp_path, profile="smoke", experiments=("strings-startup",))
    make_session(root, "gc-peaks", "smoke")
    settings = StageParameters(profile="smoke")
    shown = repr(session_facts.setup_tables(settings, Publisher("20-tidy", root=root, publish=True)))
    assert "strings-startup | none | none: start and idle" in shown
    assert "gc-peaks | JMeter | open: rate_per_s 200.0" in shown
    assert "gc serial" in shown and "gc g1" in shown


def test_the_table_counts_the_flags_of_the_records(tmp_path: Path) -> None:
    root = lay_project(tmp_path, profile="smoke", experiments=("strings-rounds",))
    settings = StageParameters(profile="smoke", experiments="strings-rounds")
    tidy_all(settings, root=root)
    assert set(FLAG_WORDS) == set(get_args(Flag))
    recorded = Counter(
        flag for folder in Store(root).sessions() for record in folder.records() for flag in record.flags
    )
    assert recorded, "made-up sessions carry a flag, else this test says nothing"
    evidence = open_evidence(settings, "strings-rounds", root=root)
    assert session_facts.flag_counts(evidence) == recorded
    text = repr(session_facts.flags_table(Publisher("20-tidy", root=root, publish=True), [evidence]))
    for flag in FLAG_WORDS:
        assert (FLAG_WORDS[flag] in text) == (flag in recorded)
