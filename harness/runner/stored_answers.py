# SPDX-License-Identifier: Apache-2.0
"""What a service said it had stored, held against what is in the database: a right answer is a promise.

The invariants cannot tell: a transfer that was answered and never stored leaves balances that add up.
"""

from __future__ import annotations

from harness.model import ClosedLoad, LoadProfile, StoredReading
from harness.runner.context import Notes


def note_before(notes: Notes) -> None:
    """Note what the database holds before the load: seeds, conformance and warm-up have left traces too.

    Raises:
        TrialFailure: it does not answer.
    """
    notes.stored_before = _stored(notes, over=False)


def compare_promises(notes: Notes, profile: LoadProfile | None) -> tuple[StoredReading, ...]:
    """Return, for each request that the contract counts, what was stored, answered rightly, and sent.

    Empty where nothing was noted before the load, or where the tool does not tell its requests apart.

    Raises:
        TrialFailure: the database does not answer.
    """
    if not notes.stored_before or not notes.answers:
        return ()
    whole = notes.load is not None and leaves_a_row_for_each(profile)
    rows: list[StoredReading] = []
    for request, n_after in _stored(notes, over=True).items():
        asked = [count for name, count in notes.answers.items() if is_of(name, request)]
        rows.append(
            StoredReading(
                request=request,
                n_stored=n_after - notes.stored_before.get(request, 0),
                n_right=sum(count.n_right for count in asked),
                n_sent=sum(count.n_requests for count in asked) if whole else None,
            )
        )
    return tuple(rows)


def leaves_a_row_for_each(profile: LoadProfile | None) -> bool:
    """Tell whether every request sent is in the tool's rows: a load that ends by the clock cuts some short."""
    return isinstance(profile, ClosedLoad) and profile.loops is not None


def is_of(name: str, request: str) -> bool:
    """Tell whether a step of a flow is a request of this kind: ``create-a`` is a ``create``."""
    return name == request or name.startswith(f"{request}-")


def words(row: StoredReading) -> str:
    """Say what is wrong, for people."""
    if row.n_stored < row.n_right:
        return f"{row.request}: {row.n_right} answered rightly, {row.n_stored} stored"
    return f"{row.request}: {row.n_sent} sent, {row.n_stored} stored"


def _stored(notes: Notes, *, over: bool) -> dict[str, int]:
    return {request: n for service in notes.backing for request, n in service.stored(over=over).items()}


__all__ = ["compare_promises", "is_of", "leaves_a_row_for_each", "note_before", "words"]
