# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL as a backing service of this machine; its driver is loaded when a database is made."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness.backing.base import BackingNeed
from harness.backing.postgres_install import find_account, memory_unavailable
from harness.errors import InputError, MissingTool
from harness.hosts.base import Host
from harness.model import BackingName
from harness.toolchains import Tool, require_package

if TYPE_CHECKING:
    from harness.backing.postgres_database import Lent
    from harness.backing.postgres_databases import Databases


class Postgres:
    """See ``BackingSource``. ``tool`` is the server's program as the finders found it, below ``root`` its data."""

    name: BackingName = "postgresql"

    def __init__(self, host: Host, root: Path, tool: Tool) -> None:
        self._host, self._root, self._tool = host, root, tool

    @cached_property
    def _databases(self) -> Databases:
        from harness.backing.postgres_databases import Databases

        return Databases(self._host, self._root, self._tool)

    def unavailable(self, need: BackingNeed) -> str | None:
        try:
            self._tool.require()
            require_package("psycopg")
            find_account()
        except (MissingTool, InputError) as problem:
            return str(problem)
        return memory_unavailable() if need.settings.storage == "memory" else None

    def prepare(self, need: BackingNeed) -> None:
        self._databases.prepare(need)

    def start(self, need: BackingNeed, folder: Path) -> Lent:
        """See ``BackingSource.start``."""
        return self._databases.start(need, folder)

    def close(self) -> tuple[int, ...]:
        return self._databases.close() if "_databases" in vars(self) else ()


__all__ = ["Postgres"]
