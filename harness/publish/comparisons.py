# SPDX-License-Identifier: Apache-2.0
"""Comparisons as tables and sentences: what is printed beside a verdict, and why a column is not printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.verdicts import ALPHA, FEWEST_FOR_P, smallest_p
from harness.model.age import YOUNG_MEANS
from harness.model.digits import cell_words, plain, whole_percent
from harness.model.formatting import show, verdict_name
from harness.publish.cells import Cell
from harness.publish.metric_words import metric_name
from harness.publish.results import NO_TEXT, Absent, Leaf, as_is

_ADJUSTED_BY = {"exploratory": "Benjamini and Hochberg", "confirmatory": "Holm"}


def comparison_columns(found: Sequence[Comparison], levels: Sequence[str]) -> dict[str, str]:
    """Return the columns for ``Publisher.table``; p-values have one where any comparison has one that tells."""
    columns = {"variant": "variant", **{name: name.replace("_", "-") for name in levels}}
    columns |= {"ratio": "ratio", "hodges_lehmann": "Hodges-Lehmann"}
    if any(c.p_adjusted is not None for c in found):
        columns["p"] = "p adj."
    return columns | {"verdict": "verdict"}


def comparison_rows(found: Sequence[Comparison], labels: Mapping[str, str]) -> list[Mapping[str, Cell]]:
    """Return rows for ``Publisher.table``: variant, levels, both ratios, adjusted p, verdict."""
    return [
        {
            "variant": labels.get(c.variant, c.variant),
            **c.levels,
            "ratio": c.ratio,
            "hodges_lehmann": c.hodges_lehmann,
            "p": None if c.p_adjusted is None else plain(c.p_adjusted, 2),
            "verdict": verdict_name(c),
            "blocks": c.n_blocks,
        }
        for c in found
    ]


def comparison_notes(found: Sequence[Comparison], labels: Mapping[str, str]) -> list[str]:
    """Return the notes below a table of comparisons: of ratios not about the services, ages, p-values and margins.

    Args:
        labels: variant -> how a reader knows it.
    """
    return (
        [*bound_notes(found, labels), *age_notes(found, labels), p_note(found), margin_note(found, labels)]
        if found
        else []
    )


def bound_notes(found: Sequence[Comparison], labels: Mapping[str, str]) -> list[str]:
    """Return a sentence on the ratios that do not speak of the services, by what they speak of; none: all do."""
    told: dict[str, dict[str, list[str]]] = {}
    for c in found:
        if c.not_about is not None:
            told.setdefault(c.not_about, {}).setdefault(labels.get(c.variant, c.variant), []).append(
                _cell(c) if c.levels else ""
            )
    if not told:
        return []
    n_cells = Counter(labels.get(c.variant, c.variant) for c in found)
    said = "; ".join(
        f"{', '.join(_whose(name, cells, n_cells[name]) for name, cells in whose.items())}: {why}"
        for why, whose in told.items()
    )
    return [f"Not about the services, so without a verdict: {said}."]


def _whose(variant: str, cells: Sequence[str], of: int) -> str:
    """A variant with the cells that are meant, of so many."""
    if cells == [""]:
        return variant
    return f"{variant} in all {of} cells" if len(cells) == of > 1 else f"{variant} ({'; '.join(cells)})"


def age_notes(found: Sequence[Comparison], labels: Mapping[str, str]) -> list[str]:
    """Return what the table is not of: warm services where an arm is young, and trials left out for their age."""
    young = [c for c in found if c.young]
    which = "All ratios are" if len(young) == len(found) else f"{len(young)} of {len(found)} ratios are"
    notes = []
    if young:
        notes = [f"{which} of young processes ({YOUNG_MEANS}), and say nothing of warm services."]
    elif any(c.names_young for c in found):
        notes = [f"Trials are young where {YOUNG_MEANS}."]
    left_out = left_out_note(found, labels)
    return [*notes, left_out] if left_out else notes


def left_out_note(found: Sequence[Comparison], labels: Mapping[str, str]) -> str:
    """Return which trials the ratios are without for their age, and the ratios with them; empty: they have all.

    Of several metrics each ratio says which it is of.
    """
    several = len({c.metric for c in found}) > 1
    said = [
        f"{_left_out(c, labels)}{f' ({_cell(c)})' if c.levels else ''}, with them {show(c.beside.ratio).interval}"
        + (f" in {metric_name(c.metric)}" if several else "")
        for c in found
        if c.beside is not None
    ]
    return f"Left out for their age: {'; '.join(said)}." if said else ""


def _left_out(one: Comparison, labels: Mapping[str, str]) -> str:
    ages = one.ages
    arms = [] if ages is None else [(one.variant, ages.variant), (one.reference, ages.reference)]
    return " and ".join(f"{age.left_out} of {labels.get(name, name)}" for name, age in arms if age.n_left_out)


def p_note(found: Sequence[Comparison]) -> str:
    """Return the sentence on adjusted p-values: how they were made, or why none is printed."""
    told = [c for c in found if c.p_adjusted is not None]
    family = max(c.n_family for c in found)
    if told:
        without = [c for c in found if c.p_adjusted is None]
        why = ["too few blocks for one"] if any(c.about_services for c in without) else []
        why += (
            ["a ratio that is not about the services"] if not all(c.about_services for c in without) else []
        )
        lost = f" A dash: {', or '.join(why)}." if without else ""
        return (
            f"p adj.: sign flips over blocks, adjusted by {_ADJUSTED_BY[told[0].family]} over {family} comparisons; "
            f"above {plain(ALPHA, 1)} nothing is called different.{lost}"
        )
    blocks = max(c.n_blocks for c in found)
    if blocks < FEWEST_FOR_P:
        return f"No p-value and no verdict is given below {FEWEST_FOR_P} blocks."
    times = f", times {family} comparisons" if family > 1 else ""
    return (
        f"No p-values: with {blocks} blocks the smallest p of sign flips is 1/{round(1 / smallest_p(blocks))}{times}, "
        f"above {plain(ALPHA, 1)}. Each verdict rests on its own intervals, without adjustment for their number."
    )


def margin_note(found: Sequence[Comparison], labels: Mapping[str, str] | None = None) -> str:
    """Return the sentence on the margin of equivalence in each cell, and on the cell that its noise comes from.

    Args:
        labels: variant -> how a reader knows it; variants are named where a cell has more than one margin, and
            metrics too where one variant has.
    """
    cells: dict[str, dict[str, list[Comparison]]] = {}
    sources: dict[str, list[str]] = {}
    for c in found:
        cell = _cell(c)
        cells.setdefault(cell, {}).setdefault(_margin(c), []).append(c)
        if c.noise.elsewhere is not None and cell not in sources.setdefault(c.noise.elsewhere, []):
            sources[c.noise.elsewhere].append(cell)
    by_margin: dict[str, list[str]] = {}
    for cell, margins in cells.items():
        names = {margin: _whose_margins(mine, margins, labels or {}) for margin, mine in margins.items()}
        for margin, who in names.items():
            where = "" if who and len(cells) == 1 else cell
            by_margin.setdefault(margin, []).append(": ".join(filter(None, (where, who))))
    told = "; ".join(f"{margin} ({_and(cells_of)})" for margin, cells_of in by_margin.items())
    said = f"Margin of equivalence: {told if len(by_margin) > 1 else next(iter(by_margin))}."
    for source, cells_of in sources.items():
        said += f" No pair of the reference in {_and(cells_of)}: the noise there is that of {source}."
    return said


def _whose_margins(
    mine: Sequence[Comparison], margins: Mapping[str, Sequence[Comparison]], labels: Mapping[str, str]
) -> str:
    """Whose one margin of a cell is; empty: the cell has no other."""
    if len(margins) == 1:
        return ""
    n_margins = Counter(name for each in margins.values() for name in {c.variant for c in each})
    names = [
        labels.get(c.variant, c.variant) + (f", {metric_name(c.metric)}" if n_margins[c.variant] > 1 else "")
        for c in mine
    ]
    return ", ".join(dict.fromkeys(names))


def noise_results(found: Sequence[Comparison], main: Mapping[str, str]) -> dict[str, Leaf]:
    """Return of the main cell ``aa``, the reference over itself, ``noise``, ``noise_cell``, where its pairs were
    made, and ``margin``, in words."""
    at_main = next((c for c in found if c.levels == dict(main)), None)
    if at_main is None:
        nothing = Absent(unit="relative")
        return {"aa": nothing, "noise": nothing, "noise_cell": NO_TEXT, "margin": NO_TEXT}
    noise = at_main.noise
    where = _cell(at_main) if noise.elsewhere is None else noise.elsewhere
    what = f"smallest margin at which the reference equals itself, {where}"
    return {
        "aa": noise.ratio,
        "noise": as_is(noise.noise, "relative", what),
        "noise_cell": where if noise.elsewhere is None else f"{where}, not the cell of the text",
        "margin": _margin(at_main),
    }


def _margin(c: Comparison) -> str:
    return f"none, {c.why_not_equivalent}" if c.margin is None else whole_percent(c.margin)


def _cell(c: Comparison) -> str:
    return cell_words(c.levels) or "all trials"


def _and(words: Sequence[str]) -> str:
    return " and in ".join(words)
