# SPDX-License-Identifier: Apache-2.0
"""When each pod of an instance serves its first request: asked 100 times a second, from its launch on.

The prober runs on the cluster's node and asks each pod at its own address, on a new connection each time. A pod's
process and address are read from this machine's kernel as soon as they exist, not from the API, which learns of them
up to a second later. A pod that never answers is left without an answer: it is censored, not dropped.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from harness.agent.http_exchange import request_bytes
from harness.errors import HostError
from harness.launchers.kubernetes_pods import Found
from harness.model.endpoint import Endpoint

PROBES_PER_S = 100.0
#: A pod that takes longer for an answer is asked again; the others wait for it meanwhile.
ANSWER_WITHIN_S = 0.2
#: How often the kernel is asked for new processes.
LOOKS_PER_S = 25.0


@dataclass
class Probed:
    """What is known of one pod so far. Moments are on the monotonic clock."""

    found: Found | None = None
    served_s: float | None = None
    probes: int = 0


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
        return sum(one.found is not None for one in self.pods.values()) >= self.expected

    @property
    def all_served(self) -> bool:
        """Whether each pod has answered."""
        return sum(one.served_s is not None for one in self.pods.values()) >= self.expected

    def _work(self) -> None:
        begun = time.monotonic()
        number, next_look = 0, begun
        while not self._stop.is_set() and not self.all_served:
            if not self.all_found and time.monotonic() >= next_look:
                self._find()
                next_look = time.monotonic() + 1.0 / LOOKS_PER_S
            for one in tuple(self.pods.values()):
                if one.served_s is None and one.found is not None and one.found.address is not None:
                    one.probes += 1
                    if answers(one.found.address, self.port, self.path):
                        one.served_s = time.monotonic()
            number = max(number + 1, int((time.monotonic() - begun) * PROBES_PER_S))
            self._stop.wait(max(0.0, begun + number / PROBES_PER_S - time.monotonic()))
        self.ended_s = time.monotonic()

    def _find(self) -> None:
        if len(self.pods) < self.expected:
            with contextlib.suppress(
                HostError
            ):  # asked again at the next look; the launch says what is wrong
                for uid in self.wanted():
                    self.pods.setdefault(uid, Probed())
        left = [uid for uid, one in self.pods.items() if one.found is None or one.found.address is None]
        for uid, found in self.look(left).items():
            self.pods[uid].found = found


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


__all__ = ["PROBES_PER_S", "Probed", "Prober", "answers"]
