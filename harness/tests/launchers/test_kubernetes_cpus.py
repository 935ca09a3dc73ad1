# SPDX-License-Identifier: Apache-2.0
"""How many CPUs the runtimes in pods go by: read from each pod, and absent with a reason."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.launchers import kubernetes_instance
from harness.launchers.kubernetes_instance import with_runtime_cpus
from harness.model import KubernetesRecord, PodRecord, RuntimeCpus

GOLDEN = Path(__file__).parents[1] / "golden"
METRICS = (GOLDEN / "runtime_metrics" / "go1.26-nethttp.txt").read_bytes()
LOG = gzip.decompress((GOLDEN / "jvm_log" / "jdk25-Serial.log.gz").read_bytes())


def pod(number: int = 1, *, served: bool = True, address: str | None = "127.0.0.1") -> PodRecord:
    return PodRecord(
        name=f"one-{number}", uid=f"uid-{number}", node="n", address=address, pid=1,
        first_served_after_s=0.5 if served else None,
    )  # fmt: skip


def record(*pods: PodRecord) -> KubernetesRecord:
    return KubernetesRecord(
        server="v1", node="n", proxy_mode=None, namespace="n", access="node-port", replicas=len(pods),
        cpu_request=None, cpu_limit=0.5, memory_limit_bytes=None, samples="none", pods=pods,
    )  # fmt: skip


def said(around: KubernetesRecord, kind: str, folder: Path) -> list[RuntimeCpus]:
    found = [one.runtime_cpus for one in with_runtime_cpus(around, kind, folder).pods]
    return [one for one in found if one is not None]


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, status: int) -> Iterator[None]:
    """Have a server of this machine answer in the place of a pod."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = METRICS if self.path == "/metrics" else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    monkeypatch.setattr(kubernetes_instance, "PORT", server.server_address[1])
    worker = threading.Thread(target=server.serve_forever, daemon=True)
    worker.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        worker.join()


def test_each_go_pod_that_served_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, 200):
        found = said(record(pod(1), pod(2), pod(3, served=False), pod(4, address=None)), "go", tmp_path)
    assert [one.cpus for one in found] == [2, 2, None, None]
    assert [one.why_not for one in found] == [None, None, "the pod did not serve", "the pod did not serve"]


def test_a_go_pod_without_metrics_or_answer_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(monkeypatch, 404):
        assert said(record(pod()), "go", tmp_path) == [RuntimeCpus(why_not="GET /metrics: 404")]
    (gone,) = said(record(pod()), "go", tmp_path)
    assert gone.cpus is None and "no answer to GET /metrics" in (gone.why_not or "")


def test_pods_that_hang_do_not_delay_the_others_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_instance, "ALL_WITHIN_S", 0.0)
    (found,) = said(record(pod()), "go", tmp_path)
    assert found.why_not == "not asked: other pods did not answer in time"


def test_the_log_of_one_jvm_is_in_the_trials_folder_and_of_several_in_their_own(tmp_path: Path) -> None:
    (tmp_path / "gc.log").write_bytes(LOG)
    serial = RuntimeCpus(cpus=2, collector="Serial", said_in="GC log")
    assert said(record(pod()), "jvm", tmp_path) == [serial]
    (tmp_path / "one-2").mkdir()
    (tmp_path / "one-2" / "gc.log").write_bytes(LOG)
    found = said(record(pod(1), pod(2)), "jvm", tmp_path)
    assert found == [RuntimeCpus(why_not="no GC log"), serial]


@pytest.mark.parametrize("kind", ["native", "other"])
def test_who_cannot_say_is_not_known_with_a_reason(kind: str, tmp_path: Path) -> None:
    (found,) = said(record(pod()), kind, tmp_path)
    assert found.cpus is None and found.why_not


def test_a_record_from_before_has_none_and_is_read_as_it_was() -> None:
    old = pod().model_dump_json(exclude={"runtime_cpus"})
    assert PodRecord.model_validate_json(old).runtime_cpus is None
