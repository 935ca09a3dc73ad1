# SPDX-License-Identifier: Apache-2.0
"""Pods as instances, in the real cluster that KUBECONFIG names: ``make test-kubernetes``."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.analysis.tables.resource_columns import answered_by_pod
from harness.errors import TrialFailure
from harness.measure.runner.start_up import wait_first_response
from harness.model import RuntimeSettings, TrialRecord, Variant
from harness.places.launchers.kubernetes_pods import PROBES_PER_S
from harness.store import SessionFolder
from harness.tests.contracts.launcher import HELLO, LauncherContract
from harness.tests.support.available import PROJECT, cannot_tell, lateness, only_with_a_cluster, patient
from harness.tests.support.clustered import Clustered
from harness.tests.support.dockerd import python_root
from harness.tests.support.instances import eventually

pytestmark = only_with_a_cluster()
#: A moment is told to 50 ms only on a machine whose sleepers are woken in time.
TRIES, MOST_LATE_S = 5, 0.02


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return python_root(tmp_path_factory.mktemp("base") / "root")


@pytest.fixture
def project(tmp_path: Path, base: Path) -> Iterator[Clustered]:
    made = Clustered(tmp_path, base)
    yield made
    made.close()


class TestPods(LauncherContract):
    @pytest.fixture
    def project(self, project: Clustered) -> Clustered:
        return project


def late(**runtime: object) -> Variant:
    return Variant(implementation="late", runtime=RuntimeSettings.model_validate(runtime))


def test_an_injected_delay_is_measured_from_the_program_to_the_first_answer(project: Clustered) -> None:
    for _ in range(TRIES):
        with lateness() as disturbed:
            variant = Variant(implementation="late", settings={"delay": "1.3s"})
            instance = project.launch_variant(variant, project.late)
            assert instance.lacking(instance.record.launched.monotonic_s + patient(30)) is None
        waited_s = waited_for_a_cpu_s(instance.record.pid)
        around = instance.stop().kubernetes
        assert around is not None
        (pod,) = around.pods
        assert pod.longest_probe_gap_s is not None
        gap_s = math.inf if pod.program_gap_s is None else pod.program_gap_s
        late_s = max(disturbed.most_s, pod.longest_probe_gap_s - 1 / PROBES_PER_S, gap_s, waited_s)
        if late_s <= MOST_LATE_S:
            break
    else:
        cannot_tell(f"a moment was known to within {late_s * 1e3:.0f} ms only, {TRIES} times")
    assert pod.first_served_after_s is not None and pod.program_after_s is not None
    assert abs(pod.first_served_after_s - pod.program_after_s - 1.3) <= 0.05
    assert pod.process_after_s is not None and pod.process_after_s < pod.program_after_s
    assert pod.probes is not None and pod.probes > 50


def waited_for_a_cpu_s(pid: int) -> float:
    """Return how long the threads of a process were ready to run and did not: a pod has a share of its own."""
    delays_ns = (int(file.read_text().split()[1]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(delays_ns) / 1e9


def test_limits_are_recorded_and_a_boost_of_the_start_is_taken_back_before_load(project: Clustered) -> None:
    instance = project.launch_variant(
        late(replicas=2, cpu_limit=0.5, cpu_boost=1.0, cpu_request=0.02, memory_limit="64m"), project.late
    )
    assert instance.lacking(instance.record.launched.monotonic_s + patient(30)) is None
    around = instance.stop().kubernetes
    assert around is not None and (around.cpu_boost, around.cpu_limit) == (1.0, 0.5)
    assert (around.cpu_request, around.memory_limit_bytes) == (0.02, 64 * 2**20)
    assert around.server.startswith("v1.") and "kubelet" in around.node
    for pod in around.pods:
        assert pod.at_stop is not None and pod.at_stop.cpu_s is not None
        assert pod.first_served_after_s is not None and pod.boost_ended_after_s is not None
        assert pod.boost_ended_after_s > pod.first_served_after_s
        assert pod.restarts == 0


def test_pods_that_are_added_to_one_that_serves_count_from_the_request_for_them(project: Clustered) -> None:
    instance = project.launch_variant(late(replicas=3, scale_from=1, cpu_request=0.02), project.late)
    assert instance.lacking(time.monotonic() + patient(30)) is None
    around = instance.stop().kubernetes
    assert around is not None and around.scaled_after_s is not None and len(around.pods) == 3
    first, *added = around.pods
    assert first.first_served_after_s is not None and first.first_served_after_s < around.scaled_after_s
    for pod in added:
        assert pod.process_after_s is not None and pod.process_after_s > around.scaled_after_s - 0.01
        assert pod.first_served_after_s is not None and pod.first_served_after_s > pod.process_after_s


def test_a_pod_over_its_memory_limit_ran_out_of_memory(project: Clustered) -> None:
    runtime = RuntimeSettings(memory_limit="64m")
    variant = Variant(implementation="misbehaving", runtime=runtime, settings={"grow_bytes": 30_000_000})
    instance = project.launch_variant(variant)
    wait_first_response(instance, HELLO, patient(30), host=project.host)
    for _ in range(20):
        if instance.exited() is not None:
            break
        with contextlib.suppress(TrialFailure):  # a service that is killed meanwhile does not answer
            wait_first_response(instance, HELLO, patient(5))
    assert eventually(lambda: instance.exited() is not None)
    instance.stop()
    said = instance.out_of_memory()
    assert said is not None and "OOMKilled" in said and "64" in said and "\n" not in said


def test_a_crash_loop_says_the_last_lines(project: Clustered) -> None:
    instance = project.launch(fail_start="no database at db:5432")
    assert eventually(lambda: instance.exited() is not None)
    assert eventually(lambda: "crash loop, exited with 3" in (instance.lacking(0.0) or ""))
    assert "no database at db:5432" in (instance.lacking(0.0) or "")
    instance.stop()


def smoke(experiment: str) -> tuple[TrialRecord, ...]:
    """Measure an experiment in the cluster, and return the records of its trials, which have all succeeded."""
    seed = str(1000 + int.from_bytes(os.urandom(3), "big"))
    done = subprocess.run(
        [sys.executable, "-m", "harness", "measure", experiment, "--profile", "smoke", "--seed", seed, "--json"],
        cwd=PROJECT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    folder = PROJECT / "data" / "raw" / said["session"]
    try:
        records = tuple(SessionFolder(folder).records())
    finally:
        shutil.rmtree(folder)
    assert said["complete"] and set(said["outcomes"]) == {"ok"}
    return records


def test_a_smoke_session_of_the_cluster_is_measured_and_leaves_nothing() -> None:
    for record in smoke("k8s-rounds"):
        assert record.load is not None and record.instance is not None
        assert record.instance.kubernetes is not None
        counted = answered_by_pod(record)
        assert counted is not None and len(counted) == record.instance.kubernetes.replicas
        assert sum(counted.values()) == record.load.n_requests, "the generator's number"


def test_with_half_a_cpu_go_goes_by_two_and_a_jvm_by_one_unless_the_node_has_no_two() -> None:
    """As both document it: Go 1.25 and newer take no less than two of several, a JVM takes the limit rounded up."""
    found = {}
    for record in smoke("k8s-limits"):
        assert record.instance is not None and record.instance.kubernetes is not None
        (pod,) = record.instance.kubernetes.pods
        found[record.planned.configuration.variant_name] = pod.runtime_cpus
    go, java = found["go-nethttp"], found["java-jdkhttp"]
    assert go is not None and (go.cpus, go.collector) == (min(2, os.cpu_count() or 1), None)
    assert java is not None and (java.cpus, java.collector) == (1, "Serial")
