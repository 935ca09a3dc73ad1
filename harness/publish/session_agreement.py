# SPDX-License-Identifier: Apache-2.0
"""What is said of an experiment's other sessions: on how many verdicts they agree, and which they contradict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.expected_agreement import ExpectedAgreement, expected_agreement
from harness.analysis.stats.pairing import inputs_of
from harness.analysis.stats.session_agreement import KINDS, SessionAgreement, VerdictPair
from harness.evidence.experiment import Evidence
from harness.evidence.other_sessions import other_machine, session_agreement
from harness.evidence.results import METRICS
from harness.model.digits import plain
from harness.model.formatting import show, verdict_name
from harness.publish.cells import Cell, gapped
from harness.publish.results import NO_TEXT, Leaf, Words

_METRICS = {metric.column: metric.words for metric in METRICS}


def agreement_text(evidence: Evidence | None, labels: Mapping[str, str]) -> Leaf:
    """Return when this session began, and one sentence for each other session of the experiment, the newest first.

    Raises:
        InputError: one of the sessions is not tidied.
    """
    if evidence is None:
        return NO_TEXT
    others = evidence.others
    said = [f"This session ({_name_and_start(evidence)}) is compared with the others."] if others else []
    said += [
        sentence(other, session_agreement(evidence, other), labels, machine=other_machine(evidence, other))
        for other in others
    ]
    inputs = [path for one in (evidence, *others) for path in inputs_of(one.trials)]
    return Words(" ".join(said) or "There is no second session to compare with.", tuple(inputs))


def agreement_rows(evidence: Evidence | None, labels: Mapping[str, str]) -> list[Mapping[str, Cell] | None]:
    """Return one row for each verdict of each other session, the newest session first: what both of them say.

    Raises:
        InputError: one of the sessions is not tidied.
    """
    if evidence is None:
        return []
    return [
        row
        for other in evidence.others
        for row in _rows(other.sessions[0].folder.name, session_agreement(evidence, other), labels)
    ]


def agreement_counts(evidence: Evidence | None) -> list[Mapping[str, Cell] | None]:
    """Return one row for each metric of each other session: how many verdicts are of each kind.

    Raises:
        InputError: one of the sessions is not tidied.
    """
    if evidence is None:
        return []
    rows: list[Mapping[str, Cell]] = []
    for other in evidence.others:
        found = session_agreement(evidence, other)
        for metric in dict.fromkeys(pair.first.metric for pair in found.pairs):
            mine = [pair for pair in found.pairs if pair.first.metric == metric]
            rows.append(
                {
                    "session": other.sessions[0].folder.name,
                    "metric": _METRICS.get(metric, metric),
                    "verdicts": len(mine),
                    "changed": sum(pair.changed for pair in mine),
                    **{kind: sum(pair.kind == kind for pair in mine) for kind in KINDS},
                }
            )
    return gapped(rows, "session")


def _rows(session: str, found: SessionAgreement, labels: Mapping[str, str]) -> Iterator[Mapping[str, Cell]]:
    for pair in found.pairs:
        yield {
            "session": session,
            "variant": labels.get(pair.first.variant, pair.first.variant),
            "metric": _METRICS.get(pair.first.metric, pair.first.metric),
            "cell": ", ".join(pair.first.levels.values()),
            "here": _verdict(pair.first),
            "there": _verdict(pair.second),
            "kind": pair.kind,
            "program": "changed" if pair.changed else "the same",
        }


def _verdict(one: Comparison) -> str:
    return f"{show(one.ratio).interval} {verdict_name(one)}"


def sentence(
    other: Evidence, found: SessionAgreement, labels: Mapping[str, str], *, machine: str | None = None
) -> str:
    """Return on how many verdicts the other session agrees, what it contradicts, and what was not compared.

    Args:
        machine: where it was measured and where this one, when the machines are not the same.
    """
    blocks = other.trials["block"].nunique()
    said = [
        f"Another session ({_name_and_start(other)}, {blocks} blocks"
        f"{'' if machine is None else f', on another machine: {machine}'}):"
    ]
    disturbed, finished = (
        sum(len(one.disturbed_trials()) for one in other.sessions),
        sum(len(one.finished()) for one in other.sessions),
    )
    if 2 * disturbed > finished:
        said.append(f"other work took the machine's CPUs in {disturbed} of its {finished} trials.")
    if found.n():
        said.append(f"{counts_in_words(found)}.")
    if found.n(changed=True):
        changed = ", ".join(labels.get(name, name) for name in found.changed)
        said.append(
            f"Of programs that were built from other sources then ({changed}): "
            f"{counts_in_words(found, changed=True)}."
        )
    against = [pair_in_words(pair, labels) for pair in found.pairs if pair.kind == "contradict"]
    said += [f"Contradictions: {'; '.join(against)}."] if against else []
    return " ".join(said)


def _name_and_start(evidence: Evidence) -> str:
    began = datetime.fromtimestamp(evidence.header.provenance.started_epoch_s, UTC)
    return f"{evidence.sessions[0].folder.name}, {began:%Y-%m-%d %H:%M} UTC"


def counts_in_words(found: SessionAgreement, *, changed: bool = False) -> str:
    """Return ``22 of 33 verdicts agree (where nothing changed, sampling alone gives 18 to 27, on average 23.1), none
    contradict, in 11 at most one session decides, and in 4 of the 22 neither does``; kinds without pairs omitted."""
    counts, expected = found.counts(changed=changed), expected_agreement(found, changed=changed)
    beside = (
        "" if expected is None else f" (where nothing changed, sampling alone gives {_expected(expected)})"
    )
    said = [f"{counts['agree']} of {sum(counts.values())} verdicts agree{beside}"]
    if counts["contradict"] or counts["one undecided"]:
        n = counts["contradict"]
        said.append(f"{n or 'none'} contradict{'s' if n == 1 else ''}")
    if counts["one undecided"]:
        said.append(f"in {counts['one undecided']} at most one session decides")
    if n_neither := found.n_undecided_in_both(changed=changed):
        neither = "neither does" if counts["one undecided"] else "neither session decides"
        said.append(f"and in {n_neither} of the {counts['agree']} {neither}")
    return ", ".join(said)


def _expected(one: ExpectedAgreement) -> str:
    range_ = f"{one.low} to {one.high}" if one.low < one.high else str(one.low)
    return f"{range_}, on average {plain(one.agree)}"


def pair_in_words(pair: VerdictPair, labels: Mapping[str, str]) -> str:
    """Return one question with both verdicts: ``Go kit, throughput: 0.9 (0.8 to 1.0) different, then ...``."""
    first, second = _verdict(pair.first), _verdict(pair.second)
    where = "".join(f", {level}" for level in pair.first.levels.values())
    metric = _METRICS.get(pair.first.metric, pair.first.metric)
    return (
        f"{labels.get(pair.first.variant, pair.first.variant)}, {metric}{where}: {first} here, {second} there"
    )
