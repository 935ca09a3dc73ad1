# SPDX-License-Identifier: Apache-2.0
"""``docs/verify.md``: every row of ``verify`` with its cells, from ``docs/verify.json``, which holds what ran."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import MappingProxyType

from pydantic import Field

from harness.agent.machine_counters import read_machine
from harness.agent.platforms import usable_cpus
from harness.errors import InputError
from harness.model import Frozen
from harness.model.digits import plain
from harness.verify.real.bound import bound
from harness.verify.real.sigstop import sigstop
from harness.verify.simulated import VERIFICATIONS, Verification, run_verify
from harness.verify.simulated.result import Cell, VerifyResult

#: Rows of real processes -> what makes them, and how many stops or trials of each kind there are at most,
#: unless told otherwise: the measuring side makes them, not the analysis.
REAL: Mapping[str, Verification] = MappingProxyType(
    {
        "sigstop": Verification(sigstop, 20),
        "bound": Verification(bound, 40),
    }
)
#: The kernel counts CPU time in hundredths of a second: below this no share can be told.
SHORTEST_SEEN_S = 1.0
#: In the order of the page.
ROWS = (*VERIFICATIONS, *REAL)


class VerifiedRow(Frozen):
    """One row as it ran: what it says, how long it took, and where."""

    result: VerifyResult
    wall_s: float = Field(ge=0)
    others_share: float | None = Field(
        description="of all cores' time, used by others meanwhile; None: too short to tell"
    )
    place: str = Field(description="cores, memory and commit; no date, no name of a machine")


def verify_row(name: str, place: str, *, sims: int | None = None, seed: int = 1) -> VerifiedRow:
    """Run one row and take its time.

    Args:
        name: one of ``ROWS``. place: as ``harness.provenance.describe_place`` says it.
        sims: experiments a cell; ``None``: as many as the bar is meant for.

    Raises:
        InputError: no such row, or too few simulations.
        RematchError: a real service could not be built, or does not answer.
    """
    if name not in ROWS:
        raise InputError("no such verification", place="NAME", found=name, allowed=", ".join((*ROWS, "all")))
    others, began = Others(), time.monotonic()
    real = REAL.get(name)
    result = run_verify(name, sims, seed) if real is None else real.run(sims or real.sims, seed)
    wall_s = time.monotonic() - began
    seen = others.share() if wall_s >= SHORTEST_SEEN_S else None
    return VerifiedRow(result=result, wall_s=wall_s, others_share=seen, place=place)


#: Beyond this share of its CPU time used by others the machine is not idle.
BUSY_SHARE = 0.1


class Others:
    """What others used of the machine since this was made, this process and its ended children left out."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._machine_s, self._own_s = read_machine().total_cpu_s, _own_cpu_s()

    def share(self) -> float | None:
        """Share of all cores' time; ``None``: the kernel does not tell."""
        now_s = read_machine().total_cpu_s
        if now_s is None or self._machine_s is None:
            return None
        used_s = now_s - self._machine_s - (_own_cpu_s() - self._own_s)
        lasted_s = max(time.monotonic() - self._began, 1e-9)
        return max(0.0, used_s / lasted_s / len(usable_cpus()))


def words(share: float | None) -> str:
    """The share in a sentence."""
    return f"others used {'an unknown share' if share is None else format(share, '.0%')} of the machine meanwhile"


def judge(limit: float, values: Sequence[float], share: float | None) -> bool | None:
    """Judge what must not be more than ``limit``; a miss beside others' work is ``None``, cannot say."""
    verdict = at_most(limit, values)
    if verdict is False and (share is None or share > BUSY_SHARE):
        return None
    return verdict


def _own_cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def at_most(limit: float, values: Sequence[float]) -> bool | None:
    """Judge repetitions against an upper limit: the median keeps it, none does, or it cannot be told."""
    if median(values) <= limit:
        return True
    return False if min(values) > limit else None


PAGE = Path("docs") / "verify.md"
RECORD = Path("docs") / "verify.json"
#: The whole table, at the simulations its bars are meant for, on two cores.
LIMIT_S = 20 * 60.0
HEAD = "\n".join(
    (
        "# Validation of the statistics",
        "",
        "Written by `python -m harness verify all --write`; do not edit.",
        "Each row simulates experiments with a known truth, applies the method of the analysis, and compares the "
        "result with a limit that was set before.",
        "A *control* is a method, or an order of trials, that must fail in the same simulation: where it passes, the "
        "simulation could not have failed either, and the row does not hold.",
        "The interval is the 95 % interval of the simulation, due to its number of experiments.",
        "It is Wilson's for shares (for an F1: of the share of all true or found events that are both), "
        "Poisson's for events per minute or per series, Student's for means; a largest error and a median have none.",
        "While a limit lies inside the interval of a cell, its row is simulated in further rounds with other random "
        "numbers, at most four; where it still does, the cell is *undecided*.",
        "A row holds while none of its cells misses a limit by more than its interval leaves open; an undecided cell "
        "neither holds nor fails.",
        "",
    )
)


