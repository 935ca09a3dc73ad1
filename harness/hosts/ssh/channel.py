# SPDX-License-Identifier: Apache-2.0
"""Questions to the agent, one JSON object a line, over one command of the SSH connection.

A connection that is lost ends the session with its reason: the agent ends what it started when its time of grace is
over, finished trials are kept, and the same command resumes.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import threading
import time
from concurrent.futures import Future
from typing import Any

from harness.errors import HostError
from harness.hosts.ssh.connection import ENDS_WITHIN_S, SshConnection

BEAT_S = 1.0
_PULSE = b'{"id": 0, "oldest": 0, "do": "ping"}\n'


class AgentChannel:
    """Asks the agent in ``folder`` over ``link``; ``agent``: the words that start its file there."""

    def __init__(self, link: SshConnection, agent: tuple[str, ...], folder: str, grace_s: float) -> None:
        self.link, self.agent, self._grace_s = link, agent, grace_s
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._number = 0
        self._pending: dict[int, Future[dict[str, Any]]] = {}
        self._lost: str | None = None
        self._closing = threading.Event()
        self._heard = time.monotonic()
        self._relay = link.start(self.command("attach", folder))
        threading.Thread(target=self._read, name=f"agent on {link.name}", daemon=True).start()
        threading.Thread(target=self._beat, name=f"pulse of {link.name}", daemon=True).start()

    def command(self, *words: str) -> str:
        """Return a command of the agent's own file as a shell there takes it."""
        return shlex.join([*self.agent, *words])

    def ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        """Have the agent do one thing and return what it says.

        Raises HostError: it cannot be done, or the host is gone.
        """
        answer: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._lost is not None:
                raise HostError(self._lost)
            self._number += 1
            self._pending[self._number] = answer
            question = {"id": self._number, "oldest": self._number, "do": what, "with": arguments}
        self._send(json.dumps(question).encode() + b"\n")
        reply = answer.result()
        if "error" in reply:
            raise HostError(f"{self.link.name}: {reply['error']}")
        result: dict[str, Any] = reply["said"]
        return result

    def close(self) -> None:
        """Tell the agent to end all and go. Never raises."""

        def bye() -> None:
            with contextlib.suppress(HostError):
                self.ask("bye")

        asking = threading.Thread(target=bye, daemon=True)
        asking.start()
        asking.join(ENDS_WITHIN_S)
        self._closing.set()
        self._relay.kill()
        self._relay.wait()
        with self._sending, contextlib.suppress(OSError, EOFError):
            self._relay.stdin.close()
        self._give_up(f"{self.link.name}: the connection was closed")

    def _send(self, line: bytes) -> None:
        with self._sending, contextlib.suppress(OSError, ValueError, EOFError):  # gone: the reader says so
            self._relay.stdin.write(line)
            self._relay.stdin.flush()

    def _read(self) -> None:
        stream = self._relay.stdout
        with contextlib.suppress(OSError, ValueError, EOFError), stream:
            for line in stream:
                self._heard = time.monotonic()
                answer = json.loads(line)
                with self._lock:
                    waiting = self._pending.pop(answer["id"], None)
                if waiting is not None:
                    waiting.set_result(answer)
        ended = self._relay.wait() >= 0  # by itself, and not with the connection
        why = "the agent there has ended" if ended or self._closing.is_set() else self.link.last_words()
        silent_s = time.monotonic() - self._heard
        self._give_up(
            f"{self.link.name} is gone: not heard since {silent_s:.0f} s ({why}); what ran there ends itself. "
            "Finished trials are kept; run the same command again to resume when the host is back"
        )

    def _beat(self) -> None:
        """Let the agent hear us; end a channel on which it is not heard for its time of grace."""
        while not self._closing.wait(min(BEAT_S, self._grace_s / 3)):
            if self._lost is not None:
                return
            if time.monotonic() - self._heard > self._grace_s:
                self._relay.kill()
            self._send(_PULSE)

    def _give_up(self, why: str) -> None:
        with self._lock:
            self._lost = self._lost or why
            waiting = [*self._pending.values()]
            self._pending.clear()
        for answer in waiting:
            answer.set_exception(HostError(why))
