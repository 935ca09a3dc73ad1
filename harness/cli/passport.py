# SPDX-License-Identifier: Apache-2.0
"""``rematch passport``: a self-test of two minutes that says which ratios this machine can tell."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.cli.lines import complain, say
from harness.project import find_root

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis.stats.sample_size import Detectable
    from harness.evidence import Evidence
    from harness.evidence.passport import Change, Designs, Passport
    from harness.store import SessionFolder


def passport_command(
    profile: Annotated[
        str,
        typer.Option(
            help="quick: two minutes; full: a quarter of an hour; smoke: a test run",
            autocompletion=completion.profiles,
        ),
    ] = "quick",
    last: Annotated[bool, typer.Option("--last", help="print the newest passport; measure nothing")] = False,
    duet: Annotated[
        bool,
        typer.Option("--duet", help="also measure the pairs side by side, and tell which design is better"),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Run a self-test: which ratios can sessions on this machine tell from 1?

    One Go service runs twice in each block, in fresh processes. The spread
    between the two gives the smallest ratio that 5, 10 and 20 blocks find in 80 % of
    sessions, for each metric, with and without blocks.

    The session is kept (data/raw/passport) and compared with earlier ones of the
    same machine: has it become noisier?

    With --duet the same pairs run side by side as well, a minute more. From both
    follows how wide the intervals of half an hour would be by each design, and
    whether a duet gains anything here.

    \b
    Examples:
        rematch passport
        rematch passport --duet
        rematch passport --last --json
    """
    from harness.evidence.passport import DUET, EXPERIMENT

    root = find_root()
    names = (EXPERIMENT, DUET) if duet else (EXPERIMENT,)
    for experiment in () if last else names:
        measure_whole(root, experiment, profile, silent=as_json)
    results = {name: _passports(root, name, profile) for name in names}
    newest, result = results[EXPERIMENT][0][1], _changes(results[EXPERIMENT])
    designs = _designs(results[EXPERIMENT][0], results[DUET][0]) if duet else None
    beside = _changes(results[DUET]) if duet else ()
    if as_json:
        plain = newest.model_dump(mode="json")
        plain["changes"] = [item.model_dump(mode="json") | {"changed": item.changed} for item in result]
        if designs is not None:
            reported = [item.model_dump(mode="json") | {"changed": item.changed} for item in beside]
            plain["duet_changes"] = reported
            plain["designs"] = designs.model_dump(mode="json") | {"recommended": designs.recommended}
        print(json.dumps(plain, indent=1, allow_nan=False))
        return
    _print(newest, result)
    if designs is not None:
        _print_designs(designs)
        _print_changes(beside, "side by side: ")


def measure_whole(root: Path, experiment: str, profile: str, *, silent: bool) -> SessionFolder:
    """Measure a new session of an experiment of the machine itself, here; it is kept as any other.

    Raises:
        typer.Exit: it was interrupted: half a session says nothing of a machine.
    """
    from harness.session import Interrupted, Silent, assemble, measure, prepare, suitable_progress

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
    from harness.errors import InputError
    from harness.evidence.opening import tidied
    from harness.evidence.passport import EXPERIMENT, passport_of
    from harness.store import Store

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
    return sorted(
        ((each, passport_of(each)) for each in opened), key=lambda pair: -pair[1].started_epoch_s
    )


def _changes(passports: list[tuple[Evidence, Passport]]) -> tuple[Change, ...]:
    from harness.evidence.passport import changes

    (_, newest), *earlier = passports
    return changes(newest, [passport for _, passport in earlier])


def _designs(alternating: tuple[Evidence, Passport], duet: tuple[Evidence, Passport]) -> Designs:
    from harness.evidence.passport import block_s, compare_designs

    return compare_designs(
        alternating[1],
        duet[1],
        alternating_block_s=block_s(alternating[0]),
        duet_block_s=block_s(duet[0]),
    )


def _print(passport: Passport, result: tuple[Change, ...]) -> None:
    from harness.model.digits import percent

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
    from harness.model.digits import plain

    for item in result:
        way = "noisier" if item.ratio > 1 else "quieter"
        text = f"{way} than in {item.earlier}" if item.changed else f"as in {item.earlier}"
        how = f"spread now over then {plain(item.ratio, 2)}, p {plain(item.p_value, 2)}"
        say(f"{before}{item.words}: {text}; {how}")


def _print_designs(designs: Designs) -> None:
    from harness.model.digits import percent, plain

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
    from harness.model.digits import percent

    return "".join(
        f"{'–' if item.ratio.value is None else percent(item.ratio.value - 1):>11}" for item in smallest
    )
