# SPDX-License-Identifier: Apache-2.0
"""What the section on places answers: whether another place changes throughput or the tail, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.model import Verdict
from harness.publish.findings import NO_FINDING
from harness.publish.range_words import Named, in_a_range
from harness.publish.results import NO_TEXT, Tree, Words
from harness.questions.placement.analysis import PlaceRow

#: Of a second session at the first place: no other place, but what two sessions differ by.
AGAIN = "again"
#: metric of the tree -> its words in a sentence
_WORDS = {"throughput": "throughput", "p99": "the ninety-ninth percentile of latency"}


def places_finding(found: Mapping[str, Sequence[PlaceRow]]) -> Tree:
    """Return ``title``, ``takeaway`` and ``sure``; absent: no service was measured at a second place.

    The title counts places of services whose throughput differs from that at the first place. It is absent where none
    is shown to, or not all are shown to be equivalent.
    """
    rows = _elsewhere(found.get("throughput", ()))
    if not rows:
        return NO_FINDING
    inputs = tuple(
        dict.fromkeys(path for some in found.values() for row in some for path in row.ratio.inputs)
    )
    title, sure = _title([row.verdict for row in rows]), _sure(found["throughput"])
    said = [_sentence(word, found.get(word, ())) for word in _WORDS]
    takeaway = " ".join(filter(None, said)) or "No ratio between two places can be judged."
    return {
        "title": Words(title, inputs) if title else NO_TEXT,
        "takeaway": Words(takeaway, inputs),
        "sure": Words(sure, inputs),
    }


def _elsewhere(rows: Sequence[PlaceRow]) -> list[PlaceRow]:
    return [row for row in rows if row.kind != AGAIN]


def _title(verdicts: Sequence[Verdict]) -> str:
    n, different = len(verdicts), sum(one is Verdict.DIFFERENT for one in verdicts)
    if different:
        return f"{different} of {n} comparisons of places {'differs' if different == 1 else 'differ'} in throughput"
    if all(one in (Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE) for one in verdicts):
        return "Throughput is equivalent at every place"
    return ""


def _sentence(word: str, rows: Sequence[PlaceRow]) -> str:
    told = in_a_range(_named(_elsewhere(rows)))
    if not told:
        return ""
    return f"Ratios of {_WORDS[word]} to the first place ({rows[0].reference}): {told}."


def _named(rows: Sequence[PlaceRow]) -> Named:
    return [(f"{row.label} ({row.place})", row) for row in rows]


def _sure(rows: Sequence[PlaceRow]) -> str:
    elsewhere = _elsewhere(rows)
    paired = sum(row.paired for row in elsewhere)
    text = f"95 % intervals; {paired} of {len(elsewhere)} ratios pair blocks of one session"
    if paired < len(elsewhere):
        text += ", the others are of two sessions"
    again = in_a_range(_named([row for row in rows if row.kind == AGAIN]))
    return f"{text}; the first place once more: {again or 'not measured'}."


__all__ = ["AGAIN", "places_finding"]
