# SPDX-License-Identifier: Apache-2.0
"""What runtimes say of themselves, in the tables: Go's collections and memory, the JVM's native memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.analysis.tables import runtime_columns as module
from harness.analysis.tables.runtime_columns import native_memory, request_columns, runtime_columns, with_age
from harness.errors import InputError
from harness.model import TrialRecord
from harness.model.trial import pod_metrics_file
from harness.store import SessionFolder
from harness.tests.support.synthetic import make_session
from harness.tests.support.synthetic_pods import in_pods

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
#: Seconds of compiling that each of two pods has told at an edge of the load.
EDGES = (("before_load", 2.0, 5.0), ("after_load", 5.0, 6.0))
METRICS = (GOLDEN / "runtime_metrics" / "go1.26-nethttp.txt").read_text()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    return make_session(tmp_path_factory.mktemp("runtime"), "gc-peaks", "smoke")


def record_of(session: SessionFolder, variant: str, **files: str) -> TrialRecord:
    """A trial of the variant, with the text of one file for each of its boundaries (``before_load=...``)."""
    trial = min(trial for trial in session.finished() if trial.endswith(variant))
    record = session.record(trial)
    go = variant.startswith("go")
    field, suffix = ("runtime_metrics_file", "prom") if go else ("nmt_file", "nmt.txt")
    boundaries = []
    for boundary in record.boundaries:
        text = files.get(boundary.name.replace("-", "_"))
        name = f"boundary-{boundary.name}.{suffix}"
        if text is not None:
            (session.folder / trial / name).write_text(text, "utf-8")
        boundaries.append(boundary.model_copy(update={field: None if text is None else name}))
    return record.model_copy(update={"boundaries": tuple(boundaries)})


def later(text: str, more: int) -> str:
    """The same process after ``more`` further collections, each with two pauses longer than any bucket."""

    def count(name: str, by: int) -> None:
        nonlocal text
        text = re.sub(rf"(?m)^({re.escape(name)}) (\S+)$", lambda m: f"{m[1]} {int(m[2]) + by}", text)

    count("go_gc_cycles_total_gc_cycles_total", more)
    for name in ("go_sched_pauses_total_gc_seconds", "go_gc_pauses_seconds"):
        count(name + '_bucket{le="+Inf"}', 2 * more)
    return text


def test_collections_are_those_of_the_load_and_memory_that_of_its_end(session: SessionFolder) -> None:
    record = record_of(session, "go-gogc-100", before_load=METRICS, after_load=later(METRICS, 7))
    columns = runtime_columns(session, record)
    assert columns["go_collections"] == 7
    assert columns["go_paused_s"] == pytest.approx(0.0)  # the sum was left as it was
    assert isinstance(columns["go_heap_bytes"], int)
    assert 0 < columns["go_heap_bytes"] < columns["go_memory_bytes"]  # type: ignore[operator]  # both are counts


def test_what_was_not_asked_is_absent(session: SessionFolder) -> None:
    assert runtime_columns(session, record_of(session, "go-gogc-100")) == {}
    only_after = runtime_columns(session, record_of(session, "go-gogc-100", after_load=METRICS))
    assert set(only_after) == {"go_heap_bytes", "go_memory_bytes"}
    assert runtime_columns(session, record_of(session, "serial-3x")) == {}
    assert native_memory(session, record_of(session, "serial-3x")) is None


def test_bytes_and_calls_are_over_the_requests_of_their_load(session: SessionFolder) -> None:
    grown = re.sub(
        r"(?m)^(go_gc_heap_allocs_bytes_total) (\S+)$", lambda m: f"{m[1]} {float(m[2]) + 1e6}", METRICS
    )
    record = record_of(session, "go-gogc-100", before_load=METRICS, after_load=grown)
    assert record.load is not None
    assert request_columns(session, record) == {
        "allocated_bytes_per_request": pytest.approx(1e6 / record.load.n_requests)
    }
    jvm = [f"jvm_threads_allocated_bytes_total {n}\n" for n in ("2.5E9", "2.6E9")]
    counted = {"n_requests": 100, "calls": {"all": 250, "read": 100}}
    record = record_of(session, "go-gogc-100", before_load=jvm[0], after_load=jvm[1])
    assert request_columns(session, record.model_copy(update={"extra": {"system_calls": counted}})) == {
        "allocated_bytes_per_request": pytest.approx(1e8 / record.load.n_requests),  # type: ignore[union-attr]  # as above
        "system_calls_per_request": 2.5,
    }
    unavailable = {"extra": {"system_calls": {"unavailable": "no perf"}}}
    assert request_columns(session, record_of(session, "go-gogc-100").model_copy(update=unavailable)) == {}


def in_two_pods(session: SessionFolder, record: TrialRecord, **files: tuple[str, str]) -> TrialRecord:
    """The trial as one of two pods, which said this at its boundaries; the service's address led to either."""
    boundaries = []
    for boundary in record.boundaries:
        texts = files.get(boundary.name.replace("-", "_"), ())
        for pod, text in zip(("pod-1", "pod-2"), texts, strict=False):
            file = session.folder / record.planned.trial_id / pod_metrics_file(boundary.name, pod)
            file.write_text(text, "utf-8")
        boundaries.append(boundary.model_copy(update={"answered_by_pod": {"pod-1": 1, "pod-2": 1}}))
    return record.model_copy(update={"boundaries": tuple(boundaries)})


