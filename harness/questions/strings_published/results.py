# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the articles' programs: means, ratios, what a line costs, what its lock costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.pairing import counting, inputs_of, unit_of
from harness.evidence.requests import reference_of
from harness.model import Experiment
from harness.publish.bounds import bound_in_words, bounded
from harness.publish.comparisons import comparison_notes
from harness.publish.findings import FINDING, Phrase, comparisons_in, finding
from harness.publish.load_sentence import load_sentence
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, Words, for_each, means
from harness.questions.strings_published.analysis import (
    OFF,
    ON,
    OTHER_LOCKS,
    PLAN,
    RECORDED,
    SATURATION,
    AsPublished,
)
from harness.questions.strings_published.answer import (
    half_answer,
    lock_answer,
    log_answer,
    waits_in_words,
    where,
)

#: branch -> column of the trials
_METRICS = {
    "throughput": "throughput_per_s",
    "cpu": "cpu_s_per_request",
    "latency": "latency_mean_s",
    "p99": "latency_p99_s",
}
_LOADS = {"saturation": SATURATION, "plan": PLAN}
_LOGGING = (OFF, ON)
_PHRASE = Phrase(
    who="published programs",
    more="answer more requests per second with a log line per request than without",
    less="answer fewer requests per second with a log line per request than without",
    more_short="more",
    less_short="fewer",
)


def results(found: AsPublished | None, definition: Experiment) -> Tree:
    """Return what is said of every variant of the definition, measured or not.

    ``{saturation,plan}.{throughput,cpu,latency,p99}.{off,on}.mean.<variant>``, and beside ``mean`` the comparison with
    the reference; ``log.{saturation,plan}.{throughput,cpu,latency,p99}.<variant>``, with a line over without;
    ``lock.{none,jdk}.{throughput,cpu,p99}.{off,on}``, Helidon with another lock over Helidon as published;
    ``bound.{saturation,plan}.{off,on}.<variant>`` and ``waits.{off,on}`` in words; and the sentences ``answer``,
    ``answer_half``, ``answer_lock``, ``answer_waits``, ``bounded``, ``load``, ``place`` and ``unavailable``;
    ``finding``: title, take-away and how sure, of what a line leaves of the throughput.
    """
    compared = {name: label for name, label in definition.labels.items() if name != RECORDED}
    reference = reference_of(None if found is None else found.evidence, definition)
    others = [name for name in compared if name != reference]
    said = _sentences(found, compared)
    half = said["answer_half"]
    log = {
        branch: {
            metric: for_each(
                compared, {} if found is None else found.log_effects(column, load), NO_COMPARISON
            )
            for metric, column in _METRICS.items()
        }
        for branch, load in _LOADS.items()
    }
    return {
        "name": compared,
        FINDING: finding(
            comparisons_in(log["saturation"]["throughput"], set(compared) - set(OTHER_LOCKS.values())),
            _PHRASE,
            also=(half.text if isinstance(half, Words) else "",),
        ),
        **{
            branch: {
                metric: {
                    logging: _cell(found, compared, others, column, load, logging) for logging in _LOGGING
                }
                for metric, column in _METRICS.items()
            }
            for branch, load in _LOADS.items()
        },
        "log": log,
        "lock": {
            which: {
                metric: for_each(
                    _LOGGING,
                    {} if found is None else found.other_lock(_METRICS[metric], which),
                    NO_COMPARISON,
                )
                for metric in ("throughput", "cpu", "p99")
            }
            for which in OTHER_LOCKS
        },
        "bound": {
            branch: {logging: _bound(found, compared, load, logging) for logging in _LOGGING}
            for branch, load in _LOADS.items()
        },
        "bounded": bounded(None if found is None else found.at(SATURATION)),
        "waits": {logging: _waits(found, logging) for logging in _LOGGING},
        **said,
    }


def notes(found: AsPublished | None) -> list[str]:
    """Return the notes on what a line leaves of the throughput: what is not about the services, p-values, margin."""
    if found is None:
        return []
    effects = [one.model_copy(update={"variant": name}) for name, one in _log_effects(found).items()]
    return comparison_notes(effects, found.evidence.variants)


def _log_effects(found: AsPublished) -> Mapping[str, Comparison]:
    return found.log_effects(_METRICS["throughput"], SATURATION)


def _cell(
    found: AsPublished | None,
    variants: Mapping[str, str],
    others: Sequence[str],
    column: str,
    load: str,
    logging: str,
) -> Tree:
    trials = None if found is None else found.cell(load, logging)
    mean: Mapping[str, Leaf] = for_each(variants, {}, Absent(unit=unit_of(column)))
    if trials is not None and not trials.empty:
        mean = means(trials, variants, column)
    compared = {} if found is None else found.over_reference(column, load, logging)
    return {"mean": mean, **for_each(others, compared, NO_COMPARISON)}


def _bound(
    found: AsPublished | None, variants: Mapping[str, str], load: str, logging: str
) -> Mapping[str, Leaf]:
    if found is None:
        return for_each(variants, {}, NO_TEXT)
    mine = counting(found.cell(load, logging))
    said: dict[str, Leaf] = {
        str(name): Words(bound_in_words(rows), inputs_of(rows)) for name, rows in mine.groupby("variant")
    }
    return for_each(variants, said, NO_TEXT)


def _waits(found: AsPublished | None, logging: str) -> Leaf:
    waits = None if found is None else found.waits(logging)
    return NO_TEXT if waits is None else Words(waits_in_words(waits), waits.inputs)


def _sentences(found: AsPublished | None, variants: Mapping[str, str]) -> Mapping[str, Leaf]:
    if found is None:
        return dict.fromkeys(
            ("answer", "answer_half", "answer_lock", "answer_waits", "load", "place", "unavailable"), NO_TEXT
        )
    cell = found.at(SATURATION)
    inputs = inputs_of(counting(cell))
    waits = found.waits(ON)
    said = {
        "answer": log_answer(_log_effects(found), variants),
        "answer_half": half_answer(found.log_effects(_METRICS["cpu"], SATURATION), variants),
        "answer_lock": lock_answer(found.other_lock(_METRICS["throughput"], "none").get(ON), found.cpus),
        "answer_waits": ""
        if waits is None
        else f"In recorded processes of Helidon, {waits_in_words(waits)}.",
        "load": load_sentence(found.evidence, cell),
    }
    gone = [one for one in found.evidence.header.unavailable if one.variant in variants]
    return {
        **{name: Words(text, inputs) if text else NO_TEXT for name, text in said.items()},
        "place": where(found.cpus),
        "unavailable": "; ".join(f"{variants[one.variant]}: {one.reason}" for one in gone) or "none",
    }
