# SPDX-License-Identifier: Apache-2.0
"""``verify recorded``: the stalls that a report lists, on real files whose stops are known and no threshold saw.

The files are of ``harness/tests/golden/stops``: JMeter, Locust and k6, by users and by arrivals, against a service that
was stopped and continued at known times, or was not, recorded by :mod:`harness.verify.real.recorder`. What a file is
for follows from its seed, and was fixed before the first one was recorded: odd ones may be used to choose a threshold,
**even ones are kept aside** and are the only ones that this row reads.

Every stall that a report lists and no stop made counts as false here, whoever made it: on a machine with other work the
scheduler makes real ones, and those during which service or generator waited for a CPU are counted in the cell's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.spans import Span
from harness.errors import InputError, RematchError
from harness.model import Frozen
from harness.model.digits import fixed
from harness.project import find_root
from harness.report.analyse import report_file
from harness.verify.machine_load import BUSY_SHARE
from harness.verify.simulated.result import Cell, VerifyResult, frequency, result, share

FOLDER = Path("harness") / "tests" / "golden" / "stops"
TOLERANCE_S = 0.005
#: After a stop its queue drains for so long.
AFTER_S = 0.1
#: Of the control: where no stop was made, between two of them.
ELSEWHERE_S = 1.5
#: Of seconds since 1970, as binary fractions.
_ROUNDING_S = 1e-6
RECALL, FALSE_PER_MINUTE = 0.95, 1.0
#: Kept aside too, but a correction of the search followed from looking at them: later files alone are blind for it.
LOOKED_AT = frozenset({2, 4})


class Recording(Frozen):
    """What is known of one recorded file. Spans are in seconds since 1970, as in the file."""

    file: str
    seed: int = Field(ge=1)
    stops: tuple[Span, ...] = Field(description="from SIGSTOP to SIGCONT; empty: the service was not stopped")
    waits: tuple[Span, ...] = Field(description="service or generator waited for a CPU")
    others_share: float | None = Field(
        description="of all cores' time, used by neither service nor generator; None: the kernel does not tell"
    )
    place: str = Field(description="cores, memory and commit; no name of a machine")

    @property
    def kept_aside(self) -> bool:
        """No threshold may be chosen on this file."""
        return self.seed % 2 == 0

    @property
    def busy(self) -> bool:
        """The machine had other work."""
        return self.others_share is None or self.others_share > BUSY_SHARE

    def write(self, folder: Path) -> None:
        """Write it beside its file."""
        (folder / self.file).with_suffix("").with_suffix(".json").write_text(
            self.model_dump_json() + "\n", "utf-8"
        )


def has_stops(seed: int) -> bool:
    """Whether the service is stopped in the files of a seed: of two that are kept aside one, and of two others."""
    return seed % 4 in (1, 2)


def recordings(folder: Path) -> tuple[Recording, ...]:
    """Return what is known of every recorded file, in the order of their names.

    Raises:
        InputError: one of them is not as it was written.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(Recording.model_validate_json(path.read_text("utf-8")))
        except ValueError as problem:
            raise InputError("not a recording", file=path, found=str(problem).splitlines()[0]) from problem
    return tuple(found)


@dataclass(frozen=True)
class Judged:
    """One file: what its report lists, held against the stops that were made."""

    recording: Recording
    limit_s: float | None
    listed: tuple[Span, ...]
    begin_s: float
    duration_s: float

    @property
    def below(self) -> int:
        """Stalls that are listed although the stated limit excludes them."""
        return sum(
            self.limit_s is None or high - low < self.limit_s - _ROUNDING_S for low, high in self.listed
        )

    @property
    def stops(self) -> tuple[Span, ...]:
        """The stops during the load: a generator may begin late on a busy machine."""
        end_s = self.begin_s + self.duration_s
        return tuple(span for span in self.recording.stops if self.begin_s < span[0] and span[1] < end_s)

    @property
    def visible(self) -> tuple[Span, ...]:
        """Those that the stated limit promises to show."""
        limit_s = float("inf") if self.limit_s is None else self.limit_s
        return tuple(span for span in self.stops if span[1] - span[0] >= limit_s)

    def found(self, later_s: float = 0.0) -> int:
        """How many of the visible stops are listed; ``later_s``: each shifted by so much."""
        stops = [(low + later_s, high + later_s) for low, high in self.visible]
        return len(match_events(self.listed, stops, tolerance_s=TOLERANCE_S).pairs)

    @property
    def false(self) -> tuple[Span, ...]:
        """What is listed and touches no stop and no queue behind one."""
        made = [(low - TOLERANCE_S, high + AFTER_S) for low, high in self.recording.stops]
        return tuple(span for span in self.listed if not _touches(span, made))

    @property
    def explained(self) -> int:
        """Those of the false through half of which service or generator waited for a CPU."""
        return sum(
            sum(max(0.0, min(high, b) - max(low, a)) for a, b in self.recording.waits) >= (high - low) / 2
            for low, high in self.false
        )


