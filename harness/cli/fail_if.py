# SPDX-License-Identifier: Apache-2.0
"""What limits of ``--fail-if`` say to a program: the exit status, and their part of the JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import typer

from harness.cli.lines import complain

if TYPE_CHECKING:
    from harness.compare.limits import Checked


class Judged(Protocol):
    """A limit and what was found of it."""

    @property
    def outcome(self) -> str: ...

    @property
    def text(self) -> str: ...


def end_with(checked: Iterable[Judged]) -> None:
    """End with status 1 where a limit is exceeded, and with 2 where one cannot be judged; else return."""
    checked = list(checked)
    if any(one.outcome == "exceeded" for one in checked):
        raise typer.Exit(1)
    unknown = [one.text for one in checked if one.outcome == "cannot be told"]
    if unknown:
        complain(f"rematch: {unknown[0]}")
        raise typer.Exit(2)


def limits_as_plain(checked: Iterable[Checked]) -> list[dict[str, str]]:
    """Return limits on ratios as they stand in JSON."""
    return [{"limit": one.limit.text, "outcome": one.outcome, "text": one.text} for one in checked]
