# SPDX-License-Identifier: Apache-2.0
"""What an audit found: one check a law and row, and its form for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from harness.model import Frozen

#: ``remarkable``: possible, but something that is not printed has to explain it.
Outcome = Literal["holds", "contradiction", "remarkable", "not checked"]


class Check(Frozen):
    """One law held against one row, or against a whole file."""

    law: str
    outcome: Outcome
    text: str
    row: str | None = None
    line: int | None = None

    def at(self, row: str | None, line: int | None) -> Check:
        """Return the same check with the row that it speaks of."""
        return self.model_copy(update={"row": row, "line": line})


class Audited(Frozen):
    """One file. ``kind``: what was found in it, in words."""

    path: Path
    kind: str
    rows: int
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    def of(self, outcome: Outcome) -> tuple[Check, ...]:
        """Return the checks with one outcome, in the order of the file."""
        return tuple(check for check in self.checks if check.outcome == outcome)

    def as_json(self) -> dict[str, Any]:
        """The file as a program reads it."""
        plain = self.model_dump(mode="json", exclude={"path"})
        return {"path": str(self.path), **plain}


def n_contradictions(files: Sequence[Audited]) -> int:
    """Return how many checks of all files found a contradiction."""
    return sum(len(file.of("contradiction")) for file in files)