def test_of_pods_each_is_compared_with_itself_and_the_load_has_their_sum(session: SessionFolder) -> None:
    """The answer at the service's address is another pod's after the load, whose collections are fewer."""
    record = record_of(session, "go-gogc-100", before_load=later(METRICS, 9), after_load=METRICS)
    with pytest.raises(InputError, match="pauses became fewer"):
        runtime_columns(session, record)
    told = {
        "before_load": (later(METRICS, 9), METRICS),
        "after_load": (later(METRICS, 12), later(METRICS, 4)),
    }
    pods = in_two_pods(session, record, **told)
    columns, alone = runtime_columns(session, pods), record_of(session, "go-gogc-100", after_load=METRICS)
    assert columns["go_collections"] == 3 + 4
    assert columns["go_heap_bytes"] == 2 * runtime_columns(session, alone)["go_heap_bytes"]  # type: ignore[operator]  # both are counts


def test_of_several_pods_that_were_not_asked_one_by_one_nothing_is_known(session: SessionFolder) -> None:
    record = record_of(session, "go-gogc-100", before_load=METRICS, after_load=METRICS)
    around = in_pods(record).instance
    assert around is not None and around.kubernetes is not None
    three = around.model_copy(update={"kubernetes": around.kubernetes.model_copy(update={"replicas": 3})})
    assert runtime_columns(session, record.model_copy(update={"instance": three})) == {}


@pytest.mark.parametrize(
    ("compile_s", "told_s", "known_s"),
    [(0.1, None, 0.1), (0.4, None, 0.4), (None, 0.4, 0.4), (0.1, 0.4, 0.1), (None, None, None)],
)
def test_a_trial_whose_jvm_compiles_longer_than_a_warm_one_is_flagged(
    compile_s: float | None, told_s: float | None, known_s: float | None
) -> None:
    row = {"compile_s": compile_s, "measurement_s": 4.0, "flags": "noisy_machine"}
    aged = with_age(row, told_s)
    more = " still_compiling" if known_s == 0.4 else ""
    assert (aged["compile_s"], aged["flags"]) == (known_s, f"noisy_machine{more}")
    changes: tuple[dict[str, str | float | None], ...] = ({"measurement_s": None}, {"search_load_s": 1000.0})
    for change in changes:  # a share of the loads of a search, too
        assert with_age(row | change, told_s)["flags"] == "noisy_machine"


@pytest.mark.parametrize(
    ("compiled_ahead", "warm_class", "compile_s", "age"),
    [
        (False, "settled", 0.2, "warm"), (False, "settled", 0.21, "young"), (False, "not settled", 0.1, "young"),
        (False, "ended", 0.1, "young"), (False, None, 0.21, "young"), (False, None, 0.1, None),
        (False, "settled", None, None), (False, None, None, None), (True, None, None, "aot-compiled"),
        (True, "settled", None, "aot-compiled"), (True, "not settled", None, "young"),
    ],
)  # fmt: skip
def test_the_age_of_a_trial_is_from_what_was_recorded(
    compiled_ahead: bool, warm_class: str | None, compile_s: float | None, age: str | None
) -> None:
    row = {"compile_s": compile_s, "measurement_s": 4.0, "warm_class": warm_class, "flags": ""}
    assert with_age(row, None, compiled_ahead=compiled_ahead)["age"] == age
    assert with_age(row | {"measurement_s": None}, None, compiled_ahead=compiled_ahead)["age"] is None


def test_go_and_native_images_are_compiled_ahead_and_a_jvm_is_not(session: SessionFolder) -> None:
    go, java = (record_of(session, name) for name in ("go-gogc-100", "g1-3x"))
    assert module.is_compiled_ahead(session.header, go) and not module.is_compiled_ahead(session.header, java)
    cell = java.planned.configuration
    runtime = cell.variant.runtime.model_copy(update={"form": "native"})
    variant = cell.variant.model_copy(update={"runtime": runtime})
    cell = cell.model_copy(update={"variant": variant})
    native = java.model_copy(update={"planned": java.planned.model_copy(update={"configuration": cell})})
    assert module.is_compiled_ahead(session.header, native)


def test_in_pods_compiling_is_what_their_jvms_say_on_average(session: SessionFolder) -> None:
    record = record_of(session, "go-gogc-100", before_load="", after_load="")
    said = {name: (f"{module.COMPILED} {a}\n", f"{module.COMPILED} {b}\n") for name, a, b in EDGES}
    assert module.compiled_s(session, in_two_pods(session, record, **said)) == pytest.approx((3.0 + 1.0) / 2)
    assert module.compiled_s(session, record) is None


def test_native_memory_has_a_row_for_each_category_at_each_boundary(session: SessionFolder) -> None:
    text = (GOLDEN / "nmt" / "jdk25-G1.txt").read_text()
    frame = native_memory(session, record_of(session, "serial-3x", before_load=text, after_load=text))
    assert frame is not None
    assert list(frame["boundary"].unique()) == ["before-load", "after-load"]
    after = frame[frame["boundary"] == "after-load"].set_index("category")["committed_bytes"]
    assert after["Java Heap"] == 40960 * 1024
    assert after.drop(module.TOTAL).sum() == pytest.approx(after[module.TOTAL], rel=1e-3)
