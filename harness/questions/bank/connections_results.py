# SPDX-License-Identifier: Apache-2.0
"""What the paper says of how much of a load a bank bore, by how it holds its connections; all trials are in."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.analysis.tables.success_shares import wanted
from harness.evidence.load_response import every
from harness.model import BackingSettings, Outcome, Verdict
from harness.model.age import with_age
from harness.model.formatting import ratio_words, show
from harness.publish.bounds import bounds
from harness.publish.case import Case
from harness.publish.cells import Cell
from harness.publish.findings import FINDING, Phrase, comparisons_in, finding
from harness.publish.leaves import each, mean_of, means
from harness.publish.results import NO_COMPARISON, NO_TEXT, Leaf, Tree, Words, level_effects
from harness.questions.bank.connections import (
    OUTCOMES,
    at_one_load,
    effect_with_all,
)
from harness.questions.bank.failures import FACTOR, overloads
from harness.questions.bank.published import GO, JAVA
from harness.questions.bank.results import POOL, connection_limit, response_rows

#: The ways to hold connections that the paper speaks of, beside ``POOL``.
OTHERS = ("per-statement", "per-statement-md5", "pool-1", "pool-100")
#: Of the trials that were not overloaded: word in the key -> column.
_SURVIVORS = {"p99": "latency_p99_s", "cpu": "cpu_s_per_request"}
#: word in the key -> a variant, and the one that it is an alternative to
_ALTERNATIVES = {"pgx": ("go-pgx", GO), "virtual": ("java-spring-virtual", JAVA)}
_ALTERNATIVE = {"mean": "latency_mean_s", "p99": "latency_p99_s", "cpu": "cpu_s_per_request"}
_PHRASE = Phrase(
    who="banks",
    more="take longer to serve all passes with a pool than with a connection for every statement",
    less="take less time to serve all passes with a pool than with a connection for every statement",
    more_short="longer",
    less_short="less time",
    one="the bank that can be compared takes {} to serve all passes with a pool than with a connection a statement",
)
_CHECKED = {"scram-sha-256": "SCRAM", "md5": "MD5"}
_SAID = {
    Verdict.DIFFERENT: "a difference",
    Verdict.DIFFERENT_BUT_NEGLIGIBLE: "a negligible difference",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.INCONCLUSIVE: "no difference shown",
    Verdict.NOT_ABOUT_SERVICES: "not about the services",
}


def connection_results(case: Case) -> Tree:
    """Return ``connections``, what each way to hold them did, and under ``pooled``, ``pooled_md5`` and the names of
    the others each of them compared with the pool of twenty.

    All trials count, at the highest load and the stock limit of the server. ``passes``: how many a trial asks for;
    ``serve``: the time to serve them all, of trials in which all were answered rightly, and ``serve_words``, which
    say so where there are none; ``share``: of passes, those answered rightly; ``overloaded``: so many of so many
    trials; ``survivors``: the trials that were not, which latencies and CPU times are of; ``bound``: what bounded
    them, and ``database``: what the database used of the CPUs that it had. ``pgx`` and ``virtual``: of the pool of
    twenty and of a connection for every statement, the other driver over lib/pq, and virtual threads over platform
    ones. ``overloads``: which banks were overloaded, in a sentence. ``authentication``: how passwords were checked at
    the levels without ``md5`` in their names.
    """
    trials = at_one_load(case.response)
    passes = passes_words(trials)
    levels = {level: _level(trials, level, case.variants) for level in (POOL, *OTHERS)}
    return {
        "connections": {
            "passes": passes or NO_TEXT,
            "warm_up": case.warm_up,
            "authentication": authentication(case),
            "overloads": overloads(trials, case.variants, connection_limit(case)),
            **levels,
        },
        "pooled": _pooled(trials, "per-statement", case.variants),
        "pooled_md5": _pooled(trials, "per-statement-md5", case.variants),
        **{level: _survivors(trials, level, case.variants) for level in OTHERS},
        **{word: _alternative(trials, *pair) for word, pair in _ALTERNATIVES.items()},
    }


def authentication(case: Case) -> Leaf:
    """Return how the database checked passwords where a level does not say it."""
    if case.evidence is None:
        return NO_TEXT
    backing = case.evidence.header.experiment.backing or BackingSettings()
    return _CHECKED[backing.authentication]


def _alternative(trials: pd.DataFrame | None, other: str, base: str) -> Tree:
    """One variant over another of the same language, of trials that were not overloaded."""
    mine = None if trials is None else trials[trials["variant"].isin([base, other])]
    return {
        word: {level: _against(mine, level, column, other, base) for level in (POOL, OTHERS[0])}
        for word, column in _ALTERNATIVE.items()
    }


def _against(trials: pd.DataFrame | None, level: str, column: str, other: str, base: str) -> Leaf:
    mine = None if trials is None else trials[trials[FACTOR] == level]
    if mine is None or set(mine["variant"]) != {base, other}:
        return NO_COMPARISON
    return next(iter(compare(mine, column, reference=base)), None) or NO_COMPARISON


def connection_rows(case: Case) -> list[Mapping[str, Cell] | None]:
    """Return the rows of ``response_rows`` by ``connections``, with how many trials were overloaded (``over``) and
    the time to serve of the pool of twenty over that of the level (``pooled``)."""
    trials = at_one_load(case.response)
    names = {label: name for name, label in case.variants.items()}

    def more(row: Mapping[str, Cell]) -> Mapping[str, Cell]:
        level, name = str(row[FACTOR]), names.get(str(row["variant"]), str(row["variant"]))
        mine = _at(trials, level, name)
        pooled = None if level == POOL else _over(trials, level, name, OUTCOMES["serve"])
        over = f"{_n_overloaded(mine)} of {len(mine)}"
        return {**row, "over": over, "pooled": None if pooled is None else pooled.ratio}

    return [row and more(row) for row in response_rows(trials, case.variants, by=[FACTOR])]


def passes_words(table: pd.DataFrame | None) -> str:
    """Return how many passes (of a plain mix, requests) a trial asks for: one number, or from the least to the most;
    nothing without trials."""
    if table is None or table.empty:
        return ""
    asked = wanted(table).dropna()
    if asked.empty:
        return "an unknown number of"
    low, high = (f"{round(float(n)):,}" for n in (asked.min(), asked.max()))
    return low if low == high else f"{low} to {high}"


def _level(trials: pd.DataFrame | None, level: str, variants: Mapping[str, str]) -> Tree:
    mine = None if trials is None else _at(trials, level)
    all_in = None if mine is None else every(mine)
    return {
        **{word: means(all_in, variants, column) for word, column in OUTCOMES.items()},
        "serve_words": each(mine, variants, _serve_words, NO_TEXT),
        "overloaded": each(mine, variants, lambda some: _of(_n_overloaded(some), some), NO_TEXT),
        "survivors": each(mine, variants, lambda some: _of(_n_kept(some), some), NO_TEXT),
        "bound": bounds(mine, variants),
        "database": means(all_in, variants, "backing_share"),
    }


def _pooled(trials: pd.DataFrame | None, level: str, variants: Mapping[str, str]) -> Tree:
    found = {
        name: {word: _over(trials, level, name, column) for word, column in OUTCOMES.items()}
        for name in variants
    }
    compared = {
        word: {name: mine[word] or NO_COMPARISON for name, mine in found.items()} for word in OUTCOMES
    }
    words = {
        name: _serve_ratio_words(mine["serve"], _at(trials, level, name)) for name, mine in found.items()
    }
    return {
        **compared,
        FINDING: finding(comparisons_in(compared["serve"]), _PHRASE),
        "serve": {**compared["serve"], "words": words},
    }


def _survivors(trials: pd.DataFrame | None, level: str, variants: Mapping[str, str]) -> Tree:
    found = level_effects(trials, variants, metrics=_SURVIVORS, factor=FACTOR, base=POOL, other=level)
    return {
        word: {
            **mine,
            "survivors": {name: _survivor_words(mine[name], _at(trials, level, name)) for name in variants},
        }
        for word, mine in found.items()
    }


def _over(trials: pd.DataFrame | None, level: str, variant: str, column: str) -> Comparison | None:
    """The pool of twenty over a level, all trials in that have the column."""
    return effect_with_all(trials, FACTOR, column, variant=variant, base=level, other=POOL)


def _serve_words(mine: pd.DataFrame) -> str:
    """The time to serve over the trials that have one, and of how many that is."""
    there = int(mine["serve_s"].notna().sum())
    if not there:
        return f"not known, as passes failed in {len(mine)} of {len(mine)} trials"
    said = show(mean_of(every(mine), "serve_s")).interval
    return (
        said if there == len(mine) else f"{said} in the {there} of {len(mine)} trials without a failed pass"
    )


def _serve_ratio_words(found: Comparison | None, mine: pd.DataFrame) -> Leaf:
    if mine.empty:
        return NO_TEXT
    if found is None or found.ratio.value is None:
        failed = int(mine["serve_s"].isna().sum())
        return f"not known, as without the pool passes failed in {failed} of {len(mine)} trials"
    return ratio_words(found)


def _survivor_words(found: Leaf, mine: pd.DataFrame) -> Leaf:
    if mine.empty:
        return NO_TEXT
    inputs = found.ratio.inputs if isinstance(found, Comparison) else ()
    if not isinstance(found, Comparison) or found.ratio.value is None:
        return Words(f"none, as {_of(_n_overloaded(mine), mine)} were overloaded", inputs)
    said = _SAID[found.verdict] if found.blocks_of_verdict >= FEWEST_FOR_P else "too few for a verdict"
    shown = show(found.ratio).interval
    return Words(f"{shown} in {found.n_blocks} of {len(mine)} blocks, {with_age(said, found.young)}", inputs)


def _of(n: int, trials: pd.DataFrame) -> str:
    return f"{n} of {len(trials)} trials"


def _n_overloaded(trials: pd.DataFrame) -> int:
    return int((trials["outcome"] == Outcome.OVERLOADED.value).sum())


def _n_kept(trials: pd.DataFrame) -> int:
    return int((~trials["excluded"].astype(bool)).sum())


def _at(trials: pd.DataFrame | None, level: str, variant: str | None = None) -> pd.DataFrame:
    """The trials at a level, of one variant or of all, duplicates apart; empty: there are none."""
    if trials is None:
        return pd.DataFrame()
    found = trials[(trials[FACTOR] == level) & ~trials["duplicate"].astype(bool)]
    return found if variant is None else found[found["variant"] == variant]
