# SPDX-License-Identifier: Apache-2.0
"""When each pod of an instance serves its first request: asked 100 times a second, from its launch on.

The prober runs on the cluster's node and asks each pod at its own address, on a new connection each time. A pod's
process and address are read from this machine's kernel as soon as they exist, not from the API, which learns of them
up to a second later. A pod that never answers is left without an answer: it is censored, not dropped.
"""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from harness.agent.http_exchange import Connection, request_bytes
from harness.errors import HostError
from harness.launchers.kubernetes_pods import Found, established, has_entered
from harness.model.endpoint import Endpoint

PROBES_PER_S = 100.0
#: A pod that takes longer for an answer is asked again.
ANSWER_WITHIN_S = 2.0
#: Of one connection through the service's address.
ROUTED_WITHIN_S = 0.2
#: How often the kernel is asked for new processes.
LOOKS_PER_S = 100.0
#: How often the API is asked for pods that do not exist yet.
ASKED_FOR_PODS_PER_S = 25.0
#: How often a process that was seen is asked whether it runs the container's own program by now.
ASKED_PER_S = 250.0


@dataclass
class Probed:
    """What is known of one pod so far. Moments are on the monotonic clock.

    ``found``: its process, from when it runs the service's program on. ``program_s``: that moment, known to within
    ``program_gap_s`` before it; ``None``: the process ran the program already when it was first seen.
    """

    found: Found | None = None
    program_s: float | None = None
    program_gap_s: float = 0.0
    served_s: float | None = None
    probes: int = 0
    longest_gap_s: float = 0.0
    routed_s: float | None = None


@dataclass
class Prober:
    """Probes pods by their uid until each has answered, or until it is stopped.

    ``wanted``: returns the uids that exist by now; ``look``: returns the processes of some of them.
    ``expected``: how many pods there will be. ``port`` and ``path``: what they are asked for.
    """

    wanted: Callable[[], Collection[str]]
    look: Callable[[Collection[str]], Mapping[str, Found]]
    expected: int
    port: int
    path: str
    pods: dict[str, Probed] = field(default_factory=dict)
    ended_s: float | None = None

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._entering: dict[str, Found] = {}
        self._asked_s = -math.inf
        self._thread = threading.Thread(target=self._work, name="prober", daemon=True)

    def start(self) -> None:
        """Begin to probe."""
        self._thread.start()

    def stop(self) -> None:
        """Stop probing. Idempotent."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def all_found(self) -> bool:
        """Whether each pod's process was seen."""
        return sum(pod.found is not None for pod in tuple(self.pods.values())) >= self.expected

    @property
    def all_reached(self) -> bool:
        """Whether each pod has a process, and an address to ask it at."""
        results = [pod.found for pod in tuple(self.pods.values())]
        return sum(item is not None and item.address is not None for item in results) >= self.expected

    @property
    def n_served(self) -> int:
        """How many pods have answered."""
        return sum(pod.served_s is not None for pod in tuple(self.pods.values()))

    @property
    def all_served(self) -> bool:
        """Whether each pod has answered."""
        return self.n_served >= self.expected

    def _work(self) -> None:
        threads: dict[str, threading.Thread] = {}
        while not self._stop.is_set() and not self.all_served:
            if not self.all_reached:
                self._find()
            for uid, one in self.pods.items():
                if one.served_s is not None or (uid in threads and threads[uid].is_alive()):
                    continue
                seen = one.found or self._entering.get(uid)
                if seen is not None and seen.address is not None:
                    self._entering.pop(uid, None)
                    threads[uid] = threading.Thread(
                        target=self._follow, args=(one, seen, seen.address), daemon=True
                    )
                    threads[uid].start()
            self._stop.wait(1.0 / LOOKS_PER_S)
        for thread in threads.values():
            thread.join()
        self.ended_s = time.monotonic()

    def _follow(self, one: Probed, seen: Found, address: str) -> None:
        """Wait until a process runs the service's program, then probe it."""
        if not seen.entered:
            try:
                asked = last = time.monotonic()
                while not has_entered(seen.pid):
                    last = asked
                    if self._stop.wait(1.0 / ASKED_PER_S):
                        return
                    asked = time.monotonic()
            except OSError:  # it is not the service's, or has ended; the pod may get another one
                return
            one.program_s = time.monotonic()
            one.program_gap_s = one.program_s - last
            one.found = replace(seen, entered=True)
        self._probe(one, address)

    def _probe(self, one: Probed, address: str) -> None:
        """Ask one pod until it answers; each has a thread, so that a slow one does not delay the others."""
        begun = last = time.monotonic()
        number = 0
        while not self._stop.is_set():
            one.probes += 1
            if answers(address, self.port, self.path):
                one.served_s = time.monotonic()
                return
            number = max(number + 1, int((time.monotonic() - begun) * PROBES_PER_S))
            self._stop.wait(max(0.0, begun + number / PROBES_PER_S - time.monotonic()))
            now_s = time.monotonic()
            one.longest_gap_s, last = max(one.longest_gap_s, now_s - last), now_s

    def _find(self) -> None:
        now_s = time.monotonic()
        if len(self.pods) < self.expected and now_s - self._asked_s >= 1.0 / ASKED_FOR_PODS_PER_S:
            self._asked_s = now_s
            with contextlib.suppress(
                HostError
            ):  # asked again at the next look; the launch says what is wrong
                for uid in self.wanted():
                    self.pods.setdefault(uid, Probed())
        left = [uid for uid, one in self.pods.items() if one.found is None or one.found.address is None]
        for uid, result in self.look(left).items():
            if result.entered:
                self.pods[uid].found = result
            else:
                self._entering[uid] = result


def answers(address: str, port: int, path: str) -> bool:
    """Ask once, on a new connection; whether a right answer (2xx) came."""
    asked = request_bytes("GET", path, {}, None, Endpoint(host=address, port=port))
    try:
        with socket.create_connection((address, port), timeout=ANSWER_WITHIN_S) as connection:
            connection.settimeout(ANSWER_WITHIN_S)
            connection.sendall(asked)
            head = connection.recv(64)
    except OSError:
        return False
    words = head.split(b" ", 2)
    return len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].startswith(b"2")


def connected_through(endpoint: Endpoint, pods: Mapping[str, Found], port: int) -> str | None:
    """Connect once to a service's address and return the uid of the pod that has the connection; ``None``: none has.

    A pod's own table of connections tells, so that nobody else who answers at that address is taken for a pod: until
    kube-proxy knows a service, its address leads anywhere. Nobody else may connect to the pods meanwhile.
    """
    try:
        with Connection(endpoint, ROUTED_WITHIN_S, from_outside=True) as connection:
            connection.open()
            for uid, result in pods.items():
                if established(result.pid, port):
                    return uid
    except OSError:
        return None
    return None


__all__ = ["PROBES_PER_S", "Probed", "Prober", "answers", "connected_through"]
