# SPDX-License-Identifier: Apache-2.0
"""``rematch measure --known-cell``: the same short cell before and after a session, against its history here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.cli.lines import wrapped
from harness.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from harness.evidence.known_cell import CellValues, Drift

#: Of the cell and of the passports that are its history.
PROFILE = "quick"


def refuse_elsewhere(host: str) -> None:
    """Refuse a cell of another machine than this one.

    Raises:
        InputError: the services run elsewhere.
    """
    if host != "local":
        raise InputError(
            "the known cell is one of this machine", place="--known-cell", found=host, allowed="local"
        )


@contextmanager
def known_cells(root: Path, *, silent: bool, profile: str = PROFILE) -> Iterator[None]:
    """Measure the known cell before and after what is done meanwhile, and say of both whether they are as before.

    Where what is done in between fails or is interrupted, the second cell is not measured.
    """
    from harness.cli.passport import measure_whole
    from harness.evidence.known_cell import EXPERIMENT

    history = cells(root, profile)
    mine = {"before": measure_whole(root, EXPERIMENT, profile, silent=silent).key}
    yield
    mine["after"] = measure_whole(root, EXPERIMENT, profile, silent=silent).key
    measured = {one.session: one for one in cells(root, profile)}
    for when, key in mine.items():
        for line in words_of(measured[key], history, when):
            print(wrapped(line), file=sys.stderr)


def cells(root: Path, profile: str) -> list[CellValues]:
    """Return the known cells of whole sessions that were measured here, those of passports among them."""
    from harness.cli.passport import kept_evidence
    from harness.evidence.known_cell import EXPERIMENT, cell_values
    from harness.evidence.passport import EXPERIMENT as PASSPORT

    found = []
    for experiment in (EXPERIMENT, PASSPORT):
        try:
            found += [
                cell_values(one) for one in kept_evidence(root, experiment, profile, "rematch passport")
            ]
        except InputError:  # none yet
            continue
    return found


def words_of(now: CellValues, history: list[CellValues], when: str) -> list[str]:
    """Return what is said of the cell of a session: one line a metric."""
    from harness.evidence.known_cell import FEWEST, against_history

    found = against_history(now, history)
    if not found:
        return [f"known cell {when}: nothing earlier of this machine to compare with"]
    return [_line(one, when, FEWEST) for one in found]


def _line(one: Drift, when: str, fewest: int) -> str:
    from harness.model.digits import plain

    said = f"known cell {when}: {one.words} {plain(one.ratio, 3)} times that of {one.n_earlier} earlier"
    if one.low is None or one.high is None:
        return f"{said}; too few to judge by ({fewest} are needed)"
    between = f"{plain(one.low, 3)} to {plain(one.high, 3)}"
    return f"{said}; {'NOT as before' if one.unusual else 'as before'} ({between} is usual)"
