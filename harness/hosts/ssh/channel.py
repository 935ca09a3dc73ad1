# SPDX-License-Identifier: Apache-2.0
"""Questions to the agent over one long-lived SSH channel, which is opened anew when it breaks.

What was asked and not answered is asked again, with the same number, so nothing is done twice. A host
that stays silent for the agent's time of grace is given up: by then it has ended what we started.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import paramiko

from harness.agent.relay import NO_AGENT
from harness.errors import HostError
from harness.hosts.ssh.connection import connect
from harness.hosts.ssh.settings import Connecting
from harness.model.endpoint import Endpoint

BEAT_S = 1.0
#: Unanswered for so long, the connection is taken for broken (but no longer than a third of the grace).
SILENT_S = 8.0
RETRY_EVERY_S = 0.5


class AgentChannel:
    """Asks the agent in ``folder``. ``client`` is the connection that started it, and is closed with this."""

    def __init__(
        self,
        target: Connecting,
        client: paramiko.SSHClient,
        python: str,
        file: str,
        folder: str,
        grace_s: float,
    ) -> None:
        self._target, self._client, self._grace_s = target, client, grace_s
        self._agent, self._folder = (python, "-I", file), folder
        self._silent_s = min(SILENT_S, grace_s / 3)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._next = 1
        self._pending: dict[int, tuple[bytes, Future[dict[str, Any]]]] = {}
        self._channel: paramiko.Channel | None = None
        self._heard = self._attached = time.monotonic()
        self._lost: str | None = None
        self._closing = False
        self.n_reattached = 0
        self._attach()
        self._reader = threading.Thread(target=self._read, name=f"agent on {target.name}", daemon=True)
        self._reader.start()
        threading.Thread(target=self._beat, name=f"pulse of {target.name}", daemon=True).start()

    @property
    def client(self) -> paramiko.SSHClient:
        """The connection of now, for files and tunnels."""
        return self._client

    def command(self, *words: str) -> str:
        """Return a command of the agent's own file as a shell there takes it."""
        return shlex.join([*self._agent, *words])

    def ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        """Have the agent do one thing and return what it says.

        Raises HostError: it cannot be done, or the host is gone.
        """
        answer: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._lost is not None:
                raise HostError(self._lost)
            number, self._next = self._next, self._next + 1
            question = {
                "id": number,
                "oldest": min(self._pending, default=number),
                "do": what,
                "with": arguments,
            }
            line = json.dumps(question).encode() + b"\n"
            self._pending[number] = (line, answer)
        self._send(line)
        reply = answer.result()
        if "error" in reply:
            raise HostError(f"{self._target.name}: {reply['error']}")
        result: dict[str, Any] = reply["said"]
        return result

    def close(self) -> None:
        """Tell the agent to end all and go, and close the connection. Never raises."""

        def bye() -> None:
            with contextlib.suppress(HostError):
                self.ask("bye")

        answer = threading.Thread(target=bye, daemon=True)
        answer.start()
        answer.join(5.0)
        self._closing = True
        self._give_up(f"{self._target.name}: the connection was closed")
        self._client.close()

    def _send(self, line: bytes) -> None:
        with (
            self._sending,
            contextlib.suppress(OSError, EOFError),
        ):  # broken: the reader finds out, asks again
            if self._channel is not None:
                self._channel.sendall(line)

    def _attach(self) -> None:
        transport = self._client.get_transport()
        if transport is None:
            raise HostError(f"{self._target.name}: the connection is closed")
        try:
            channel = transport.open_session(timeout=self._silent_s)
            try:
                channel.exec_command(self.command("attach", self._folder))
            except BaseException:
                channel.close()
                raise
        except (paramiko.SSHException, OSError, EOFError) as problem:
            raise HostError(f"{self._target.name}: no channel to the agent: {problem}") from problem
        self._channel, self._attached = channel, time.monotonic()

    def _read(self) -> None:
        while not self._closing:
            assert self._channel is not None
            with contextlib.suppress(OSError, ValueError, EOFError, paramiko.SSHException):
                for line in self._channel.makefile("rb"):
                    self._heard = time.monotonic()
                    answer = json.loads(line)
                    with self._lock:
                        _, waiting = self._pending.pop(answer["id"], (b"", None))
                    if waiting is not None:
                        waiting.set_result(answer)
            if not self._closing and not self._reattach():
                return

    def _reattach(self) -> bool:
        """Connect anew until the time of grace is over; then say so to everybody who waits."""
        why = "the agent there has ended"
        while not self._closing and time.monotonic() - self._heard < self._grace_s:
            try:
                self._client.close()
                self._client = connect(self._target, within_s=self._silent_s)
                self._attach()
            except HostError as problem:
                why = str(problem)
                time.sleep(RETRY_EVERY_S)
                continue
            self.n_reattached += 1
            with self._lock:
                unanswered = [line for _, (line, _) in sorted(self._pending.items())]
            for line in unanswered:
                self._send(line)
            if self._answers_soon():
                return True
            channel = self._channel
            if channel is not None and channel.exit_status_ready() and channel.exit_status == NO_AGENT:
                break
            time.sleep(RETRY_EVERY_S)
        silent_s = time.monotonic() - self._heard
        self._give_up(
            f"{self._target.name} is gone: not heard since {silent_s:.0f} s ({why}); what ran there ends itself. "
            "Finished trials are kept; run the same command again to resume when the host is back"
        )
        return False

    def _answers_soon(self) -> bool:
        """Whether the new channel is more than a relay that found no agent: it ends at once then."""
        assert self._channel is not None
        until = time.monotonic() + self._grace_s / 2
        while time.monotonic() < until:
            if self._channel.exit_status_ready():
                return False
            if self._channel.recv_ready():
                return True
            self._send(b'{"id": 0, "oldest": 0, "do": "ping"}\n')
            time.sleep(0.05)
        return False

    def _beat(self) -> None:
        """Ask now and then, so that the agent hears us; close a connection that stays silent."""
        while self._lost is None and not self._closing:
            with contextlib.suppress(HostError):
                self._send(b'{"id": 0, "oldest": 0, "do": "ping"}\n')
            time.sleep(min(BEAT_S, self._silent_s / 3))
            # a relay that has just been started may take its time to say the first word
            patience_s = self._silent_s if self._heard > self._attached else self._grace_s / 2
            if time.monotonic() - max(self._heard, self._attached) > patience_s:
                with contextlib.suppress(OSError, EOFError):
                    self._client.close()  # the reader wakes up and attaches anew

    def _give_up(self, why: str) -> None:
        with self._lock:
            self._lost = self._lost or why
            waiting = [answer for _, answer in self._pending.values()]
            self._pending.clear()
        for answer in waiting:
            answer.set_exception(HostError(why))


