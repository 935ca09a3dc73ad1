# SPDX-License-Identifier: Apache-2.0
"""What a definition may say of memory that is to be measured, and the one line when it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.definitions import load_study
from harness.definitions.studies import _definition_sha256
from harness.errors import InputError
from harness.measure.session.memory import asked_of
from harness.model import BuildRecord, RuntimeSettings, Variant
from harness.places.launchers.base import LaunchSpec
from harness.store import Store
from harness.tests.support.synthetic import ROOT

PEAKS = ROOT / "harness/experiments/gc-peaks.toml"
GO = 'gogc = "off", gomemlimit = "rss of g1-3x"'


def changed(folder: Path, before: str, after: str) -> Path:
    text = PEAKS.read_text()
    assert before in text
    path = folder / "gc-peaks.toml"
    path.write_text(text.replace(before, after, 1))
    return path


def test_a_heap_is_a_size_or_a_multiple_and_a_limit_a_size_or_what_another_holds() -> None:
    java = RuntimeSettings(heap_max="1.3x")
    assert (java.heap_multiple, java.memory_of, java.memory_asked) == (1.3, None, "heap_max = 1.3x")
    go = RuntimeSettings(gogc="off", gomemlimit="rss of g1-1.3x")
    assert (go.heap_multiple, go.memory_of) == (None, "g1-1.3x")
    limit = RuntimeSettings(gogc="off", gomemlimit="2x")
    assert (limit.limit_multiple, limit.memory_multiple, limit.memory_of) == (2.0, 2.0, None)
    assert limit.memory_asked == "gomemlimit = 2x"
    for plain in (RuntimeSettings(heap_max="64m"), RuntimeSettings(gomemlimit="64MiB"), RuntimeSettings()):
        assert plain.memory_asked is None


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            'heap_max = "1.3x"',
            'heap_max = "0.9x"',
            ["variants.serial-1.3x.runtime", 'at least "1x"', "'0.9x'"],
        ),
        ('heap_max = "1.3x"', 'heap_max = "1.3"', ['size such as "512m"', '"1.3x"', "found '1.3'"]),
        ('heap_max = "1.3x"', 'heap_max = "2x", heap_min = "1m"', ["neither aot_cache nor heap_min"]),
        (GO, 'gogc = "off", gomemlimit = "like g1"', ['"64MiB"', '"rss of NAME"', "'like g1'"]),
        (GO, 'gogc = 100, gomemlimit = "2x"', ['needs gogc = "off"']),
        (GO, 'gogc = "off", gomemlimit = "0.9x"', ['at least "1x"']),
        (GO, 'gogc = "off", gomemlimit = "rss of g1-4x"', ["unknown variant", "runtime.gomemlimit", "g1-3x"]),
        (
            GO,
            'gogc = "off", gomemlimit = "rss of go-gogc-25"',
            ["what a Java variant holds", "go-gogc-25", "z-6x"],
        ),
        ('"g1-3x", "g1-6x"', '"g1-6x"', ["profiles.quick.variants", "go-as-g1-3x has the memory of g1-3x"]),
        (
            "[profiles.smoke]",
            '[factors.heap.small]\nruntime = { heap_max = "2x" }\n[profiles.smoke]',
            ["factors.heap.small.runtime", "belongs in a variant", "heap_max = 2x"],
        ),
        (
            "[profiles.smoke]",
            '[factors.size.small]\nmix = "hello"\n[profiles.smoke]',
            ["factors.size.small", "another program or mix"],
        ),
    ],
)
def test_the_unmeasurable_is_one_line(tmp_path: Path, before: str, after: str, words: list[str]) -> None:
    with pytest.raises(InputError) as said:
        load_study(ROOT, str(changed(tmp_path, before, after)))
    assert "\n" not in str(said.value)
    for word in words:
        assert word in str(said.value)


def test_a_capacity_is_not_measured_with_variants_whose_memory_is_not_known_yet(tmp_path: Path) -> None:
    path = changed(tmp_path, 'reference = "go-gogc-100"', 'reference = "g1-3x"')
    text, _, rest = path.read_text().partition("loads.arrivals")
    scaled = (
        'calibration = { generator = "jmeter" }\n'
        'scaled_loads.arrivals = { generator = "jmeter", profile = { model = "open", rate_share = 0.5, '
        "duration_s = 1 } }\n[profiles.quick]"
    )
    path.write_text(text + scaled + rest.partition("[profiles.quick]")[2])
    with pytest.raises(InputError, match="whose memory is measured only after it.*g1-3x: heap_max = 3x"):
        load_study(ROOT, str(path))
    text = (ROOT / "harness/experiments/collectors.toml").read_text()
    path = tmp_path / "collectors.toml"
    path.write_text(text.replace('among = ["go-gogc-100"]', 'among = ["go-gogc-100", "g1-6x"]'))
    with pytest.raises(InputError, match="whose memory is measured only after it.*g1-6x: heap_max = 6x"):
        load_study(ROOT, str(path))
    path.write_text(text.replace('among = ["go-gogc-100"]', 'among = ["nobody"]'))
    with pytest.raises(InputError, match="nobody.*is not among the profile's variants"):
        load_study(ROOT, str(path))


def test_what_must_be_measured_is_that_of_the_planned_variants_and_of_those_they_name() -> None:
    experiment = load_study(ROOT, "gc-peaks").experiment
    assert asked_of(experiment, ("go-gogc-100",)) == {}
    assert asked_of(experiment, ("go-as-g1-3x", "serial-2x")) == {
        "go-as-g1-3x": "gomemlimit = rss of g1-3x",
        "g1-3x": "heap_max = 3x",
        "serial-2x": "heap_max = 2x",
    }


def test_nothing_is_started_with_memory_that_nobody_measured(tmp_path: Path) -> None:
    study = load_study(ROOT, "gc-peaks")
    build = BuildRecord(
        implementation="java-jdkhttp", source_sha256="0", argv=(), build_s=None, artifact_bytes=1,
        artifact_sha256="0",
    )  # fmt: skip
    with pytest.raises(InputError, match="measured before the first trial.*found 'heap_max = 2x'"):
        LaunchSpec(
            implementation=study.implementations["java-jdkhttp"],
            variant=Variant(implementation="java-jdkhttp", runtime=RuntimeSettings(gc="g1", heap_max="2x")),
            build=build,
            folder=tmp_path,
        )


@pytest.mark.parametrize("experiment", ["aa", "strings-payload"])
def test_definitions_of_sessions_measured_before_keep_their_hash(experiment: str) -> None:
    (session,) = Store(ROOT).sessions(experiment, bundled=True)
    header = session.header
    assert _definition_sha256(header.experiment) == header.provenance.definition_sha256
