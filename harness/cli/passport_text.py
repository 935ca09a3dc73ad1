# SPDX-License-Identifier: Apache-2.0
"""Passports of this machine: measured, read, compared, and printed."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path

import typer

from harness.analysis.stats.sample_size import Detectable
from harness.cli.lines import complain, say
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.opening import tidied
from harness.evidence.passport import (
    DUET,
    EXPERIMENT,
    Change,
    Designs,
    Passport,
    block_s,
    changes,
    compare_designs,
    passport_of,
)
from harness.model.digits import percent, plain
from harness.session import Interrupted, Silent, assemble, measure, prepare, suitable_progress
from harness.store import SessionFolder, Store


def show(root: Path, profile: str, *, last: bool, duet: bool, as_json: bool) -> None:
    """Measure a passport unless the last one is asked for, and print it with what changed since the one before.

    Raises:
        InputError: there is none. typer.Exit: measuring was interrupted.
    """
    names = (EXPERIMENT, DUET) if duet else (EXPERIMENT,)
    for experiment in () if last else names:
        measure_whole(root, experiment, profile, silent=as_json)
    kinds = [_passports(root, name, profile) for name in names]
    compared = [changes(own[0][1], [earlier for _, earlier in own[1:]]) for own in kinds]
    newest, designs = kinds[0][0][1], None
    if duet:
        alternating, beside = kinds[0][0][0], kinds[1][0][0]
        designs = compare_designs(
            newest, kinds[1][0][1], alternating_block_s=block_s(alternating), duet_block_s=block_s(beside)
        )
    if as_json:
        reported = [
            [item.model_dump(mode="json") | {"changed": item.changed} for item in own] for own in compared
        ]
        values = newest.model_dump(mode="json") | {"changes": reported[0]}
        if designs is not None:
            values["duet_changes"] = reported[1]
            values["designs"] = designs.model_dump(mode="json") | {"recommended": designs.recommended}
        print(json.dumps(values, indent=1, allow_nan=False))
        return
    _print(newest, compared[0])
    if designs is not None:
        _print_designs(designs)
        _print_changes(compared[1], "side by side: ")


def measure_whole(root: Path, experiment: str, profile: str, *, silent: bool) -> SessionFolder:
    """Measure a new session of an experiment of the machine itself, here; it is kept as any other.

    Raises:
        typer.Exit: it was interrupted: half a session says nothing of a machine.
    """
    assembly = assemble(root, host="local", load_host=None, database_host=None, launcher="process")
    with contextlib.closing(assembly):
        prepared = prepare(assembly, experiment, profile=profile, host="local", seed=1, launcher="process")
        try:
            progress = Silent() if silent else suitable_progress()
            return measure(assembly, prepared, progress=progress, new=True)
        except Interrupted as stop:
            complain(f"rematch: stopped by {stop}; a passport is of whole sessions only")
            raise typer.Exit(stop.exit_code) from None


def _passports(root: Path, experiment: str, profile: str) -> list[tuple[Evidence, Passport]]:
    """Return each whole session of the experiment that was measured here with its passport, the newest first.

    Raises:
        InputError: there is none yet.
    """
    sessions = [
        session
        for session in Store(root).sessions(experiment, bundled=False)
        if session.complete and session.header.plan.profile == profile
    ]
    if not sessions:
        raise InputError(
            "no passport yet", place="--last", found=f"no session of profile {profile}",
            allowed=f"measure one: rematch passport{'' if experiment == EXPERIMENT else ' --duet'}",
        )  # fmt: skip
    opened = [tidied(root, session) for session in sessions]
    return sorted(((each, passport_of(each)) for each in opened), key=lambda pair: -pair[1].started_epoch_s)


def _print(passport: Passport, result: tuple[Change, ...]) -> None:
    began = datetime.fromtimestamp(passport.started_epoch_s, UTC)
    say(f"{passport.session}, {began:%Y-%m-%d %H:%M} UTC, {passport.machine}")
    say("Smallest difference that a session finds in 80 % of cases, between settled Go processes:")
    blocks = [item.n_blocks for item in passport.lines[0].blocked] if passport.lines else []
    head = "".join(f"{f'{n} blocks':>11}" for n in blocks)
    print(f"\n{'':<28}{'spread':>9}{head}")
    for line in passport.lines:
        spread = "–" if line.sd_log_ratio is None else percent(line.sd_log_ratio)
        print(f"{line.words:<28.28}{spread:>9}{_cells(line.blocked)}")
        print(f"{'  blocks not used':<28}{'':>9}{_cells(line.unpaired)}")
    print()
    if not result:
        print("No earlier passport of this machine and profile to compare with.")
    _print_changes(result)


def _print_changes(result: tuple[Change, ...], before: str = "") -> None:
    for item in result:
        way = "noisier" if item.ratio > 1 else "quieter"
        text = f"{way} than in {item.earlier}" if item.changed else f"as in {item.earlier}"
        how = f"spread now over then {plain(item.ratio, 2)}, p {plain(item.p_value, 2)}"
        say(f"{before}{item.words}: {text}; {how}")


def _print_designs(designs: Designs) -> None:
    print()
    say(
        f"Half of the 95 % interval of a ratio after {plain(designs.minutes, 2)} minutes, between settled Go "
        f"processes: {designs.n_alternating} blocks of trials one after the other, or {designs.n_duet} of duets"
    )
    print(f"\n{'':<28}{'alternating':>13}{'duet':>9}  narrower")
    for line in designs.lines:
        cells = ["–" if width is None else percent(width) for width in (line.alternating, line.duet)]
        print(f"{line.words:<28.28}{cells[0]:>13}{cells[1]:>9}  {line.narrower}")
    print()
    if designs.recommended == "duet":
        say('Here a duet tells more in the same minutes: design = "duet" (docs/duet.md).')
        say("Fresh JVMs gain less, because what varies is their own. Each ratio is then one for half of the "
                      "cores for service and generator, both under contention by the other arm.")  # fmt: skip
    else:
        say("A duet gains nothing that this pilot could show: leave the design as it is.")


def _cells(smallest: tuple[Detectable, ...]) -> str:
    return "".join(
        f"{'–' if item.ratio.value is None else percent(item.ratio.value - 1):>11}" for item in smallest
    )
