# SPDX-License-Identifier: Apache-2.0
"""``rematch verify faults``: sessions of real services with faults at random moments."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.errors import InputError
from harness.project import find_root

if TYPE_CHECKING:
    from harness.verify.faults.page import FaultsCampaign

FAULTS = "faults"
LINES = Path("results") / "faults"


def run_faults(
    *,
    number: int | None,
    minutes: float | None,
    seed: int,
    only: int | None,
    write: bool,
    as_json: bool,
    cluster: bool = False,
    jobs: int = 1,
) -> None:
    """Go on with the campaign of a seed and print its table; exit status 1: a promise was broken.

    Args:
        number: how many faults; ``None`` without ``minutes``: each kind once.
        only: the number of the one fault that is repeated.
        cluster: faults of the cluster that KUBECONFIG names, in place of those of this machine.
        jobs: processes at once.
    """
    from harness.provenance import describe_place
    from harness.verify.faults.campaign import run
    from harness.verify.faults.jobs import Task, say, work
    from harness.verify.faults.journal import Journal
    from harness.verify.faults.page import KEPT, KEPT_CLUSTER, kept, table
    from harness.verify.faults.plan import CLUSTER_KINDS, KINDS, fault
    from harness.verify.stopping import stopping

    if (minutes is not None and not minutes > 0) or (number is not None and number < 1):
        raise InputError("nothing to do", place="--minutes, --sims", allowed="more than 0")
    if jobs < 1:
        raise InputError("nobody to do it", place="--jobs", found=jobs, allowed="1 or more")
    if only is not None and (only < 1 or write or number is not None or minutes is not None):
        raise InputError(
            "repeats one fault of a campaign", place="--only", found=only,
            allowed="a number from 1, without --write, --sims and --minutes",
        )  # fmt: skip
    root, kinds = find_root(), CLUSTER_KINDS if cluster else KINDS
    place, page = describe_place(root), KEPT_CLUSTER if cluster else KEPT

    def show(one: FaultsCampaign) -> None:
        print(json.dumps(one.model_dump(mode="json"), indent=2) if as_json else table((one,)))

    if only is not None:
        with stopping():
            again = run((fault(seed, only, kinds),), root, place=place, done=None if as_json else say)
        one = kept(again, seed=seed, planned=1)
        show(one)
        _end(one, seed=seed, cluster=cluster)
        return
    n = number if number is not None else None if minutes is not None else len(kinds)
    lines = page.parts(root, seed)
    journal = Journal(root / LINES / lines.name, lines)
    before = len([line for line in journal.read() if n is None or line.number <= n])
    if before:
        print(f"goes on after {before} faults of seed {seed}: {LINES / lines.name}", file=sys.stderr)
    task = Task(
        clone=root, journal=journal, seed=seed, kinds=kinds, place=place, number=n,
        seconds=None if minutes is None else minutes * 60, quiet=as_json,
    )  # fmt: skip
    stopped = work(task, jobs)
    ran = tuple(line for line in journal.read() if n is None or line.number <= n)
    one = kept(ran, seed=seed, planned=n)
    show(one)
    if write and ran:
        journal.keep()
        page.write(root, one)
    if stopped:
        print("stopped; the same command goes on", file=sys.stderr)
        raise typer.Exit(130)
    _end(one, seed=seed, cluster=cluster)


def _end(one: FaultsCampaign, *, seed: int, cluster: bool) -> None:
    """Say how each broken promise is repeated; exit status 1: there is one."""
    for what in one.violations:
        number = what.partition(":")[0]
        again = f"rematch verify faults{' --cluster' if cluster else ''} --seed {seed} --only {number}"
        print(f"{what}; repeat with: {again}", file=sys.stderr)
    if one.violations:
        raise typer.Exit(1)