def write_page(root: Path, rows: Iterable[VerifiedRow]) -> Path:
    """Put the rows into record and page; rows that did not run now stay as they are."""
    held = {row.result.name: row for row in read_record(root)} | {row.result.name: row for row in rows}
    ordered = [held[name] for name in ROWS if name in held]
    record = root / RECORD
    record.parent.mkdir(exist_ok=True)
    # computed fields stay out: reading computes them again
    plain = [row.model_dump(mode="json", round_trip=True) for row in ordered]
    record.write_text(json.dumps(plain, indent=1) + "\n", "utf-8")
    (root / PAGE).write_text(render(ordered), "utf-8")
    return root / PAGE


def read_record(root: Path) -> list[VerifiedRow]:
    """Return the rows that the page was made from; none where there is no record yet."""
    path = root / RECORD
    if not path.is_file():
        return []
    return [
        VerifiedRow.model_validate_json(json.dumps(plain)) for plain in json.loads(path.read_text("utf-8"))
    ]


def render(rows: Sequence[VerifiedRow]) -> str:
    """Return the page: the table of all rows, then one section a row."""
    return "\n".join([HEAD, overview(rows), *(section(row) for row in rows)])


def overview(rows: Sequence[VerifiedRow]) -> str:
    """Return one line a row, and what the whole table took."""
    lines = [
        "| row | bar | | cells that hold | simulations a cell | seed | time |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        result = row.result
        n_barred = sum(c.barred for c in result.cells)
        n_open = len(result.undecided)
        n_held = sum(c.holds and not c.close for c in result.cells if c.barred)
        lines.append(
            f"| [{result.name}](#{result.name}) | {result.bar} | {'holds' if result.holds else 'DOES NOT HOLD'} "
            f"| {n_held} of {n_barred}{f', {n_open} undecided' if n_open else ''} | {_sims(result)} | {result.seed} "
            f"| {row.wall_s:.1f} s |"
        )
    return "\n".join([*lines, "", total_words(rows)]) + "\n"


def total_words(rows: Sequence[VerifiedRow]) -> str:
    """The time of all rows together, held against its limit; rows that are missing are named."""
    total_s = sum(row.wall_s for row in rows)
    missing = [name for name in ROWS if name not in {row.result.name for row in rows}]
    if missing:
        return f"The rows above took {total_s / 60:.1f} min; not run yet: {', '.join(missing)}."
    seen = [(row.others_share, row.wall_s) for row in rows if row.others_share is not None]
    seen_s = sum(wall_s for _, wall_s in seen)
    share = sum(item * wall_s for item, wall_s in seen) / seen_s if seen_s else None
    verdict = {True: "holds", False: "DOES NOT HOLD", None: "cannot say, others used the machine"}[
        judge(LIMIT_S, [total_s], share)
    ]
    places = tuple(dict.fromkeys(row.place for row in rows))
    where = (
        f"on {places[0]}"
        if len(places) == 1
        else "not all on the same day; each section names machine and commit"
    )
    return (
        f"The whole table took {total_s / 60:.1f} min, one row after the other (limit: {LIMIT_S / 60:.0f} min on "
        f"two cores: {verdict}), {where}."
    )


def section(row: VerifiedRow) -> str:
    """Return one row: its bar, its control and every cell."""
    result = row.result
    lines = [f"## {result.name}", "", f"Bar: {result.bar}.", f"Control: {result.control}.", ""]
    lines += ["| cell | value | 95 % interval | limits | |", "|---|--:|---|---|---|"]
    lines += ["| " + " | ".join(cells(cell)) + " |" for cell in result.cells]
    others = "" if row.others_share is None else f"; {words(row.others_share)}"
    lines += ["", *([f"- Open problem: {result.open_problem}"] if result.open_problem else [])]
    lines += [
        f"- {_sims(result)} simulations a cell, seed {result.seed}, {row.wall_s:.1f} s{others}",
        f"- {row.place}",
    ]
    return "\n".join(lines) + "\n"


def _sims(found: VerifyResult) -> str:
    return f"{found.sims:,}" if found.rounds == 1 else f"{found.rounds} × {found.sims:,}"


def cells(cell: Cell) -> tuple[str, str, str, str, str]:
    """Return a cell as text: name, value, interval, limits, verdict."""
    interval = "" if cell.low is None or cell.high is None else f"{number(cell.low)} to {number(cell.high)}"
    return (
        f"{cell.name}{' (control)' if cell.control else ''}".replace("|", "\\|"),
        number(cell.value),
        interval,
        limits(cell),
        verdict(cell),
    )


def limits(cell: Cell) -> str:
    """The limits of a cell in words; empty without one."""
    low = "" if cell.at_least is None else f">= {cell.at_least:g}"
    high = "" if cell.at_most is None else f"<= {cell.at_most:g}"
    return ", ".join(filter(None, (low, high)))


def verdict(cell: Cell) -> str:
    """Whether a cell holds; undecided: its limit lies within what the simulations leave open."""
    if not cell.barred:
        return "no bar"
    if cell.close:
        return "undecided"
    return "holds" if cell.holds else "DOES NOT HOLD"


def number(value: float | None) -> str:
    """Three digits that count; ``unknown`` for ``None``."""
    if value is None:
        return "unknown"
    return plain(value)
