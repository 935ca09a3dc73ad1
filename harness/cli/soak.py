# SPDX-License-Identifier: Apache-2.0
"""``rematch verify soak``: sessions of very many tiny trials must not grow."""

from __future__ import annotations

import json
import sys
import time

import typer

from harness.errors import InputError
from harness.project import find_root

SOAK = "soak"
#: Trials a session without --sims: as many as eight hours have of a quarter of a minute each.
TRIALS = 2000


def run_soak(
    *, trials: int | None, minutes: float | None, seed: int, host: str | None, write: bool, as_json: bool
) -> None:
    """Run each session and the control, and print their table.

    Exit status 1: one is not flat, or the control does not grow.

    Args:
        trials: of each session. minutes: at most so long a session. host: only the session on this one of ``HOSTS``,
            without the control.
    """
    from harness.provenance import describe_place
    from harness.verify.faults.lacking import Lacking
    from harness.verify.soak.campaign import CONTROL_TRIALS, HOSTS, SESSIONS, soak
    from harness.verify.soak.page import KEPT, SoakCampaign, table
    from harness.verify.stopping import stopping

    if (minutes is not None and not minutes > 0) or (trials is not None and trials < CONTROL_TRIALS):
        raise InputError(
            "too short to see anything", place="--minutes, --sims", allowed=f"{CONTROL_TRIALS} trials or more"
        )
    if host is not None and (host not in HOSTS or write):
        allowed = f"{' or '.join(HOSTS)}, without --write: the table of docs/ has all sessions"
        raise InputError("runs one session alone", place="--host", found=host, allowed=allowed)
    root, began_s = find_root(), time.monotonic()
    longest_s = None if minutes is None else minutes * 60
    wanted = [(name, TRIALS if trials is None else trials, False) for name in SESSIONS]
    if host is None:
        wanted.append((next(iter(SESSIONS)), CONTROL_TRIALS, True))
    else:
        wanted = [one for one in wanted if one[0] == HOSTS[host]]
    ran, lacking = [], []
    with stopping() as stopped:
        for name, n, leaks in wanted:
            if stopped:
                lacking.append(f"{name}{', the control' if leaks else ''}: stopped before")
                continue
            try:
                ran.append(soak(root, name, n, seed=seed, leaks=leaks, seconds=longest_s, say=_say))
            except Lacking as problem:
                lacking.append(f"{name}: {problem}")
            except KeyboardInterrupt:  # while a scene was laid out
                lacking.append(f"{name}: stopped")
    one = SoakCampaign(
        seed=seed,
        place=describe_place(root),
        wall_s=round(time.monotonic() - began_s, 1),
        sessions=tuple(ran),
        lacking=tuple(lacking),
    )
    print(json.dumps(one.model_dump(mode="json"), indent=2) if as_json else table((one,)))
    if write:
        KEPT.write(root, one)
    if not one.holds:
        raise typer.Exit(1)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
