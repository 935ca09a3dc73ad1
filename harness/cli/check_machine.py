# SPDX-License-Identifier: Apache-2.0
"""Passports of this machine: measured, read, compared, and printed."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path

from harness.analysis.evidence.opening import tidied
from harness.analysis.evidence.passport import EXPERIMENT, Change, Passport, changes, passport_of
from harness.cli.measure import measure_anew, stopping
from harness.cli.options import say
from harness.errors import InputError
from harness.measure.session import assemble
from harness.model.digits import percent, plain
from harness.project import find_root
from harness.store import Store

PROFILE = "quick"


def check_machine(*, last: bool, as_json: bool) -> None:
    """Measure a passport unless the last one is asked for, and print it with what changed since the one before."""
    root = find_root()
    if not last:
        # half a session says nothing of a machine
        with stopping("a passport is of whole sessions only"), contextlib.closing(assemble(root)) as assembly:
            measure_anew(assembly, EXPERIMENT, PROFILE, silent=as_json)
    newest, *earlier = _passports(root)
    compared = changes(newest, earlier)
    if as_json:
        plain_changes = [item.model_dump(mode="json") | {"changed": item.changed} for item in compared]
        values = newest.model_dump(mode="json") | {"changes": plain_changes}
        print(json.dumps(values, indent=1, allow_nan=False))
    else:
        _print(newest, compared)


def _passports(root: Path) -> list[Passport]:
    """Those of the whole sessions that were measured here, the newest first."""
    sessions = [
        session
        for session in Store(root).sessions(EXPERIMENT, bundled=False)
        if session.complete and session.header.plan.profile == PROFILE
    ]
    if not sessions:
        raise InputError(
            "no passport yet", place="--last", found=f"no session of profile {PROFILE}",
            allowed="measure one: rematch check --machine",
        )  # fmt: skip
    passports = (passport_of(tidied(root, session)) for session in sessions)
    return sorted(passports, key=lambda passport: -passport.started_epoch_s)


def _print(passport: Passport, compared: tuple[Change, ...]) -> None:
    began = datetime.fromtimestamp(passport.started_epoch_s, UTC)
    say(f"{passport.session}, {began:%Y-%m-%d %H:%M} UTC, {passport.machine}")
    say("Smallest difference that a session finds in 80 % of cases, between settled Go processes:")
    blocks = [item.n_blocks for item in passport.lines[0].blocked] if passport.lines else []
    head = "".join(f"{f'{n} blocks':>11}" for n in blocks)
    print(f"\n{'':<28}{'spread':>9}{head}")
    for line in passport.lines:
        spread = "–" if line.sd_log_ratio is None else percent(line.sd_log_ratio)
        ratios = (item.ratio.value for item in line.blocked)
        cells = "".join(f"{'–' if ratio is None else percent(ratio - 1):>11}" for ratio in ratios)
        print(f"{line.words:<28.28}{spread:>9}{cells}")
    print()
    if not compared:
        print("No earlier passport of this machine and profile to compare with.")
    for item in compared:
        way = "noisier" if item.ratio > 1 else "quieter"
        text = f"{way} than in {item.earlier}" if item.changed else f"as in {item.earlier}"
        say(f"{item.words}: {text}; spread now over then {plain(item.ratio, 2)}, p {plain(item.p_value, 2)}")
