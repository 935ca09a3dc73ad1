# SPDX-License-Identifier: Apache-2.0
"""``rematch verify faults``: sessions of real services with faults at random moments."""

from __future__ import annotations

import itertools
import json
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

import typer

from harness.errors import InputError
from harness.project import find_root

if TYPE_CHECKING:
    from harness.verify.faults.campaign import Campaign
    from harness.verify.faults.plan import Fault

FAULTS = "faults"


def run_faults(
    *,
    number: int | None,
    minutes: float | None,
    seed: int,
    only: int | None,
    write: bool,
    as_json: bool,
    cluster: bool = False,
) -> None:
    """Run a campaign and print its table; exit status 1: a promise was broken.

    Args:
        number: how many faults; ``None`` without ``minutes``: each kind once.
        only: the number of the one fault that is repeated.
        cluster: faults of the cluster that KUBECONFIG names, in place of those of this machine.
    """
    from harness.provenance import describe_place
    from harness.verify.faults.campaign import run
    from harness.verify.faults.page import KEPT, KEPT_CLUSTER, kept, table
    from harness.verify.faults.plan import CLUSTER_KINDS, KINDS, fault, plan

    if (minutes is not None and not minutes > 0) or (number is not None and number < 1):
        raise InputError("nothing to do", place="--minutes, --sims", allowed="more than 0")
    if only is not None and (only < 1 or write or number is not None or minutes is not None):
        raise InputError(
            "repeats one fault of a campaign", place="--only", found=only,
            allowed="a number from 1, without --write, --sims and --minutes",
        )  # fmt: skip
    root, kinds = find_root(), CLUSTER_KINDS if cluster else KINDS
    if only is not None:
        faults: itertools.islice[Fault] = itertools.islice((fault(seed, only, kinds),), 1)
    else:
        n = number if number is not None else None if minutes is not None else len(kinds)
        faults = itertools.islice(plan(seed, kinds), n)
    began_s = time.monotonic()
    before = signal.signal(signal.SIGTERM, _stop)  # so that nothing stays mounted
    try:
        found = run(
            faults, root, seconds=None if minutes is None else minutes * 60, say=None if as_json else _say
        )
    finally:
        signal.signal(signal.SIGTERM, before)
    one = kept(found, seed=seed, place=describe_place(root), wall_s=time.monotonic() - began_s)
    print(json.dumps(one.model_dump(mode="json"), indent=2) if as_json else table((one,)))
    if write:
        (KEPT_CLUSTER if cluster else KEPT).write(root, one)
    if found.violations:
        for violation in found.violations:
            again = f"rematch verify faults{' --cluster' if cluster else ''} --seed {seed} --only {violation.number}"
            print(f"{violation.kind}: {violation.what}; repeat with: {again}", file=sys.stderr)
        raise typer.Exit(1)


def _say(found: Campaign, one: Fault, took_s: float) -> None:
    tally = found.tallies[one.kind.name]
    broken = [violation.what for violation in found.violations if violation.number == one.number]
    came = "violated" if broken else "unavailable" if tally.unavailable else "held"
    print(f"{one.number}: {one.kind.name}: {came}, {took_s:.1f} s", file=sys.stderr, flush=True)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
