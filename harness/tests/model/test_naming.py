# SPDX-License-Identifier: Apache-2.0
"""Who built a program and how it is written stand beside its name, from what its session recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.definitions import experiment_files, load_study
from harness.evidence import Evidence
from harness.model import BuildRecord, FormBuild, RuntimeSettings, Variant
from harness.model.session import DEFAULT_CODING, UNOFFICIAL, coding_of, label_of
from harness.store import SessionFolder, Store
from harness.tests.support.synthetic import ROOT

NATIVE = Variant(implementation="java", label="Java native", runtime=RuntimeSettings(form="native"))
PLAIN = Variant(implementation="java", label="Java")
BUNDLED = {session.key: session for session in Store(ROOT).sessions(bundled=True)}
#: How a service of each language says what it is written as unless it is told.
_DEFAULT = (
    re.compile(r'"craft", "(\w+)"'),
    re.compile(r"private Craft craft = Craft\.(\w+);|^ *Craft craft = Craft\.(\w+);", re.MULTILINE),
)


def built(tool: str) -> BuildRecord:
    form = FormBuild(form="native", tool=tool, argv=(), build_s=1.0, image_bytes=1)
    return BuildRecord(
        implementation="java", source_sha256="0", argv=(), build_s=1.0, artifact_bytes=1, artifact_sha256="0",
        form=form,
    )  # fmt: skip


def test_a_native_image_is_called_unofficial_where_its_compiler_says_so() -> None:
    ours = {NATIVE.build_name: built("native-image 25 (own C shims; unofficial; not GraalVM CE)")}
    assert label_of("java-native", NATIVE, ours) == f"Java native {UNOFFICIAL}"
    assert label_of("java", PLAIN, ours) == "Java"
    released = {NATIVE.build_name: built("native-image 25; GraalVM Runtime Environment 25")}
    assert label_of("java-native", NATIVE, released) == "Java native"
    assert label_of("java-native", NATIVE.model_copy(update={"label": None}), {}) == "java-native"


@pytest.mark.parametrize("key", BUNDLED)
def test_every_native_image_of_a_bundled_session_is_called_what_its_build_is(key: str) -> None:
    session: SessionFolder = BUNDLED[key]
    evidence = Evidence(root=ROOT, experiment=session.header.plan.experiment, sessions=(session,))
    builds = session.builds()
    for name, variant in session.header.experiment.variants.items():
        native = variant.runtime.form == "native" and variant.build_name in builds
        assert (UNOFFICIAL in evidence.variants[name]) == native


@pytest.mark.parametrize(
    ("workload", "settings", "coding"),
    [
        ("strings", {}, "tuned"),
        ("strings", {"face": "matched", "craft": "idiomatic"}, "idiomatic"),
        ("strings", {"face": "published"}, "as published"),
        ("bank", {"face": "repaired"}, "as repaired"),
        ("clients", {}, "idiomatic"),
        ("accounts", {}, None),
    ],
)
def test_a_coding_is_what_was_asked_for_or_the_workloads_own(
    workload: str, settings: dict[str, str], coding: str | None
) -> None:
    assert coding_of(workload, Variant(implementation="x", settings=dict(settings))) == coding


def test_a_handler_that_answers_a_constant_has_no_coding() -> None:
    assert coding_of("strings", Variant(implementation="x", lean=True)) is None


@pytest.mark.parametrize("workload", DEFAULT_CODING)
def test_the_services_of_a_workload_are_written_so_unless_they_are_told(workload: str) -> None:
    found = {
        path: next(filter(None, match.groups())).lower()
        for path in (ROOT / "services" / workload).rglob("*")
        if path.suffix in (".go", ".java") and path.is_file()
        for pattern in _DEFAULT
        for match in pattern.finditer(path.read_text("utf-8"))
    }
    assert len(found) >= 3
    assert set(found.values()) == {DEFAULT_CODING[workload]}, found


@pytest.mark.parametrize("experiment", sorted(experiment_files(ROOT)))
def test_no_variant_of_an_experiment_has_two_codings_that_no_level_tells_apart(experiment: str) -> None:
    defined = load_study(ROOT, experiment).experiment
    codes = {
        name for name, levels in defined.factors.items() for one in levels.values() if "craft" in one.settings
    }
    assert codes <= {"craft"}


def test_a_native_image_has_metadata_for_the_records_that_its_readme_says_it_has() -> None:
    for path in sorted((ROOT / "services/strings").glob("java-*/README.md")):
        found = list(path.parent.glob("src/main/resources/META-INF/native-image/*/*/*.json"))
        text = path.read_text("utf-8")
        assert "has no metadata" not in text
        if "A native image has metadata for these records" in text:
            (metadata,) = found
            named = {str(one.get("type")) for one in json.loads(metadata.read_text("utf-8"))["reflection"]}
            records = set(re.findall(r"record (\w+)\(", (binding(path.parent)).read_text("utf-8")))
            assert records and {f"rematch.strings.Binding${name}" for name in records} <= named


def binding(service: Path) -> Path:
    return service / "src/main/java/rematch/strings/Binding.java"
