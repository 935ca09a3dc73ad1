# SPDX-License-Identifier: Apache-2.0
"""A port of this machine behind which a port or socket of a far host stands, through the SSH connection.

For what is asked between measurements (conformance, warm-up, metrics, a Docker daemon); no load goes this way.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

import paramiko

from harness.errors import HostError
from harness.hosts.ssh.channel import AgentChannel
from harness.model.endpoint import Endpoint

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
