# SPDX-License-Identifier: Apache-2.0
"""A group of commands of which only the one that is asked for is imported and built, so that it starts at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from harness.errors import InputError


class Entry(NamedTuple):
    """A command: the function ``function`` of ``harness.cli.<module>``, and what the list of commands says of it.

    ``kind``: class of that module for a command that parses its arguments in its own way; empty: typer's own.
    """

    name: str
    module: str
    function: str
    short_help: str
    kind: str = ""


class Commands(Mapping[str, Any]):
    """Commands by their names, each built when it is first looked up."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def __getitem__(self, name: str) -> Any:
        return _build(self._entries[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def group_of(entries: Sequence[Entry], moved: Mapping[str, str]) -> type[TyperGroup]:
    """Return the class of a group that has these commands, in this order; a moved one names what to use instead."""

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings | {"commands": Commands(entries)})

        def list_commands(self, ctx: Any) -> list[str]:
            return list(self.commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name in moved:
                raise InputError("no such command", place="COMMAND", found=cmd_name, allowed=moved[cmd_name])
            return super().get_command(ctx, cmd_name)

    return Group


@cache
def _build(entry: Entry) -> Any:
    module = import_module(f"harness.cli.{entry.module}")
    kind = {"cls": getattr(module, entry.kind)} if entry.kind else {}
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(entry.name, short_help=entry.short_help, **kind)(getattr(module, entry.function))
    return typer.main.get_command(alone)