def judge(recording: Recording, folder: Path) -> Judged:
    """Read a recorded file as a stranger's would be read.

    Raises:
        InputError: it cannot be read.
    """
    report = report_file(folder / recording.file)
    limit_ms = report.shortest_visible_ms
    return Judged(
        recording=recording,
        limit_s=None if limit_ms is None else limit_ms / 1e3,
        listed=tuple(sorted((stall.start_s, stall.end_s) for stall in report.stalls or ())),
        begin_s=report.start_epoch_s or 0.0,
        duration_s=report.duration_s or 0.0,
    )


def recorded(sims: int, seed: int) -> VerifyResult:
    """Judge the first ``sims`` files that are kept aside. Control: the stops shifted to where none was made.

    Args:
        seed: stands in the result; the files are what they are, and nothing is drawn.

    Raises:
        RematchError: there are no such files.
    """
    folder = find_root() / FOLDER
    aside = [one for one in recordings(folder) if one.kept_aside][:sims]
    if not aside:
        raise RematchError(f"{FOLDER} has no file that is kept aside; record some with --seed 2")
    judged = [judge(one, folder) for one in aside]
    cells: list[Cell] = []
    for words, busy in (("idle", False), ("busy", True)):
        mine = [one for one in judged if one.recording.busy == busy]
        cells += _cells(mine, f"{words} machine") if mine else []
    return result(
        "recorded",
        bar="files kept aside: recall >= .95 of stops of the stated limit or longer, none listed below it, "
        "<= 1 a minute listed that no stop made",
        control="the stops shifted to where none was made are not found",
        cells=cells,
        sims=len(aside),
        seed=seed,
        open_problem=_blind(judged),
    )


def _blind(judged: Sequence[Judged]) -> str:
    """What the files say that were recorded after the last correction, in words."""
    later = [one for one in judged if one.recording.seed not in LOOKED_AT]
    visible, found = sum(len(one.visible) for one in later), sum(one.found() for one in later)
    return (
        f"files of seeds {' and '.join(map(str, sorted(LOOKED_AT)))} led to a correction of where a stall begins; "
        f"of the {len(later)} files recorded after it {found} of {visible} stops were found, and "
        f"{sum(len(one.false) for one in later)} stalls listed without a stop in "
        f"{fixed(sum(one.duration_s for one in later) / 60, 1)} min"
    )


def _cells(files: Sequence[Judged], where: str) -> list[Cell]:
    n_stops = sum(len(one.visible) for one in files)
    n_made = sum(len(one.stops) for one in files)
    false = sum(len(one.false) for one in files)
    explained = sum(one.explained for one in files)
    minutes = sum(one.duration_s for one in files) / 60
    cells = [
        Cell(
            name=f"listed below the stated limit, {where}, {len(files)} files",
            value=sum(one.below for one in files),
            at_most=0,
        ),
        frequency(
            false,
            minutes,
            name=f"listed without a stop, a minute, {where} (n = {false} in {minutes:.1f} min; "
            f"{explained} while service or generator waited for a CPU)",
            at_most=FALSE_PER_MINUTE,
        ),
    ]
    if n_stops:
        found, elsewhere = (sum(one.found(by) for one in files) for by in (0.0, ELSEWHERE_S))
        name = f"stops found, {where}, {n_stops} of {n_made} that reach the stated limit"
        cells += [
            share(n_stops, name=name, value=found / n_stops, at_least=RECALL),
            share(
                n_stops,
                name=f"stops found where none was made, {where}",
                value=elsewhere / n_stops,
                at_most=0.5,
                control=True,
            ),
        ]
    return cells


def _touches(span: Span, others: Sequence[Span]) -> bool:
    return any(low <= span[1] and span[0] <= high for low, high in others)
