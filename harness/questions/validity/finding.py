# SPDX-License-Identifier: Apache-2.0
"""What the section on validity answers: whether intervals contain a known truth, and whether equal programs differ."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.audit.adequacy import EqualCell
from harness.model.digits import plain
from harness.publish.findings import NO_FINDING
from harness.publish.results import NO_TEXT, Tree, Words
from harness.questions.validity.adequacy import Enough
from harness.questions.validity.known_effect import Recovered
from harness.verify.simulated.result import VerifyResult


def trust(simulated: VerifyResult, enough: Enough, recovered: Sequence[Recovered]) -> Tree:
    """Return ``title``, ``takeaway`` and ``sure`` of simulations, of references against themselves and of a handicap.

    Args:
        simulated: coverage of the intervals, with its control. recovered: what sessions say of a declared handicap,
            of services that were measured alone and of duets.
    """
    held = [100 * cell.value for cell in simulated.cells if not cell.control]
    control = [100 * cell.value for cell in simulated.cells if cell.control]
    if not held or not control:
        return NO_FINDING
    cells = [one for ones in enough.equal.values() for one in ones if one.found.passed is not None]
    told = [one for one in recovered if one.holds is not None]
    inputs = [path for cell in cells for path in cell.found.ratio.inputs]
    inputs += [path for one in told for path in one.comparison.ratio.inputs]
    of_trials = tuple(dict.fromkeys(inputs))
    most = f"{plain(min(held))} to {plain(max(held))} %"
    said = [
        f"Intervals of nominally 95 % contain the truth in {most} of simulated experiments; those that count requests "
        f"in place of trials do so in {plain(max(control))} % at the most.",
        _equal_words(cells),
        _known_words(told),
    ]
    sure = f"{simulated.sims} simulated experiments for each law of trials and number of blocks"
    sure += f"; {_counted(len(cells), 'real cell')} with the reference twice in each block" if cells else ""
    return {
        "title": Words(f"Intervals contain a known truth in {most} of simulated experiments", of_trials)
        if simulated.holds
        else NO_TEXT,
        "takeaway": Words(" ".join(filter(None, said)), of_trials),
        "sure": Words(f"{sure}.", of_trials),
    }


def _equal_words(cells: Sequence[EqualCell]) -> str:
    if not cells:
        return ""
    different = sum(cell.found.passed is False for cell in cells)
    return (
        f"The reference differs from its own duplicate in {different} of {_counted(len(cells), 'cell')}, where one in "
        "twenty is expected."
    )


def _known_words(told: Sequence[Recovered]) -> str:
    if not told:
        return ""
    holds, found = sum(one.holds is True for one in told), sum(one.found is True for one in told)
    return (
        f"A handicap of declared size lies within the interval in {holds} of {_counted(len(told), 'measurement')}, and "
        f"is detected in {found}."
    )


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


__all__ = ["trust"]
