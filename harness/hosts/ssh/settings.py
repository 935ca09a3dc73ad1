# SPDX-License-Identifier: Apache-2.0
"""How a far host is reached: ``hosts.toml`` in the project, and ssh's configuration for what that leaves out."""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
from pathlib import Path

from pydantic import Field, ValidationError

from harness.definitions.strict_files import parse_toml
from harness.errors import InputError
from harness.hosts.ssh.ssh_config import KNOWN, SSH_CONFIG, SshSays, ask_ssh, is_written
from harness.model import Frozen
from harness.schema_errors import describe

FILE = "hosts.toml"
EXAMPLE = "harness/hosts.example.toml"
LOCAL = "local"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class HostSettings(Frozen):
    """One host. What is ``None`` comes from ``~/.ssh/config``, else from the usual places."""

    address: str | None = Field(default=None, description="name or number, or a Host of ~/.ssh/config")
    port: int | None = Field(default=None, ge=1, le=65535)
    user: str | None = None
    key: str | None = Field(default=None, description="private key file; default: the agent and ~/.ssh/id_*")
    known_hosts: str | None = Field(default=None, description="default: ~/.ssh/known_hosts")
    folder: str | None = Field(
        default=None, description="of ours on the host, absolute; default: .cache/rematch in the user's home"
    )
    python: str | None = Field(default=None, description="a Python >= 3.8 on the host; default: found")
    docker: str | None = Field(
        default=None, description="its Docker daemon: unix://PATH; default: DOCKER_HOST there, or found"
    )
    postgres: str | None = Field(
        default=None, description="folder of its PostgreSQL's programs (postgres, initdb); default: found"
    )
    service_address: str = Field(
        default="127.0.0.1", description="where its services listen when the load comes from another machine"
    )
    grace_s: float = Field(
        default=30.0, ge=1.0, le=3600.0, description="unheard of for so long, the host ends what we started"
    )
    skew_s: float = Field(default=0.0, description="for tests: make the agent's clocks wrong by this")


class _File(Frozen):
    hosts: dict[str, HostSettings] = Field(default_factory=dict)


def host_names(root: Path) -> tuple[str, ...]:
    """Return the names that ``--host`` knows: this machine, and those of ``hosts.toml``.

    Raises:
        InputError: the file is wrong.
    """
    return (LOCAL, *sorted(set(_read(root).hosts) - {LOCAL}))


def load_settings(root: Path, name: str) -> HostSettings:
    """Return the settings of a host, from ``hosts.toml``, or none but its name in ``~/.ssh/config``.

    Raises:
        InputError: no such host, or the file is wrong.
    """
    hosts = _read(root).hosts
    if name in hosts or name == LOCAL:
        return hosts.get(name, HostSettings())
    if _NAME.fullmatch(name) and is_written(name):
        return HostSettings(address=name)
    raise InputError(
        f"unknown host; describe it in {FILE} (copy {EXAMPLE}), or in {SSH_CONFIG}",
        place="--host",
        found=name,
        allowed=", ".join(host_names(root)),
    )


def _read(root: Path) -> _File:
    path = root / FILE
    try:
        data = parse_toml(path.read_text("utf-8"))
    except FileNotFoundError:
        return _File()
    except (OSError, RecursionError, ValueError) as problem:  # TOML's and Unicode's errors are values' errors
        raise InputError(" ".join(str(problem).split())[:200], file=FILE) from problem
    hosts = data.get("hosts", {})
    for name in hosts if isinstance(hosts, dict) else ():
        if not _NAME.fullmatch(name):
            allowed = "small letters, digits and dashes"
            raise InputError(
                "a host's name becomes part of file names", file=FILE, found=name, allowed=allowed
            )
    try:
        return _File.model_validate_json(json.dumps(data))
    except (ValidationError, TypeError, RecursionError) as problem:
        if isinstance(problem, ValidationError):
            raise describe(problem, _File, data, file=FILE) from None
        raise InputError(str(problem), file=FILE) from problem


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
    config = ask_ssh(settings.address or name, port=settings.port, user=settings.user)
    if settings.known_hosts is not None:
        config = config.model_copy(update={"known_hosts": (Path(settings.known_hosts).expanduser(),)})
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
        config = config.model_copy(update={"keys": (key,)})
    # no file of one's own means that keys are not to be checked; they are, so the usual one is it
    own = [file for file in config.known_hosts if file != Path(os.devnull)] or [Path(KNOWN[0]).expanduser()]
    return Connecting(
        name=name,
        address=config.address,
        port=config.port,
        user=config.user,
        keys=tuple(str(key) for key in config.keys if key.is_file()),  # as ssh does: others are passed over
        known_hosts=(*own, *config.known_to_all),
        known_as=config.known_as,
        proxy=config.proxy or (None if config.jump is None else _over(config.jump, config)),
    )


def _over(jump: str, config: SshSays) -> str:
    """Return what OpenSSH runs for a ``ProxyJump``: ssh to its last host, over those before it."""
    before, _, last = jump.rpartition(",")
    words = [
        "ssh",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=yes",
        "-W",
        f"[{config.address}]:{config.port}",
    ]
    if Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir):  # ssh takes the home folder from the accounts
        words += ["-F", str(SSH_CONFIG.expanduser())]
    words += ["-J", before] if before else []
    return shlex.join([*words, last if last.startswith("ssh://") else f"ssh://{last.strip()}"])
