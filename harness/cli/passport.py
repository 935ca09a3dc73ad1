# SPDX-License-Identifier: Apache-2.0
"""``rematch passport``: a self-test of two minutes that says which ratios this machine can tell."""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.cli.lines import wrapped
from harness.project import find_root

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis.stats.detectable import Detectable
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
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Run a self-test: which ratios can sessions on this machine tell from 1?

    One Go service runs twice in each block, in fresh processes. The spread
    between the two gives the smallest ratio that 5, 10 and 20 blocks find in 80 % of
    sessions, for each metric, with and without blocks.

    The session is kept (data/raw/passport) and compared with earlier ones of the
    same machine: has it become noisier?

    Examples:

        rematch passport

        rematch passport --last --json
    """
    from harness.evidence.passport import changes

    root = find_root()
    if not last:
        _measure(root, profile, silent=as_json)
    newest, *earlier = _passports(root, profile)
    found = changes(newest, earlier)
    if as_json:
        plain = newest.model_dump(mode="json")
        plain["changes"] = [one.model_dump(mode="json") | {"changed": one.changed} for one in found]
        print(json.dumps(plain, indent=1, allow_nan=False))
        return
    _print(newest, found)


def _measure(root: Path, profile: str, *, silent: bool) -> SessionFolder:
    from harness.evidence.passport import EXPERIMENT
    from harness.session import Interrupted, Silent, assemble, measure, prepare, suitable_progress

    assembly = assemble(root, host="local", load_host=None, database_host=None, launcher="process")
    with contextlib.closing(assembly):
        prepared = prepare(assembly, EXPERIMENT, profile=profile, host="local", seed=1, launcher="process")
        try:
            progress = Silent() if silent else suitable_progress()
            return measure(assembly, prepared, progress=progress, new=True)
        except Interrupted as stop:
            print(f"rematch: stopped by {stop}; a passport is of whole sessions only", file=sys.stderr)
            raise typer.Exit(stop.exit_code) from None


def _passports(root: Path, profile: str) -> list[Passport]:
    """Return the passports of this machine, the newest first.

    Raises:
        InputError: there is none yet.
    """
    from harness.analysis.tables.tidy import tidy
    from harness.errors import InputError
    from harness.evidence import Evidence
    from harness.evidence.passport import EXPERIMENT, passport_of
    from harness.store import Store

    sessions = [
        one
        for one in Store(root).sessions(EXPERIMENT, bundled=False)
        if one.complete and one.header.plan.profile == profile
    ]
    if not sessions:
        raise InputError(
            "no passport yet", place="--last", found=f"no session of profile {profile}",
            allowed="measure one: rematch passport",
        )  # fmt: skip
    tidy(root, [EXPERIMENT])
    found = [passport_of(Evidence(root=root, experiment=EXPERIMENT, sessions=(one,))) for one in sessions]
    return sorted(found, key=lambda one: -one.started_epoch_s)


def _print(passport: Passport, found: tuple[Change, ...]) -> None:
    from harness.model.digits import percent, plain

    began = datetime.fromtimestamp(passport.started_epoch_s, UTC)
    print(wrapped(f"{passport.session}, {began:%Y-%m-%d %H:%M} UTC, {passport.machine}"))
    print(wrapped("Smallest difference that a session finds in 80 % of cases, between settled Go processes:"))
    blocks = [one.n_blocks for one in passport.lines[0].blocked] if passport.lines else []
    head = "".join(f"{f'{n} blocks':>11}" for n in blocks)
    print(f"\n{'':<28}{'spread':>9}{head}")
    for line in passport.lines:
        spread = "–" if line.sd_log_ratio is None else percent(line.sd_log_ratio)
        print(f"{line.words:<28.28}{spread:>9}{_cells(line.blocked)}")
        print(f"{'  blocks not used':<28}{'':>9}{_cells(line.unpaired)}")
    print()
    if not found:
        print("No earlier passport of this machine and profile to compare with.")
    for one in found:
        way = "noisier" if one.ratio > 1 else "quieter"
        said = f"{way} than in {one.earlier}" if one.changed else f"as in {one.earlier}"
        print(
            wrapped(
                f"{one.words}: {said}; spread now over then {plain(one.ratio, 2)}, p {plain(one.p_value, 2)}"
            )
        )


def _cells(smallest: tuple[Detectable, ...]) -> str:
    from harness.model.digits import percent

    return "".join(
        f"{'–' if one.ratio.value is None else percent(one.ratio.value - 1):>11}" for one in smallest
    )
