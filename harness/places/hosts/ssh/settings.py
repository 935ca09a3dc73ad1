# SPDX-License-Identifier: Apache-2.0
"""Far hosts by name: ``hosts.toml`` in the project. What it leaves out stands in ``~/.ssh/config``."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field

from harness.definitions.strict_files import text_of, to_model, toml_of
from harness.errors import InputError
from harness.model import Frozen

FILE = "hosts.toml"
EXAMPLE = "harness/hosts.example.toml"
LOCAL = "local"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class HostSettings(Frozen):
    """One host. What is ``None`` is as ``~/.ssh/config`` has it, else usual: the SSH agent, ``~/.ssh/id_*``."""

    address: str | None = Field(default=None, description="name or number, or a Host of ~/.ssh/config")
    port: int | None = Field(default=None, ge=1, le=65535)
    user: str | None = None
    key: str | None = Field(default=None, description="private key; default: as in ~/.ssh/config, or usual")
    known_hosts: str | None = Field(default=None, description="default: as ~/.ssh/config has it, or usual")
    folder: str | None = Field(
        default=None, description="of ours on the host, absolute; default: .cache/rematch in the user's home"
    )
    python: str | None = Field(default=None, description="a Python >= 3.8 on the host; default: found")
    postgres: str | None = Field(
        default=None, description="folder of its PostgreSQL's programs (postgres, initdb); default: found"
    )
    service_address: str = Field(
        default="127.0.0.1", description="where its services listen when the load comes from another machine"
    )
    grace_s: float = Field(
        default=30.0, ge=1.0, le=3600.0, description="unheard of for so long, the host ends what we started"
    )


class _File(Frozen):
    hosts: dict[str, HostSettings] = Field(default_factory=dict)


def host_names(root: Path) -> tuple[str, ...]:
    """Return the names that ``--host`` knows: this machine, and those of ``hosts.toml``. Raises InputError: the file is
    wrong."""
    return (LOCAL, *sorted(set(_read(root).hosts) - {LOCAL}))


def load_settings(root: Path, name: str) -> HostSettings:
    """Return the settings of a host of ``hosts.toml``. Raises InputError: no such host, or the file is wrong."""
    hosts = _read(root).hosts
    if name not in hosts and name != LOCAL:
        raise InputError(
            f"unknown host; describe it in {FILE} (copy {EXAMPLE}); for a Host of ~/.ssh/config the line "
            f"[hosts.{name}] is enough",
            place="--host",
            found=name,
            allowed=", ".join(host_names(root)),
        )
    return hosts.get(name, HostSettings())


def _read(root: Path) -> _File:
    path, shown = root / FILE, Path(FILE)
    if not path.exists():
        return _File()
    data = toml_of(text_of(path), shown)
    hosts = data.get("hosts", {})
    for name in hosts if isinstance(hosts, dict) else ():
        if not _NAME.fullmatch(name):
            why = "a host's name becomes part of file names"
            raise InputError(why, file=FILE, found=name, allowed="small letters, digits and dashes")
    return to_model(_File, data, shown)
