# SPDX-License-Identifier: Apache-2.0
"""A megabyte where a few bytes belong: every service of the bank and the clients refuses it and serves on.

All of them are real, and so are what stands behind them. What is expected is one contract's, so that Java and Go
cannot differ in it.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

import pytest

from harness.agent.http_exchange import Connection, request_bytes
from harness.backing import BackingNeed, BackingSource
from harness.backing.base import running
from harness.backing.upstream import Upstream
from harness.definitions import load_implementations
from harness.hosts.local import LocalHost
from harness.launchers.process import ProcessInstance, ProcessLauncher
from harness.model import BackingName, BackingSettings, Implementation, RuntimeSettings, Variant
from harness.model.endpoint import Endpoint
from harness.tests.chaos.watch import peak_bytes
from harness.tests.support.available import only_when_long
from harness.tests.support.instances import eventually
from harness.tests.support.patience import patient
from harness.tests.support.postgres import RealDatabase, reachable_folder
from harness.tests.support.real_projects import up
from harness.tests.support.sessions import REPOSITORY
from harness.tests.support.tools_here import tools_here

pytestmark = only_when_long()

SIZE_BYTES = 2**20
CHUNK_BYTES = 16_384
WITHIN_S = patient(30.0)
#: A JVM that kept these bodies would end of it: they are twice its heap, of which all is resident from the start.
BODIES, HEAP = 256, "128m"
AT_ONCE = 4
#: What else may grow while so many are refused: compiled code, stacks, buffers of connections.
GROWTH_BYTES = BODIES * SIZE_BYTES // 4
#: Connections that a service may open meanwhile for itself, as its pools like it.
OWN_SOCKETS = 8


def filled(before: str, after: str) -> bytes:
    """One long text between the two, so that the whole has ``SIZE_BYTES``."""
    return (before + "x" * (SIZE_BYTES - len(before) - len(after)) + after).encode()


#: Nothing is wrong with this transfer but its size: ``id`` may be anything and is ignored.
TRANSFER = filled('{"id":"', '","from_client_id":1,"to_client_id":2,"amount":1}')
#: No text in any encoding, and the same each time.
GARBAGE = random.Random(4).randbytes(SIZE_BYTES)


@dataclass(frozen=True, kw_only=True)
class Said:
    """What came back."""

    status: int
    content_type: str
    body: bytes


def ask(
    endpoint: Endpoint, method: str, path: str, body: bytes | None = None, *, chunked: bool = False
) -> Said:
    """Send one request on a connection of its own, and stop sending when the answer is there."""
    with socket.create_connection((endpoint.host, endpoint.port), WITHIN_S) as connection:
        sending = threading.Thread(target=_send, args=(connection, _request(method, path, body, chunked)))
        sending.start()
        try:
            answer = HTTPResponse(connection, method=method)
            answer.begin()
            said = answer.read()
            return Said(status=answer.status, content_type=answer.headers["Content-Type"], body=said)
        finally:
            with contextlib.suppress(OSError):  # the service closed it first
                connection.shutdown(socket.SHUT_RDWR)
            sending.join()


def _send(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more: the answer says why
        connection.sendall(data)


def _request(method: str, path: str, body: bytes | None, chunked: bool) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: there\r\n"
    if body is None:
        return f"{head}\r\n".encode()
    if chunked:
        return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + in_chunks(body)
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def in_chunks(body: bytes) -> bytes:
    parts = (body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def sockets(pid: int) -> int:
    """How many sockets a process has; other descriptors come and go with the classes it loads."""
    found = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
    return found


#: workload -> (method, path) of what takes a body, or has one that nobody looks at
TAKES = {
    "bank": [("POST", "/transaction"), ("POST", "/client/new/1")],
    "clients": [("GET", "/hello?client=1"), ("GET", "/db?client=1")],
    "upstream": [("GET", "/phones/1"), ("GET", "/address/1")],
}
#: workload -> (method, path, status, error) of what is refused before its body matters
REFUSES = {
    "bank": [("POST", "/nothing", 404, "not_found"), ("PUT", "/transaction", 405, "method_not_allowed")],
    "clients": [("GET", "/nothing", 404, "not_found"), ("POST", "/hello", 405, "method_not_allowed")],
    "upstream": [("GET", "/nothing", 404, "not_found"), ("POST", "/phones/1", 405, "method_not_allowed")],
}
#: workload -> what is answered with 200 all the same, and how that begins: no transfer was made
SERVES = {
    "bank": {"/client/1/balance": b'{"balance":1000}'},
    "clients": {"/hello?client=1": b'{"id":1,', "/db?client=1": b'{"id":1,'},
    "upstream": {"/phones/1": b'[{"ddd":', "/address/1": b'{"street":'},
}
SEEDS = {"bank": "two-clients", "clients": "movies"}

CLIENTS = [
    Variant(implementation="go-nethttp"),
    Variant(implementation="java-quarkus", settings={"mode": "blocking"}),
    Variant(implementation="java-quarkus", settings={"mode": "reactive"}),
    Variant(implementation="java-vertx"),
]
EVERY = [
    *(("bank", Variant(implementation=name)) for name in ("go-gorilla", "go-pgx", "java-spring")),
    *(("clients", variant) for variant in CLIENTS),
    ("upstream", Variant(implementation="upstream-api")),
]


def called(value: object) -> str:
    if isinstance(value, Variant):
        return "-".join([value.implementation, *map(str, value.settings.values())])
    return str(value)


@pytest.fixture(scope="module")
def launcher() -> ProcessLauncher:
    return ProcessLauncher(LocalHost(), REPOSITORY, tools_here(), grace_s=patient(15))


@pytest.fixture(scope="module")
def sources(launcher: ProcessLauncher) -> Iterator[dict[BackingName, BackingSource]]:
    """One database for the module: each service gets a copy of a template that is made once."""
    with reachable_folder() as folder:
        database = RealDatabase(folder)
        yield {
            "postgresql": database.source,
            "upstream": Upstream(launcher, lambda _: implementation("clients", "upstream-api"), LocalHost()),
        }
        database.stop_all()
        database.source.close()


def implementation(workload: str, name: str) -> Implementation:
    return load_implementations(REPOSITORY, "bank" if workload == "bank" else "clients")[name]


Serving = Callable[[str, Variant], ProcessInstance]


def small(wanted: Implementation, variant: Variant) -> Variant:
    """With two processors, wherever this runs, for threads and their buffers come by their number; and a small heap."""
    runtime: dict[str, object] = {"cpus": 2, "gc_log": False}
    if wanted.runtime == "jvm":
        runtime |= {"gc": "serial", "heap_min": HEAP, "heap_max": HEAP, "jvm_flags": ("-XX:+AlwaysPreTouch",)}
    return variant.model_copy(update={"runtime": RuntimeSettings.model_validate(runtime)})


@pytest.fixture
def started(
    launcher: ProcessLauncher, sources: dict[BackingName, BackingSource], tmp_path: Path
) -> Iterator[Serving]:
    """Brings a variant up, with a database and an upstream of its own where it needs them."""
    with ExitStack() as cleanup:

        def start(workload: str, variant: Variant) -> ProcessInstance:
            wanted = implementation(workload, variant.implementation)
            need = BackingNeed(
                workload=wanted.workload,
                contract=REPOSITORY / "services" / wanted.workload / "contract",
                settings=BackingSettings(seed=SEEDS.get(workload)),
            )
            environment = cleanup.enter_context(running(wanted.needs, sources, need, tmp_path))
            return cleanup.enter_context(
                up(launcher, wanted, small(wanted, variant), tmp_path, **environment)
            )

        yield start


def refused(status: int, error: str) -> Said:
    return Said(status=status, content_type="application/json", body=b'{"error":"%b"}' % error.encode())


def serves(endpoint: Endpoint, workload: str) -> None:
    for path, beginning in SERVES[workload].items():
        said = ask(endpoint, "GET", path)
        assert said.status == 200, (path, said)
        assert said.body.startswith(beginning), (path, said.body[:80])


@pytest.mark.parametrize(("workload", "variant"), EVERY, ids=called)
def test_a_megabyte_is_refused_in_a_few_words_and_leaves_nothing_behind(
    workload: str, variant: Variant, started: Serving
) -> None:
    instance = started(workload, variant)
    endpoint, pid = instance.endpoint, instance.record.pid
    serves(endpoint, workload)
    quiet = sockets(pid)

    for body in (TRANSFER, GARBAGE):
        for chunked in (False, True):
            for method, path in TAKES[workload]:
                said = ask(endpoint, method, path, body, chunked=chunked)
                assert said == refused(413, "body_too_large"), (method, path, chunked)
            for method, path, status, error in REFUSES[workload]:
                said = ask(endpoint, method, path, body, chunked=chunked)
                assert said == refused(status, error), (method, path, chunked)
    with Connection(endpoint) as connection:  # sends all of it before it reads, and finds the answer too
        for method, path in TAKES[workload]:
            answer = connection.exchange(request_bytes(method, path, {}, TRANSFER, endpoint))
            assert (answer.status, answer.body) == (413, b'{"error":"body_too_large"}'), (method, path)
    serves(endpoint, workload)

    before = peak_bytes(pid)
    method, path = TAKES[workload][0]
    with ThreadPoolExecutor(AT_ONCE) as callers:
        answers = callers.map(
            lambda n: ask(endpoint, method, path, TRANSFER, chunked=n % 2 == 1), range(BODIES)
        )
        assert set(answers) == {refused(413, "body_too_large")}
    serves(endpoint, workload)
    assert peak_bytes(pid) - before < GROWTH_BYTES
    assert eventually(lambda: sockets(pid) <= quiet + OWN_SOCKETS), f"{sockets(pid)} sockets, {quiet} before"
