# SPDX-License-Identifier: Apache-2.0
"""What runtimes say of themselves in the tables, the age of a trial, and what bounded it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.tables import runtime_columns as module
from harness.analysis.tables.bound import Connections, Facts, HostUse, Part, PartName, Rates, what_bounds
from harness.analysis.tables.runtime_columns import request_columns, with_age
from harness.model import Bound, TrialRecord
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
    boundaries = []
    for boundary in record.boundaries:
        text = files.get(boundary.name.replace("-", "_"))
        name = f"boundary-{boundary.name}.prom"
        if text is not None:
            (session.folder / trial / name).write_text(text, "utf-8")
        file = None if text is None else name
        boundaries.append(boundary.model_copy(update={"runtime_metrics_file": file}))
    return record.model_copy(update={"boundaries": tuple(boundaries)})


def test_bytes_and_calls_are_over_the_requests_of_their_load(session: SessionFolder) -> None:
    grown = re.sub(
        r"(?m)^(go_gc_heap_allocs_bytes_total) (\S+)$", lambda m: f"{m[1]} {float(m[2]) + 1e6}", METRICS
    )
    record = record_of(session, "go-gogc-100", before_load=METRICS, after_load=grown)
    assert record.load is not None
    allocated = pytest.approx(1e6 / record.load.n_requests)
    assert request_columns(session, record) == {"allocated_bytes_per_request": allocated}
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


@pytest.mark.parametrize(
    ("compile_s", "told_s", "known_s"),
    [(0.1, None, 0.1), (None, 0.4, 0.4), (0.1, 0.4, 0.1), (None, None, None)],
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


def test_in_pods_compiling_is_an_average_and_one_of_several_is_not_asked(session: SessionFolder) -> None:
    said = {name: (f"{module.COMPILED} {a}\n", f"{module.COMPILED} {b}\n") for name, a, b in EDGES}
    record = record_of(session, "go-gogc-100", before_load="", after_load="")
    assert module.compiled_s(session, record) is None
    assert module.compiled_s(session, in_two_pods(session, record, **said)) == pytest.approx((3.0 + 1.0) / 2)
    first = {name: texts[0] for name, texts in said.items()}
    record = record_of(session, "go-gogc-100", **first)
    assert module.compiled_s(session, record) == pytest.approx(3.0)
    around = in_pods(record).instance
    assert around is not None and around.kubernetes is not None
    three = around.model_copy(update={"kubernetes": around.kubernetes.model_copy(update={"replicas": 3})})
    assert module.compiled_s(session, record.model_copy(update={"instance": three})) is None


CLOSED = Rates(achieved_per_s=1_000.0, users=100)
KEPT = Rates(offered_per_s=500.0, achieved_per_s=499.0)
ECHO = Rates(achieved_per_s=4_000.0, echo_per_s=4_500.0, headroom_ratio=1.125, users=100)
#: An echo service that kept the rate no better, that kept it, and one that answered far more.
ALIKE = Rates(offered_per_s=1_000.0, achieved_per_s=700.0, echo_per_s=800.0)
REACHED = Rates(offered_per_s=1_000.0, achieved_per_s=990.0, echo_per_s=800.0)
BETTER = Rates(offered_per_s=134.0, achieved_per_s=20.0, echo_per_s=74.0)
BUSY, HALF_IDLE = HostUse(n_cpus=2, idle_cores=0.02), HostUse(n_cpus=2, idle_cores=1.0)
DISKS = HostUse(n_cpus=4, waited_for_disks=0.6)
WAITING = Connections(n_active=95.0, n_in_use=96.0, n_waiting_for_lock=0.0)
LOCKED = Connections(n_active=10.0, n_in_use=10.0, n_waiting_for_lock=9.0, at_most=10)
POOL = Connections(n_active=8.0, n_in_use=9.8, n_waiting_for_lock=0.0, at_most=10)


def part(
    name: PartName, cores: float | None, *cpus: int, machine: str = "here", most: float | None = None
) -> Part:
    return Part(name=name, cores=cores, cpus=frozenset((machine, cpu) for cpu in cpus), most=most)


def service(cores: float | None, *cpus: int, **more: Any) -> Part:
    return part("service", cores, *(cpus or (0,)), **more)


def load(cores: float | None, *cpus: int, **more: Any) -> Part:
    return part("generator", cores, *(cpus or (1,)), **more)


def database(cores: float, cpu: int) -> Part:
    return part("backing", cores, cpu)


def bound(*parts: Part, asked: Rates = CLOSED, around: HostUse | None = None, **more: Any) -> Bound:
    return what_bounds(Facts(parts=parts, asked=asked, around=around or HostUse(n_cpus=4), **more))


@pytest.mark.parametrize(
    ("parts", "more", "by", "why"),
    [
        # CPUs of its own
        ((service(0.97), load(0.5)), {}, "service", "0.97 of 1"),
        ((service(0.5), load(0.93)), {}, "generator", ""),
        ((service(0.5), load(0.1), database(0.9, 2)), {}, "backing", ""),
        ((service(0.87), load(0.99)), {}, "generator", ""),  # the fuller one
        ((service(0.96), load(0.99)), {}, "service", ""),  # as good as even
        ((service(0.95, 0, 1, most=1.0), load(0.2, 2)), {}, "service", ""),  # a quota, own threads
        ((service(0.2, 0, 1), load(0.95, 2, 3, most=1.0)), {}, "generator", ""),
        # CPUs that parts share
        ((service(0.4, 0, 1), load(1.5, 0, 1)), {"around": BUSY}, "machine", "most by the generator (1.50)"),
        ((service(1.2, 0, 1), load(0.7, 0, 1)), {"around": BUSY}, "machine", "most by the service (1.20)"),
        ((service(0.3), load(0.22), database(0.74, 1)), {}, "backing", "most by the database or upstream (0.74)"),
        ((service(0.3), load(0.42), database(0.54, 1)), {}, "machine", ""),
        ((service(0.8, 1), load(0.15, 1)), {}, "machine", ""),  # a service never is
        ((service(0.4, 0, 1), load(0.6, 0, 1)), {"asked": KEPT, "around": HALF_IDLE}, "offered", ""),
        ((service(0.6), load(0.6, 0, machine="load")), {"asked": KEPT}, "offered", ""),  # equal numbers elsewhere
        # a generator that never sleeps makes way on CPUs that are not the service's
        ((service(0.5), replace(load(0.78), spins=True), database(0.2, 1)), {"asked": KEPT}, "offered", "499 of 500/s"),
        ((service(0.9, 0, 1), replace(load(0.9, 0, 1), spins=True)), {"asked": KEPT}, "machine", "share 2 CPUs"),
        # what others took
        ((service(0.3), load(0.6)), {"around": HostUse(n_cpus=2, stolen_cores=0.4)}, "machine", ""),
        ((service(0.3), load(0.6)), {"around": HostUse(n_cpus=2, other_cores=0.4)}, "machine", ""),
        ((service(0.82), load(0.5)), {"around": HostUse(n_cpus=2, stolen_cores=0.01, other_cores=0.04)}, "unknown", ""),
        # of what the hypervisor left, on each CPU in proportion to its use
        ((service(0.75), load(0.4)), {"around": HostUse(n_cpus=2, stolen_cores=0.3)}, "service", "0.75 of 1.00 CPUs, of which the hypervisor left 0.80"),
        ((service(0.4), load(0.75)), {"around": HostUse(n_cpus=2, stolen_cores=0.3)}, "generator", ""),
        ((service(0.3), load(0.1)), {"around": HostUse(n_cpus=2, stolen_cores=1.2)}, "machine", ""),
        ((service(0.45), load(0.3, 0)), {"around": HostUse(n_cpus=2, stolen_cores=0.3)}, "machine", ""),
        # the generator against the echo service
        ((service(0.4), load(0.3)), {"asked": ECHO}, "generator", ""),
        ((service(0.4), load(0.3)), {"asked": ALIKE}, "generator", ""),
        ((service(0.4), load(0.3)), {"asked": REACHED}, "offered", ""),
        ((service(0.2), load(0.23), database(0.75, 1)), {"asked": BETTER}, "backing", ""),
        ((service(0.2), load(0.23)), {"asked": BETTER}, "unknown", ""),
        # connections
        ((service(0.3), load(0.1)), {"connections": POOL}, "service", "10 connections"),
        ((service(0.3), load(0.1)), {"connections": WAITING}, "backing", ""),
        ((service(0.3), load(0.1)), {"connections": LOCKED}, "backing", ""),
        # pressure
        ((service(0.3), load(0.1)), {"around": DISKS}, "machine", ""),
        ((service(0.3), load(0.1)), {"around": DISKS, "asked": KEPT}, "offered", ""),
        # what is not known is never taken for room
        ((service(None), load(0.1)), {"missing": ("no CPU time",)}, "unknown", "no CPU time"),
        ((service(0.5), load(0.1)), {}, "unknown", "users waited for their answers"),
        # the CPUs of an arm
        ((service(0.55), load(0.42, 0)), {"n_arms": 2}, "service", "of 1 CPU of its arm the service used 0.55 and the"),
        ((service(0.42), load(0.55, 0)), {"n_arms": 2}, "generator", ""),
        ((service(0.55), load(0.42, 0)), {}, "machine", ""),
        ((service(0.45), load(0.3, 0)), {"n_arms": 1, "around": HostUse(n_cpus=2, other_cores=0.2)}, "service",
         "others took 0.20 of them"),
        ((service(0.45), load(0.3, 0)), {"n_arms": 2, "around": HostUse(n_cpus=2, other_cores=0.4)}, "service",
         "others took 0.20 of them"),
        ((service(0.45), load(0.3, 0)), {"n_arms": 2}, "unknown", ""),
        ((service(0.45), load(0.3, 0)), {"n_arms": 2, "around": HostUse(n_cpus=2, other_cores=1.7)}, "machine", ""),
    ],
)  # fmt: skip
def test_what_bounds_is_named(parts: tuple[Part, ...], more: dict[str, Any], by: str, why: str) -> None:
    verdict = bound(*parts, **more)
    assert verdict.by == by and why in verdict.why


def test_shares_are_those_of_what_each_may_use() -> None:
    verdict = bound(service(0.97), load(0.5), around=HostUse(n_cpus=2, stolen_cores=0.4))
    assert (verdict.service_share, verdict.generator_share, verdict.machine_share) == (0.97, 0.5, 0.2)
    assert bound(service(None), load(0.1)).service_share is None
