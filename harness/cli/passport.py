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
    from harness.evidence.designs import Designs
    from harness.evidence.passport import Change, Passport
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

    Examples:

        rematch passport

        rematch passport --duet

        rematch passport --last --json
    """
    from harness.evidence.designs import EXPERIMENT as SIDE_BY_SIDE
    from harness.evidence.passport import EXPERIMENT, changes

    root = find_root()
    for experiment in () if last else (EXPERIMENT, SIDE_BY_SIDE) if duet else (EXPERIMENT,):
        measure_whole(root, experiment, profile, silent=as_json)
    (newest, *earlier), designs = _passports(root, profile), _designs(root, profile) if duet else None
    result = changes(newest, earlier)
    beside = _passports(root, profile, SIDE_BY_SIDE) if duet else []
    found_beside = changes(beside[0], beside[1:]) if beside else ()
    if as_json:
        plain = newest.model_dump(mode="json")
        plain["changes"] = [item.model_dump(mode="json") | {"changed": item.changed} for item in result]
        if designs is not None:
            told = [item.model_dump(mode="json") | {"changed": item.changed} for item in found_beside]
            plain["duet_changes"] = told
            plain["designs"] = designs.model_dump(mode="json") | {"recommended": designs.recommended}
        print(json.dumps(plain, indent=1, allow_nan=False))
        return
    _print(newest, result)
    if designs is not None:
        _print_designs(designs)
        _print_changes(found_beside, "side by side: ")


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


def _passports(root: Path, profile: str, experiment: str | None = None) -> list[Passport]:
    """Return the passports of this machine, the newest first; ``experiment``: those of duets.

    Raises:
        InputError: there is none yet.
    """
    from harness.evidence.passport import EXPERIMENT, passport_of

    command = "rematch passport" if experiment is None else "rematch passport --duet"
    results = [passport_of(item) for item in kept_evidence(root, experiment or EXPERIMENT, profile, command)]
    return sorted(results, key=lambda one: -one.started_epoch_s)


def _designs(root: Path, profile: str) -> Designs:
    """Return both designs by the newest session of each.

    Raises:
        InputError: one of them has none yet.
    """
    from harness.evidence.designs import EXPERIMENT as SIDE_BY_SIDE
    from harness.evidence.designs import block_s, compare_designs
    from harness.evidence.passport import EXPERIMENT, passport_of

    def newest(experiment: str) -> Evidence:
        result = kept_evidence(root, experiment, profile, "rematch passport --duet")
        return max(result, key=lambda one: one.header.provenance.started_epoch_s)

    one, other = newest(EXPERIMENT), newest(SIDE_BY_SIDE)
    return compare_designs(
        passport_of(one), passport_of(other), alternating_block_s=block_s(one), duet_block_s=block_s(other)
    )


def kept_evidence(root: Path, experiment: str, profile: str, command: str) -> list[Evidence]:
    """Return each whole session of such an experiment that was measured here, tidied.

    Args:
        command: what measures one.

    Raises:
        InputError: there is none yet.
    """
    from harness.analysis.tables.tidy import tidy
    from harness.errors import InputError
    from harness.evidence import Evidence
    from harness.store import Store

    sessions = [
        session
        for session in Store(root).sessions(experiment, bundled=False)
        if session.complete and session.header.plan.profile == profile
    ]
    if not sessions:
        raise InputError(
            "no passport yet", place="--last", found=f"no session of profile {profile}",
            allowed=f"measure one: {command}",
        )  # fmt: skip
    tidy(root, [experiment])
    return [Evidence(root=root, experiment=experiment, sessions=(session,)) for session in sessions]


def _print(passport: Passport, found: tuple[Change, ...]) -> None:
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
    if not found:
        print("No earlier passport of this machine and profile to compare with.")
    _print_changes(found)


def _print_changes(found: tuple[Change, ...], before: str = "") -> None:
    from harness.model.digits import plain

    for item in found:
        way = "noisier" if item.ratio > 1 else "quieter"
        said = f"{way} than in {item.earlier}" if item.changed else f"as in {item.earlier}"
        how = f"spread now over then {plain(item.ratio, 2)}, p {plain(item.p_value, 2)}"
        say(f"{before}{item.words}: {said}; {how}")


def _print_designs(found: Designs) -> None:
    from harness.model.digits import percent, plain

    print()
    say(
        f"Half of the 95 % interval of a ratio after {plain(found.minutes, 2)} minutes, between settled Go "
        f"processes: {found.n_alternating} blocks of trials one after the other, or {found.n_duet} of duets"
    )
    print(f"\n{'':<28}{'alternating':>13}{'duet':>9}  narrower")
    for line in found.lines:
        cells = ["–" if width is None else percent(width) for width in (line.alternating, line.duet)]
        print(f"{line.words:<28.28}{cells[0]:>13}{cells[1]:>9}  {line.narrower}")
    print()
    if found.recommended == "duet":
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
