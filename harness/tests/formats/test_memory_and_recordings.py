# SPDX-License-Identifier: Apache-2.0
"""Rules for reading flight recordings, native memory, Go's metrics and throttling. What is read is real."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from harness.agent.cgroup import parse_cpu_stat
from harness.errors import InputError
from harness.formats.jfr_json import duration_s, parse_jfr_json, read_jfr_json
from harness.formats.row_layout import epoch_s
from harness.formats.runtime_log import read_runtime_log
from harness.formats.runtime_metrics import (
    GOMAXPROCS,
    answered,
    go_cpus,
    jvm_cpus,
    parse_runtime_metrics,
    throttle_spans,
)
from harness.model import RuntimeCpus

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def test_an_event_that_cannot_be_read_is_counted_and_shown_and_hides_nothing() -> None:
    path = GOLDEN / "jfr_json" / "jdk25-G1.json.gz"
    found = json.loads(gzip.decompress(path.read_bytes()))
    whole = len(read_jfr_json(path).log.events)
    found["recording"]["events"] += [{"type": "jdk.GCPhasePause", "values": {"startTime": "soon"}}, 7]
    with pytest.raises(InputError, match="flight recording, which is read alone"):
        read_runtime_log(path, path)
    read = parse_jfr_json(json.dumps(found))
    assert read.log.n_unknown == 2 and "soon" in read.log.unknown_examples[0]
    assert len(read.log.events) == whole


NO_RECORDINGS = {
    "nothing": "", "cut": '{"recording": {"events": [', "no events": '{"recording": 1}', "a list": "[]",
    "too deep": "[" * 100_000, "too long a number": '{"recording": ' + "1" * 5000 + "}",
}  # fmt: skip


@pytest.mark.parametrize("text", NO_RECORDINGS.values(), ids=NO_RECORDINGS)
def test_a_recording_cut_short_or_foreign_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="jfr print --json"):
        parse_jfr_json(text)


def test_an_empty_recording_is_not_a_recording_without_pauses() -> None:
    assert "no pause in it" in parse_jfr_json('{"recording": {"events": []}}').log.warnings[0]


def test_instants_and_durations_keep_their_decimals() -> None:
    assert epoch_s("1970-01-01T00:00:01.000002500Z") == pytest.approx(1.0000025, abs=1e-9)
    assert epoch_s("1970-01-01T01:00:00+01:00") == 0.0
    assert duration_s("PT0.000003025S") == 3.025e-6
    assert (duration_s("PT1M2S"), duration_s("P1DT1H")) == (62, 90_000)
    for wrong in ("PT", "5 s", ""):
        with pytest.raises(ValueError, match="not a duration"):
            duration_s(wrong)


@pytest.mark.parametrize("release", ["1.21-collector", "1.24-collector", "1.26-nethttp"])
def test_what_each_release_of_go_exports_is_read_under_the_same_names(release: str) -> None:
    text = (GOLDEN / "runtime_metrics" / f"go{release}.txt").read_text()
    found = parse_runtime_metrics(text)
    assert found.n_collections and found.paused_s is not None and 0 < found.paused_s < 1
    assert found.last_collection is not None and found.last_collection.number == found.n_collections
    assert go_cpus(text) == RuntimeCpus(cpus=2, said_in=f"/metrics: {GOMAXPROCS}")
    memory = dict(found.memory_classes_bytes)
    assert sum(memory.values()) == 2 * memory["total"]


def test_what_is_not_exported_is_absent_and_not_zero() -> None:
    names = (
        "go_gc_cycles_total_gc_cycles_total",
        "go_gc_duration_seconds_count",
        "go_memory_classes_total_bytes",
    )
    endless = (f"{name} {value}\n" for name in names for value in ("NaN", "+Inf", "1e400"))
    found = parse_runtime_metrics("up 1\nbroken{ 2\n" + "".join(endless))
    assert found.n_collections is None and found.paused_s is None and found.memory_classes_bytes == {}


def test_both_versions_of_control_groups_tell_the_same_throttling() -> None:
    v1 = parse_cpu_stat("nr_periods 9\nnr_throttled 3\nthrottled_time 250000000\nnr_bursts 0\n")
    v2 = parse_cpu_stat("usage_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n???\n")
    assert v1 is not None and v2 is not None
    assert (v1.n_throttled, v1.throttled_s) == (v2.n_throttled, v2.throttled_s) == (3, 0.25)
    assert parse_cpu_stat("usage_usec 1\n") is None
    assert throttle_spans([(0.0, 3), (1.0, 3), (2.0, 4)]) == [(1.0, 2.0)]
    with pytest.raises(InputError, match="never fall"):
        throttle_spans([(1.0, 3), (0.0, 3)])


LOGS = sorted((GOLDEN / "jvm_log").glob("*.log.gz"))
#: Releases before JDK 17 do not write the number; ``-Xlog:gc`` without the star leaves its line out.
WITHOUT_NUMBER = {
    "jdk11-G1", "jdk11-Serial-comma", "jdk21-Z-minor-nosafepoint", "jdk25-Z-minor-nosafepoint", "jdk25-G1-default",
}  # fmt: skip
DOES_NOT_SAY = "the GC log does not say how many"


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_every_jvm_and_collector_says_its_name_and_under_all_tags_its_processors(log: Path) -> None:
    name = log.name.removesuffix(".log.gz")
    silent = name in WITHOUT_NUMBER
    assert jvm_cpus(gzip.decompress(log.read_bytes()).decode()) == RuntimeCpus(
        cpus=None if silent else 2,
        collector=name.split("-")[1],
        said_in="GC log",
        why_not=DOES_NOT_SAY if silent else None,
    )


def test_what_is_available_counts_and_in_the_line_of_a_jvm_alone() -> None:
    line = "CPUs: 2 total, 1 available"
    assert jvm_cpus(f"[0.1s][info][gc,init] {line}").cpus == 1
    for text in ("", line, f"[0.1s][info][other] {line}"):
        assert jvm_cpus(text) == RuntimeCpus(why_not="the GC log does not say")


@pytest.mark.parametrize(
    "metrics", ["", "http_requests_total 3\n", f"{GOMAXPROCS} NaN\n", f"{GOMAXPROCS} 0\n"]
)
def test_metrics_without_it_are_no_zero(metrics: str) -> None:
    found = go_cpus(metrics)
    assert found.cpus is None and found.why_not == f"/metrics has no {GOMAXPROCS}"


BY_LABELS = """# TYPE http_requests_total counter
http_requests_total{path="/health",status="200"} 3
http_requests_total{path="/hello",status="200"} 1.2e+03
http_requests_total{path="/metrics",status="200"} 7
http_requests_total_of_somebody_else 100
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(BY_LABELS, 1203, id="by labels, without those for the metrics"),
        pytest.param("http_requests_total 5\n", 5, id="without labels"),
        pytest.param("http_requests_total 5 1700000000000\r\n", 5, id="with the moment of the reading"),
        pytest.param("# TYPE http_requests_total counter\n", 0, id="none yet"),
        pytest.param(
            '# TYPE http_request_duration_seconds histogram\nhttp_request_duration_seconds_count{path="/x"} 0\n',
            0,
            id="none yet, and the counter is left out until then",
        ),
        pytest.param('http_requests_total{path="/metrics"} 5\n', 0, id="for the metrics alone"),
        pytest.param("go_goroutines 5\n", None, id="no such counter"),
        pytest.param("http_requests_total NaN\n", None, id="not a number"),
        pytest.param("http_requests_total +Inf\n", None, id="without end"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_requests_that_a_service_counted_are_added_up(text: str, expected: int | None) -> None:
    assert answered(text) == expected
