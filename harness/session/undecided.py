# SPDX-License-Identifier: Apache-2.0
"""Blocks to the undecided: which trials of the next block are still wanted, by what the session says so far.

The rule is that of :mod:`harness.analysis.stats.next_blocks`, and it is registered before the first trial. The plan
stays as it was written: trials that are not wanted any more are noted in ``events.jsonl`` and count as done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.errors import InputError
from harness.model import PlannedTrial
from harness.session.blocks import within_minutes
from harness.session.duets import by_start
from harness.session.planning import MOST_BLOCKS, Prepared, with_blocks
from harness.session.wiring import Assembly
from harness.store import SessionFolder

#: Every configuration is measured in so many blocks, whatever it says.
FIRST_BLOCKS = FEWEST_FOR_P
STOPPING = (
    f"after {FIRST_BLOCKS} blocks only what is undecided: its interval holds an end of the band of equivalence; at the "
    "latest after the minutes asked for"
)
#: Where everything but one variant is decided at once, so many times the blocks fit that fit whole.
_MOST_TIMES = 4


def for_the_undecided(assembly: Assembly, prepared: Prepared, minutes: float) -> Prepared:
    """Return the same plan with blocks enough for ``minutes`` of what will be undecided, and the time as its budget.

    Raises:
        InputError: ``minutes`` is not a time, or ``FIRST_BLOCKS`` whole blocks do not fit into it.
    """
    whole = within_minutes(assembly, prepared, minutes).plan.n_blocks
    if whole < FIRST_BLOCKS:
        raise InputError(
            "too short: what is undecided is known after the first blocks", place="--minutes", found=minutes,
            allowed=f"time for {FIRST_BLOCKS} whole blocks; {whole} would fit",
        )  # fmt: skip
    more = with_blocks(prepared, min(MOST_BLOCKS, _MOST_TIMES * whole))
    return replace(more, budget_s=minutes * 60.0)


def wanted_trials(
    root: Path, folder: SessionFolder, block: Sequence[PlannedTrial]
) -> tuple[PlannedTrial, ...]:
    """Return the trials of a block that are still wanted.

    A variant is wanted at a cell where its comparison is undecided, the reference with its duplicate where any variant
    of the cell is. A process that takes several loads is wanted whole or not at all.

    Args:
        block: the planned trials of one block.
    """
    open_cells = _undecided(root, folder)
    reference = folder.header.experiment.reference

    def wanted(group: Sequence[PlannedTrial]) -> bool:
        named = {trial.configuration.variant_name for trial in group} - {reference}
        for trial in group:
            variants = open_cells.get(frozenset(trial.configuration.levels.items()), set())
            # a reference beside a variant is measured for that one alone
            if variants & named if named else variants:
                return True
        return False

    return tuple(trial for group in by_start(block) if wanted(group) for trial in group)


def _undecided(root: Path, folder: SessionFolder) -> dict[frozenset[tuple[str, str]], set[str]]:
    """Cell -> the variants that are undecided in it, in the metric that its load can differ in."""
    # tables and statistics take a second to load, and most sessions need none of them
    from harness.analysis.audit.adequacy import leading_metric
    from harness.analysis.stats.comparisons import compare
    from harness.analysis.stats.next_blocks import wants_more
    from harness.analysis.tables.schema import factor_column
    from harness.analysis.tables.tidy import tidy
    from harness.evidence import Evidence

    experiment = folder.header.experiment
    tidy(root, [experiment.name])
    evidence = Evidence(root=root, experiment=experiment.name, sessions=(folder,))
    factor_of = {factor_column(factor): factor for factor in experiment.factors}
    found: dict[frozenset[tuple[str, str]], set[str]] = {}
    for levels in evidence.cells():
        trials = evidence.cell(**levels)
        with contextlib.suppress(InputError):  # no trial of the reference can be used: nothing can be decided
            for one in compare(trials, leading_metric(trials), reference=evidence.reference):
                if wants_more(one):
                    cell = frozenset((factor_of[column], level) for column, level in levels.items())
                    found.setdefault(cell, set()).add(one.variant)
    return found