CHUNK = 65536
OPENED_WITHIN_S = 10.0
#: Opens the far end on a connection, for a connection that came from this address.
Opener = Callable[[paramiko.Transport, tuple[str, int]], paramiko.Channel]


def to_port(far: Endpoint) -> Opener:
    """Return what opens a connection to a port there."""
    return lambda transport, address: transport.open_channel(
        "direct-tcpip", (far.host, far.port), address, timeout=OPENED_WITHIN_S
    )


def to_command(words: str) -> Opener:
    """Return what starts a command there, whose stdin and stdout are the far end."""

    def opened(transport: paramiko.Transport, _address: tuple[str, int]) -> paramiko.Channel:
        channel = transport.open_session(timeout=OPENED_WITHIN_S)
        channel.exec_command(words)
        return channel

    return opened


class Tunnel:
    """Listens on this machine's loopback until ``close``."""

    def __init__(self, channel: AgentChannel, opener: Opener) -> None:
        self._channel, self._opener = channel, opener
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = Endpoint(host="127.0.0.1", port=self._listener.getsockname()[1])
        threading.Thread(target=self._serve, name=f"tunnel at {self.endpoint.port}", daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                near, address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(near, address), daemon=True).start()

    def _join(self, near: socket.socket, address: tuple[str, int]) -> None:
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with near, contextlib.suppress(OSError, EOFError, HostError, paramiko.SSHException):
            far = self._open(address)
            with contextlib.closing(far):
                back = threading.Thread(target=_pass, args=(far.recv, near.sendall, near), daemon=True)
                back.start()
                _pass(near.recv, far.sendall, None)
                far.shutdown_write()
                back.join()

    def _open(self, address: tuple[str, int]) -> paramiko.Channel:
        for last in (False, True):
            transport = self._channel.client.get_transport()
            if transport is not None and transport.is_active():
                return self._opener(transport, address)
            if not last:
                self._channel.ask("ping")  # waits for the next connection, or says that the host is gone
        raise HostError("no connection to carry the tunnel")


def _pass(take: Callable[[int], bytes], give: Callable[[bytes], object], end: socket.socket | None) -> None:
    """Pass bytes on until there are no more; then tell the other side."""
    with contextlib.suppress(OSError, EOFError):
        while data := take(CHUNK):
            give(data)
    if end is not None:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


#: The code of a refusal (RFC 4254, section 5.1: administratively prohibited).
PROHIBITED = 1


def why_no_forwarding(client: paramiko.SSHClient, address: str, port: int) -> str | None:
    """Return why sshd opens no connections there for us; ``None``: it does, or the connection to it broke.

    At best nothing listens at ``port``: that it was tried in vain is answer enough, and nobody is disturbed.
    """
    transport = client.get_transport()
    try:
        if transport is None:
            return None
        to_port(Endpoint(host=address, port=port))(transport, ("127.0.0.1", 0)).close()
    except paramiko.ChannelException as problem:
        if problem.code != PROHIBITED:
            return None
        return (
            f"its sshd forwards no ports to {address}, and services that listen there are asked that way: "
            "AllowTcpForwarding yes (or local) and DisableForwarding no in its sshd_config, no restrict before the "
            "key in authorized_keys; or have services listen at service_address and the load come from elsewhere"
        )
    except (paramiko.SSHException, EOFError, OSError):
        return None  # no refusal: the connection is made anew, and whoever goes through it finds out
    return None
