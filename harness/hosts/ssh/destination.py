# SPDX-License-Identifier: Apache-2.0
"""The way to a far host: where it is, who we are there, which keys are tried, and over which hosts it leads."""

from __future__ import annotations

import os
import re
from pathlib import Path

from harness.errors import InputError
from harness.hosts.ssh.settings import FILE, HostSettings
from harness.hosts.ssh.ssh_config import KNOWN, SSH_CONFIG, SshSays, ask_ssh
from harness.model import Frozen

#: More hosts in between than anybody has: they lead in a circle.
MOST_JUMPS = 8
SSH_PORT = 22
_HOP = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@]+)@)?(?:\[(?P<six>[^]]+)\]|(?P<host>[^:@]+))(?::(?P<port>\d+))?/?"
)


class Connecting(Frozen):
    """What a connection needs, every question answered.

    ``known_hosts``: the user's files first. ``via``: the host that the connection leads through.
    """

    name: str
    address: str
    port: int = SSH_PORT
    user: str | None = None
    keys: tuple[str, ...] = ()
    known_hosts: tuple[Path, ...]
    known_as: str | None = None
    proxy: str | None = None
    via: Connecting | None = None

    @property
    def name_of_key(self) -> str:
        """How files of known hosts call it: with its port, unless that is the usual one."""
        plain = self.address if self.port == SSH_PORT else f"[{self.address}]:{self.port}"
        return self.known_as or plain

    @property
    def where(self) -> str:
        way = (
            f", through {self.via.name}"
            if self.via is not None
            else ", by its ProxyCommand"
            if self.proxy
            else ""
        )
        return f"{self.name} ({self.address} port {self.port}{way})"


def connecting(name: str, settings: HostSettings) -> Connecting:
    """Return how to connect: the settings first, then what ssh's configuration says.

    Raises:
        InputError: the key of the settings does not exist, or the configuration leads nowhere.
    """
    said = ask_ssh(settings.address or name, port=settings.port, user=settings.user)
    if settings.known_hosts is not None:
        said = said.model_copy(update={"known_hosts": (Path(settings.known_hosts).expanduser(),)})
    if settings.key is not None:
        key = Path(settings.key).expanduser()
        if not key.is_file():
            raise InputError(
                "there is no such key",
                file=FILE,
                place=f"hosts.{name}.key",
                found=settings.key,
                allowed="a private key file; or no key here, for the SSH agent's and ~/.ssh/id_*",
            )
        said = said.model_copy(update={"keys": (key,)})
    return _way(name, said, said.jump, n_jumps=0)


def _way(name: str, said: SshSays, jump: str | None, *, n_jumps: int) -> Connecting:
    # no file of one's own means that keys are not to be checked; they are, so the usual one is it
    own = [file for file in said.known_hosts if file != Path(os.devnull)] or [Path(KNOWN[0]).expanduser()]
    return Connecting(
        name=name,
        address=said.address,
        port=said.port,
        user=said.user,
        keys=tuple(str(key) for key in said.keys if key.is_file()),  # as ssh does: others are passed over
        known_hosts=(*own, *said.known_to_all),
        known_as=said.known_as,
        proxy=said.proxy,
        via=None if jump is None else _hop(jump, n_jumps=n_jumps + 1),
    )


def _hop(jump: str, *, n_jumps: int) -> Connecting:
    """The last host of a ``ProxyJump``; it is reached through those before it, or as it is written of it."""
    before, _, last = jump.rpartition(",")
    found = _HOP.fullmatch(last.strip())
    if found is None or n_jumps > MOST_JUMPS:
        problem = "not a host to jump over" if found is None else f"more than {MOST_JUMPS} hosts to jump over"
        raise InputError(
            problem,
            file=SSH_CONFIG,
            place="ProxyJump",
            found=jump,
            allowed="[user@]host[:port], several joined by commas, none that leads back to itself",
        )
    host = found["six"] or found["host"]
    said = ask_ssh(host, port=int(found["port"]) if found["port"] else None, user=found["user"])
    # a rule for all hosts names the host in between for itself as well; there ssh goes straight
    further = before or (said.jump if said.jump != last else None)
    return _way(last.strip().removeprefix("ssh://").rstrip("/"), said, further, n_jumps=n_jumps)
