# SPDX-License-Identifier: Apache-2.0
"""What the paper says of places: which sessions are compared, and a result for each variant and kind of place.
Its answer: whether another place changes throughput or the tail, and how sure that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.pairing import unit_of
from harness.evidence import Evidence
from harness.evidence.parameters import StageParameters
from harness.evidence.sessions import usual_launcher
from harness.model import Verdict
from harness.model.age import of_young
from harness.model.digits import whole_percent
from harness.model.formatting import verdict_name
from harness.model.phrases import capital
from harness.publish.cells import Cell, gapped
from harness.publish.findings import FINDING, NO_FINDING
from harness.publish.range_words import Named, in_a_range
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, Words, for_each
from harness.questions.placement.analysis import PlaceRow, place_rows
from harness.questions.placement.containers import CONTAINER, PARTS, container_costs
from harness.store import SessionFolder, Store

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
    title = capital(of_young(_title([row.verdict for row in rows]), [row.young for row in rows]))
    sure = _sure(found["throughput"])
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
        return "throughput is equivalent at every place"
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


#: kinds of places that the text speaks of
KINDS = ("pinned", "again", "container", "far")
METRICS = {"throughput": "throughput_per_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request"}


def all_places(settings: StageParameters, evidence: Evidence | None) -> Evidence | None:
    """Return the evidence with every session of its experiment and profile: other hosts, launchers and seeds."""
    if evidence is None:
        return None
    found = [
        session
        for session in Store(evidence.root).sessions(evidence.experiment, bundled=evidence.bundled)
        if session.exists and session.header.plan.profile == evidence.profile
    ]
    return Evidence(root=evidence.root, experiment=evidence.experiment, sessions=tuple(found))


def compare_places(settings: StageParameters, evidence: Evidence | None) -> dict[str, tuple[PlaceRow, ...]]:
    """Return word of the metric -> rows, at the last combination of the other factors that was measured.

    ``evidence`` is what :func:`all_places` returned; the first place is that of the notebook's parameters.
    """
    if evidence is None:
        return {}
    base = first_place(evidence, settings).folder.name
    others = {factor: level for factor, level in evidence.cells()[-1].items() if factor != "pinning"}
    trials = evidence.cell(**others)
    return {word: place_rows(trials, metric, base_session=base) for word, metric in METRICS.items()}


def first_place(evidence: Evidence, settings: StageParameters) -> SessionFolder:
    """Return the session of the notebook's host, with the usual launcher and the lowest seed."""
    usual = usual_launcher(evidence.root, evidence.experiment)

    def order(session: SessionFolder) -> tuple[bool, bool, int]:
        plan = session.header.plan
        return plan.launcher != usual, plan.host != settings.host, plan.seed

    return min(evidence.sessions, key=order)


def results(
    found: Mapping[str, Sequence[PlaceRow]], evidence: Evidence | None, variants: Mapping[str, str]
) -> Tree:
    """Return what is said of places and of containers, for every variant of the definition, measured or not.

    ``<metric>.<kind>.<variant>``, ``container.<part>.<variant>`` (of several hosts the first one's), in words
    ``margin.<metric>`` and ``places``, and ``finding``: title, take-away and how sure.
    """
    rows = {word: found.get(word, ()) for word in METRICS}
    words = dict.fromkeys(row.place for some in found.values() for row in some)
    costs = {name: one for (_, name), one in reversed(container_costs(evidence).items())}
    return {
        "name": variants,
        FINDING: places_finding(rows),
        "margin": {word: _margin_words(some) for word, some in rows.items()},
        "places": "; ".join(words) or NO_TEXT,
        **{
            word: {
                kind: for_each(
                    variants, {row.variant: row for row in reversed(some) if row.kind == kind}, NO_COMPARISON
                )
                for kind in KINDS
            }
            for word, some in rows.items()
        },
        CONTAINER: {
            part: for_each(
                variants, {name: one[part] for name, one in costs.items()}, Absent(unit=unit_of(column))
            )
            for part, column in PARTS.items()
        },
    }


def ratio_rows(found: Mapping[str, Sequence[PlaceRow]]) -> list[Mapping[str, Cell] | None]:
    """Return one table row per variant and place: the ratio of each metric and what it says."""
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    for word, some in found.items():
        for row in some:
            cells = rows.setdefault((row.variant, row.place), {"variant": row.label, "place": row.place})
            said = verdict_name(row)
            cells |= {"trials": row.n_trials, word: row.ratio, f"{word}_verdict": said}
    return gapped(list(rows.values()), "variant")


def _margin_words(rows: Sequence[PlaceRow]) -> Leaf:
    if not rows:
        return NO_TEXT
    margins = sorted({row.margin for row in rows if row.margin is not None})
    if not margins:
        return "none, as this machine is too noisy to call anything equivalent"
    words = list(dict.fromkeys(whole_percent(margin) for margin in (margins[0], margins[-1])))
    return " to ".join(words)
