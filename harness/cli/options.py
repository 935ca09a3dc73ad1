# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have, and what they say to a program: limits of ``--fail-if``, parts of JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from harness.cli.lines import complain

if TYPE_CHECKING:
    from harness.report.limits import Checked

Launcher = Annotated[
    str | None,
    typer.Option(
        help="how services are started: process, container (docker) or kubernetes; "
        "default: as the experiment says, else process"
    ),
]


class Judged(Protocol):
    """A limit and what was found of it."""

    @property
    def outcome(self) -> str: ...

    @property
    def text(self) -> str: ...


def end_with(checked: Iterable[Judged]) -> None:
    """End with status 1 where a limit is exceeded, and with 2 where one cannot be judged; else return."""
    checked = list(checked)
    if any(item.outcome == "exceeded" for item in checked):
        raise typer.Exit(1)
    unknown = [item.text for item in checked if item.outcome == "cannot be told"]
    if unknown:
        complain(f"rematch: {unknown[0]}")
        raise typer.Exit(2)


def limits_as_plain(checked: Iterable[Checked]) -> list[dict[str, str]]:
    """Return limits on ratios as they stand in JSON."""
    return [{"limit": item.limit.text, "outcome": item.outcome, "text": item.text} for item in checked]


def fields_of(values: object, *names: str) -> dict[str, Any]:
    """Return attributes by their names, as they stand in JSON."""
    return {name: getattr(values, name) for name in names}
