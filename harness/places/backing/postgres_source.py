# SPDX-License-Identifier: Apache-2.0
"""Databases of this machine and of a host over SSH; their driver is loaded when a database is made."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from harness.errors import InputError, MissingTool
from harness.model import BackingName
from harness.places.backing.base import BackingNeed
from harness.places.backing.postgres import (
    DatabaseMachine,
    base_folder,
    find_account,
    find_home,
    find_remote_home,
)
from harness.places.hosts.measuring import MeasuringHost
from harness.toolchains import Tool, require_package

if TYPE_CHECKING:
    from harness.places.backing.postgres_database import Databases, Lease
    from harness.places.hosts.ssh.host import SshHost


class Postgres:
    """Databases of ``host``; see ``BackingSource``. Of this machine ``tool`` is the server's program as the finders
    have it, and its data lies below ``root``. ``open_to_others``: the service runs on another machine, so servers
    listen where that can reach them, and let in whoever has the password."""

    name: BackingName = "postgresql"

    def __init__(
        self,
        host: MeasuringHost,
        root: Path | None = None,
        tool: Tool | None = None,
        *,
        open_to_others: bool = False,
    ) -> None:
        self._host, self._root, self._tool, self._open_to_others = host, root, tool, open_to_others

    @cached_property
    def _machine(self) -> DatabaseMachine:
        """The machine. Raises MissingTool: it has no server; InputError: nobody may run it."""
        if self._tool is not None and self._root is not None:
            self._tool.require()
            base = base_folder(self._root, find_account(self._host))
            return DatabaseMachine(self._host, find_home(self._host, self._tool, base), base)
        home = find_remote_home(cast("SshHost", self._host))
        if self._open_to_others:
            return DatabaseMachine(self._host, home, address=self._host.listen_address, admits="all")
        return DatabaseMachine(self._host, home)

    @cached_property
    def _databases(self) -> Databases:
        from harness.places.backing.postgres_database import Databases

        return Databases(self._machine)

    def unavailable(self, need: BackingNeed) -> str | None:
        try:
            require_package("psycopg")
            machine = self._machine
        except (MissingTool, InputError) as problem:
            return str(problem)
        return machine.memory_unavailable() if need.settings.storage == "memory" else None

    def prepare(self, need: BackingNeed) -> None:
        self._databases.prepare(need)

    def start(self, need: BackingNeed, folder: Path) -> Lease:
        """See ``BackingSource.start``."""
        return self._databases.start(need, folder)

    def close(self) -> tuple[int, ...]:
        return self._databases.close() if "_databases" in vars(self) else ()
