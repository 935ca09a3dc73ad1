# SPDX-License-Identifier: Apache-2.0
"""What the paper says of how much of a load a bank bore, by how it holds its connections; all trials are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.analysis.tables.success_shares import wanted
from harness.evidence.load_response import effect_between, every
from harness.model import Estimate, Outcome, Verdict
from harness.model.formatting import NOT_MEASURED, show
from harness.publish.cells import Cell
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug
from harness.publish.results import mean_of
from harness.questions.bank.connections import OUTCOMES, alike_claim, effect_with_all, pooled_claim
from harness.questions.bank.results import pressure_cells

#: column of the pressure table -> unit in the paper
_UNITS = {"serve_s": "s", "right_share": "share"}
FACTOR = "connections"
_SAID = {
    Verdict.DIFFERENT: "a difference",
    Verdict.DIFFERENT_BUT_NEGLIGIBLE: "a negligible difference",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.INCONCLUSIVE: "no difference shown",
}


def publish_bearing(
    publisher: Publisher,
    table: pd.DataFrame | None,
    variants: Mapping[str, str],
    *,
    levels: Sequence[str],
    prefix: str,
) -> Published:
    """Publish ``<prefix>.passes`` and ``<prefix>.<level>.{serve,serve_words,share,overloaded,survivors}.<variant>``.

    ``passes``: how many passes a trial asks for; ``serve``: the time to serve them all, of trials in which all were
    answered rightly, and in words that say so where there are none; ``share``: of passes, those answered rightly;
    ``overloaded``: so many of so many trials; ``survivors``: the trials that were not, which latencies and CPU times
    are of. The levels are those of ``connections``.
    """
    said = []
    with publisher.together():
        said.append(publisher.text(f"{prefix}.passes", passes_words(table)))
        for level in levels:
            for name in variants:
                mine = _mine(table, level, name)
                for word, column in OUTCOMES.items():
                    key = f"{prefix}.{slug(level)}.{word}.{slug(name)}"
                    said.append(
                        publisher.absent(key, _UNITS[column], NOT_MEASURED)
                        if mine is None
                        else publisher.number(key, mean_of(every(mine), column, _UNITS[column]))
                    )
                words = NOT_MEASURED if mine is None else _serve_words(mine)
                said.append(publisher.text(f"{prefix}.{slug(level)}.serve_words.{slug(name)}", words))
                for word, n in (("overloaded", n_overloaded(mine)), ("survivors", _n_kept(mine))):
                    text = NOT_MEASURED if mine is None else f"{n} of {len(mine)} trials"
                    said.append(publisher.text(f"{prefix}.{slug(level)}.{word}.{slug(name)}", text))
    return joined(said)


def publish_pooled(
    publisher: Publisher,
    table: pd.DataFrame | None,
    variants: Mapping[str, str],
    *,
    over: str,
    pool: str,
    prefix: str,
) -> Published:
    """Publish ``<prefix>.{serve,share}.{ratio,verdict}.<variant>`` of the pool over the level ``over``, all trials
    in that have them, ``<prefix>.serve.words.<variant>`` where time to serve needs words, and ``<prefix>.claim`` and
    ``.claim_why`` on the claim that the connections were the cause."""
    effects = {
        name: {
            word: effect_with_all(table, FACTOR, column, variant=name, base=over, other=pool)
            for word, column in OUTCOMES.items()
        }
        for name in variants
    }
    claim = pooled_claim(effects, variants)
    with publisher.together():
        said = [
            publisher.comparison(f"{prefix}.{word}", name, found)
            for name, mine in effects.items()
            for word, found in mine.items()
        ]
        for name, mine in effects.items():
            words = _serve_ratio_words(mine["serve"], _mine(table, over, name))
            said.append(publisher.text(f"{prefix}.serve.words.{slug(name)}", words))
        said.append(publisher.text(f"{prefix}.claim", claim.verdict))
        said.append(publisher.text(f"{prefix}.claim_why", claim.why))
    return joined(said)


def publish_survivors(
    publisher: Publisher,
    table: pd.DataFrame | None,
    variants: Mapping[str, str],
    *,
    other: str,
    base: str,
    metrics: Mapping[str, str],
    prefix: str,
) -> Published:
    """Publish ``<prefix>.<word>.survivors.<variant>``: a level over another among the trials that were not
    overloaded, in words, which say so where there are none.

    Args:
        metrics: word in the key -> column.
    """
    said = []
    with publisher.together():
        for word, metric in metrics.items():
            for name in variants:
                found = effect_between(table, FACTOR, metric, variant=name, base=base, other=other)
                words = _survivors(found, _mine(table, other, name))
                inputs = () if found is None else found.ratio.inputs
                said.append(publisher.text(f"{prefix}.{word}.survivors.{slug(name)}", words, inputs=inputs))
    return joined(said)


def publish_alike(
    publisher: Publisher,
    found: Mapping[str, Sequence[Comparison]],
    *,
    variant: str,
    main: Mapping[str, str],
    prefix: str,
) -> Published:
    """Publish ``<prefix>.claim`` and ``.claim_why``: whether a variant is alike the reference in the main cell.

    Args:
        found: word -> comparisons with the reference.
    """
    mine = {
        word: next((one for one in all_of if (one.variant, one.levels) == (variant, dict(main))), None)
        for word, all_of in found.items()
    }
    claim = alike_claim(mine)
    with publisher.together():
        said = publisher.text(f"{prefix}.claim", claim.verdict)
        why = publisher.text(f"{prefix}.claim_why", claim.why)
    return joined((said, why))


def bearing_cells(
    table: pd.DataFrame, labels: Mapping[str, str], *, pool: str
) -> list[Mapping[str, Cell] | None]:
    """Return the rows of ``pressure_cells`` by ``connections``, with how many trials were overloaded (``over``) and
    the time to serve of the pool over that of the level (``pooled``)."""
    rows: list[Mapping[str, Cell] | None] = []
    names = {label: name for name, label in labels.items()}
    for row in pressure_cells(table, labels, by=[FACTOR]):
        if row is None:
            rows.append(None)
            continue
        level, name = str(row[FACTOR]), names[str(row["variant"])]
        mine = _mine(table, level, name)
        rows.append(
            {
                **row,
                "over": None if mine is None else f"{n_overloaded(mine)} of {len(mine)}",
                "pooled": _ratio(table, level, name, pool),
            }
        )
    return rows


def passes_words(table: pd.DataFrame | None) -> str:
    """Return how many passes (of a plain mix, requests) a trial asks for: one number, or from the least to the most."""
    if table is None or table.empty:
        return NOT_MEASURED
    asked = wanted(table).dropna()
    if asked.empty:
        return "an unknown number of"
    low, high = (f"{round(float(n)):,}" for n in (asked.min(), asked.max()))
    return low if low == high else f"{low} to {high}"


def _serve_words(mine: pd.DataFrame) -> str:
    """The time to serve over the trials that have one, and of how many that is."""
    there = int(mine["serve_s"].notna().sum())
    if not there:
        return f"not known, as passes failed in {len(mine)} of {len(mine)} trials"
    said = show(mean_of(every(mine), "serve_s", "s")).interval
    return (
        said if there == len(mine) else f"{said} in the {there} of {len(mine)} trials without a failed pass"
    )


def _serve_ratio_words(found: Comparison | None, mine: pd.DataFrame | None) -> str:
    if mine is None:
        return NOT_MEASURED
    if found is None or found.ratio.value is None:
        failed = int(mine["serve_s"].isna().sum())
        return f"not known, as without the pool passes failed in {failed} of {len(mine)} trials"
    return show(found.ratio).interval


def n_overloaded(trials: pd.DataFrame | None) -> int:
    """Return how many trials ended overloaded."""
    return 0 if trials is None else int((trials["outcome"] == Outcome.OVERLOADED.value).sum())


def _survivors(found: Comparison | None, mine: pd.DataFrame | None) -> str:
    if mine is None:
        return NOT_MEASURED
    if found is None or found.ratio.value is None:
        return f"none, as {n_overloaded(mine)} of {len(mine)} trials were overloaded"
    shown = show(found.ratio).interval
    said = _SAID[found.verdict] if found.n_blocks >= FEWEST_FOR_P else "too few for a verdict"
    return f"{shown} in {found.n_blocks} of {len(mine)} blocks, {said}"


def _n_kept(trials: pd.DataFrame | None) -> int:
    return 0 if trials is None else int((~trials["excluded"].astype(bool)).sum())


def _ratio(table: pd.DataFrame, level: str, variant: str, pool: str) -> Estimate | None:
    if level == pool:
        return None
    found = effect_with_all(table, FACTOR, OUTCOMES["serve"], variant=variant, base=level, other=pool)
    return None if found is None else found.ratio


def _mine(table: pd.DataFrame | None, level: str, variant: str) -> pd.DataFrame | None:
    """The trials of a variant at a level, duplicates apart; ``None``: there are none."""
    if table is None:
        return None
    found = table[(table[FACTOR] == level) & (table["variant"] == variant) & ~table["duplicate"].astype(bool)]
    return None if found.empty else found
