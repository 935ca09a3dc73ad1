# SPDX-License-Identifier: Apache-2.0
"""Which of the rows that a test of a claim names judges it, and its published number.

A row that can judge comes before one that cannot; then in this order: warm processes before young ones (where the claim
speaks of warm services a young one never counts), trials that speak of the services before those that something else
bounded, more blocks, a commit that this repository has, the newer session, and the ledger's own order.

Beside the columns of :mod:`harness.rows.limits` a row has its ``filter`` and what :func:`_of_session` says of its
session: ``session``, ``machine``, ``n_cpus``, ``connections``, ``known``, ``begun_epoch_s``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.opening import tidied
from harness.analysis.evidence.sessions import newest_session
from harness.definitions.claims import PUBLISHED
from harness.errors import InputError
from harness.model import ClosedLoad
from harness.model.age import YOUNG
from harness.model.claim import Cell, ClaimTest, PublishedNumber, RowFilter
from harness.project import has_commit
from harness.rows import Session
from harness.rows.limits import row_of

Row = Mapping[str, Any]
#: Experiment -> its session.
Sessions = Mapping[str, Session]
#: Rows of a test: of today's programs, or of the source's, by its method or by ours.
Axis = Literal["rows", "then", "then_ours"]
AXES: tuple[Axis, ...] = ("rows", "then", "then_ours")
#: Checks that everything works; nothing is concluded from it.
SMOKE = "smoke"


class Candidate(NamedTuple):
    """A row that a test names; ``None``: there is none. ``why`` it does not judge."""

    filter: RowFilter
    row: Row | None
    why: str


class Choice(NamedTuple):
    """What judges a number, or why nothing does; ``passed_over``: the others, in the ledger's order."""

    row: Row | None
    why: str = ""
    passed_over: tuple[Candidate, ...] = ()


def newest_sessions(root: Path, names: Iterable[str], *, bundled_only: bool = False) -> dict[str, Session]:
    """Open of each experiment the newest complete session measured here, else the newest bundled one; none of the
    profile ``smoke``. Tables are brought up to date first. ``bundled_only``: leave out what was measured here."""
    opened = {}
    for name in names:
        folder = None if bundled_only else newest_session(root, name, without=SMOKE)
        folder = folder or newest_session(root, name, bundled=True, without=SMOKE)
        if folder is not None:
            opened[name] = Session(root=root, experiment=name, evidence=tidied(root, folder))
    return opened


def choose(test: ClaimTest, sessions: Sessions, axis: Axis = "rows") -> Choice:
    """Return the row that judges a test, and what was passed over for it.

    By its source's method nothing is asked of ages and bounds: they are part of the method. Of programs of its time
    there are few sessions, so trials that a neighbour slowed count there, at the usual speed.
    """
    if axis == "rows" and test.missing is not None:
        return Choice(None, test.missing)
    filters: tuple[RowFilter, ...] = getattr(test, axis)
    named = [_candidate(test, wanted, sessions, axis) for wanted in filters]
    usable = {place: named[place].row or {} for place in range(len(named)) if not named[place].why}
    if not usable:
        whys = dict.fromkeys(candidate.why for candidate in named)
        return Choice(None, "; ".join(whys), tuple(each for each in named if each.row is not None))
    best = max(usable, key=lambda place: (*_rank(usable[place]), -place))
    passed = (
        named[place]._replace(why=_behind(usable[place], usable[best])) if place in usable else named[place]
        for place in range(len(named))
        if place != best
    )
    return Choice(usable[best], "", tuple(passed))


def _candidate(test: ClaimTest, wanted: RowFilter, sessions: Sessions, axis: Axis) -> Candidate:
    session = sessions.get(wanted.experiment)
    if session is None or session.evidence is None or session.evidence.profile == SMOKE:
        return Candidate(wanted, None, f"no session of {wanted.experiment}")
    evidence = session.evidence
    origin = evidence.once(("origin",), lambda: _of_session(evidence))
    load = f"connections at once or more, the load of {wanted.experiment}"
    needs = {"n_cpus": test.needs_cpus, "connections": test.needs_connections}
    for (name, need), what in zip(needs.items(), ("CPUs or more, the machine", load), strict=True):
        if need is not None and origin[name] < need:
            return Candidate(wanted, None, f"speaks of {need} {what} has {origin[name]}")
    by_our_method = axis != "then"
    row = row_of(
        session, wanted, limit=test.predicate.limit, margin=test.predicate.margin,
        bounded=by_our_method and test.subject == "services", slowed=axis != "rows",
    )  # fmt: skip
    if isinstance(row, str):
        return Candidate(wanted, None, row)
    why = ""
    if by_our_method and test.age == "warm" and not row["warm"]:
        age = YOUNG if row["young"] else "of unknown age"
        why = f"speaks of warm services, the processes of {wanted.experiment} are {age}"
    return Candidate(wanted, row | origin | {"filter": wanted}, why)


