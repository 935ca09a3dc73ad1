# SPDX-License-Identifier: Apache-2.0
"""The way to a far host: where it is, who we are there, which keys are tried, and the command that carries it."""

from __future__ import annotations

import os
import pwd
import shlex
from pathlib import Path

from harness.errors import InputError
from harness.hosts.ssh.settings import FILE, HostSettings
from harness.hosts.ssh.ssh_config import KNOWN, SSH_CONFIG, SshSays, ask_ssh
from harness.model import Frozen

SSH_PORT = 22


class Connecting(Frozen):
    """What a connection needs, every question answered.

    ``known_hosts``: the user's files first. ``proxy``: a ProxyCommand, or ssh over the hosts of a ProxyJump.
    """

    name: str
    address: str
    port: int = SSH_PORT
    user: str | None = None
    keys: tuple[str, ...] = ()
    known_hosts: tuple[Path, ...]
    known_as: str | None = None
    proxy: str | None = None

    @property
    def name_of_key(self) -> str:
        """How files of known hosts call it: with its port, unless that is the usual one."""
        plain = self.address if self.port == SSH_PORT else f"[{self.address}]:{self.port}"
        return self.known_as or plain

    @property
    def where(self) -> str:
        way = f", by {self.proxy}" if self.proxy else ""
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
        proxy=said.proxy or (None if said.jump is None else _over(said.jump, said)),
    )


def _over(jump: str, said: SshSays) -> str:
    """Return what OpenSSH runs for a ``ProxyJump``: ssh to its last host, over those before it."""
    before, _, last = jump.rpartition(",")
    words = [
        "ssh",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=yes",
        "-W",
        f"[{said.address}]:{said.port}",
    ]
    if Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir):  # ssh takes the home folder from the accounts
        words += ["-F", str(SSH_CONFIG.expanduser())]
    words += ["-J", before] if before else []
    return shlex.join([*words, last if last.startswith("ssh://") else f"ssh://{last.strip()}"])