def _of_session(evidence: Evidence) -> dict[str, Any]:
    """Return what tells a session from others; ``connections``: the most at once of its loads."""
    provenance, n_cpus = evidence.header.provenance, evidence.machine.n_cpus
    loads = [trial.configuration.load for trial in evidence.header.plan.trials]
    profiles = [load.profile for load in loads if load]
    users = [each.users if isinstance(each, ClosedLoad) else each.connections for each in profiles]
    return {
        "session": evidence.sessions[0].key,
        "machine": f"{n_cpus} {'CPU' if n_cpus == 1 else 'CPUs'}, {evidence.machine.cpu_model}",
        "n_cpus": n_cpus,
        "connections": max(users, default=0),
        "known": not provenance.commit or has_commit(evidence.root, provenance.commit) is not False,
        "begun_epoch_s": provenance.started_epoch_s,
    }


def _rank(row: Row) -> tuple[bool, bool, int, bool, float]:
    """Return what rows are ordered by, the greater the better."""
    return not row["young"], row["says"] != "refused", row["n_used"], row["known"], row["begun_epoch_s"]


def _behind(row: Row, best: Row) -> str:
    """Return why a row is behind the best, by the first that tells them apart."""
    blocks = f"fewer blocks ({row['n_used']} against {best['n_used']})"
    commit = "of a commit that is not in this repository"
    reasons = ("young processes", str(row["why"]), blocks, commit, "an older session")
    apart = zip(reasons, _rank(row), _rank(best), strict=True)
    return next((reason for reason, own, better in apart if own != better), "listed behind it")


@dataclass(frozen=True)
class PublishedTables:
    """Numbers of ``data/published`` below ``root``: a cell, the ratio of two, or how often one row is the highest."""

    root: Path
    _read: dict[str, pd.DataFrame] = field(default_factory=dict)

    def value(self, number: PublishedNumber) -> float:
        """Return the number, in the table's unit times ``factor``; a ratio has no unit.

        Raises:
            InputError: no such table or column, a value that is no number, or other than one cell where one is meant.
        """
        if number.pick == "wins":
            frame = self._frame(number.file, (number.column, *number.of, *number.by))
            best = frame.loc[frame.groupby(list(number.by), sort=False)[number.column].idxmax()]
            return float(_matching(best, number.of).sum())
        values = self._cells(number, number.of, number.column)
        if number.is_ratio:
            base = self._cells(number, number.over or number.of, number.over_column or number.column)
            values = (values / base).dropna()
        _one_or_some(number, number.of, len(values))
        return number.factor * float(values.min() if number.pick == "least" else values.max())

    def _cells(self, number: PublishedNumber, cell: Cell, column: str) -> pd.Series[float]:
        """Return the values of one side, by what pairs them with the other."""
        frame = self._frame(number.file, (column, *cell, *number.by))
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise _error(number, f"{column} is no column of numbers", cell)
        rows = frame[_matching(frame, cell) & frame[column].notna()]
        _one_or_some(number, cell, len(rows))
        index = list(number.by)
        return rows.set_index(index)[column] if index else rows[column].reset_index(drop=True)

    def _frame(self, file: str, columns: tuple[str, ...]) -> pd.DataFrame:
        name = f"{file}.csv"
        if file not in self._read:
            try:
                self._read[file] = pd.read_csv(self.root / PUBLISHED / name, comment="#")
            except (OSError, ValueError) as error:
                raise InputError(f"cannot be read ({error})", file=PUBLISHED / name) from None
        frame = self._read[file]
        for column in columns:
            if column not in frame:
                allowed = ", ".join(map(str, frame.columns))
                raise InputError("no such column", file=PUBLISHED / name, found=column, allowed=allowed)
        return frame


def _matching(frame: pd.DataFrame, cell: Cell) -> pd.Series[bool]:
    chosen = pd.Series(data=True, index=frame.index)
    for column, value in cell.items():
        chosen &= frame[column].astype(str) == str(value)
    return chosen


def _one_or_some(number: PublishedNumber, cell: Cell, n: int) -> None:
    """Refuse other than one cell where one is meant, and none at all."""
    if n == 0 or (number.pick == "only" and n != 1):
        raise _error(number, f"{n} cells, {'one is' if number.pick == 'only' else 'some are'} meant", cell)


def _error(number: PublishedNumber, problem: str, cell: Cell) -> InputError:
    place = ", ".join(f"{column}={value}" for column, value in cell.items())
    return InputError(problem, file=PUBLISHED / f"{number.file}.csv", found=place or "all rows")
