# SPDX-License-Identifier: Apache-2.0
"""The results of a question as one tree: ``Publisher.put`` writes its keys, ``Publisher.table`` prints rows of it.

A question returns the same tree for every variant of its definition, measured or not, so that the keys a paper
can cite do not depend on what a profile measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.pairing import unit_of
from harness.analysis.stats.summaries import summarise
from harness.errors import InputError
from harness.evidence.load_response import effect_between
from harness.model import Estimate
from harness.model.digits import plain
from harness.model.formatting import NOT_MEASURED, verdict_name
from harness.publish.cells import Cell, gapped
from harness.publish.display import Compared


@dataclass(frozen=True, kw_only=True)
class Absent:
    """A result that there is none of: a leaf like any other, with the reason."""

    kind: Literal["number", "comparison", "text"] = "number"
    unit: str = "ratio"
    why: str = NOT_MEASURED


@dataclass(frozen=True)
class Words:
    """A result in words, with the trials that it is of."""

    text: str
    inputs: tuple[str, ...] = ()


Leaf = Estimate | Compared | str | Words | Absent
Tree = Mapping[str, "Tree | Leaf"]
#: (level, name) of each level of a path, the outermost first.
Levels = tuple[tuple[str, str], ...]

NO_COMPARISON, NO_TEXT = Absent(kind="comparison"), Absent(kind="text")
#: The branch that says what figures and tables call each variant: published, and no result of its own.
NAME = "name"


def for_each(names: Iterable[str], found: Mapping[str, Leaf | None], absent: Absent) -> dict[str, Leaf]:
    """Return a leaf for each name: what was found of it, else ``absent``."""
    leaf_of = {name: found.get(name) for name in names}
    return {name: absent if leaf is None else leaf for name, leaf in leaf_of.items()}


def leaves(tree: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Leaf]]:
    """Yield every leaf with its path, in the order of the tree."""
    for name, below in tree.items():
        here = (*path, name)
        if isinstance(below, Mapping):
            yield from leaves(below, here)
        else:
            yield here, below


def measured(leaf: Leaf) -> bool:
    """Tell whether a leaf says anything: a comparison, a text, or an estimate with a value."""
    if isinstance(leaf, Estimate):
        return leaf.value is not None
    return not isinstance(leaf, Absent)


def rows_of(tree: Tree, columns: Iterable[str]) -> list[Mapping[str, Cell] | None]:
    """Return the rows of a table whose columns are paths in the tree.

    Args:
        columns: each a path such as ``lead.<logging>.fewest.<variant>``, or the name of a level. A level in angle
            brackets stands for every branch there, and each combination of them is a row; a gap is between rows
            of different outer levels. Of a comparison the ratio is taken, with ``:verdict``, ``:p`` or ``:blocks``
            behind the path what else it says. Names of the innermost level are labelled, and in the order of, the
            branch ``name`` of the tree.

    Rows of which nothing was measured are left out.

    Raises:
        InputError: a path that leads nowhere, or paths with different levels.
    """
    rows: dict[Levels, dict[str, Cell]] = {}
    told: set[Levels] = set()
    paths = [column for column in columns if "." in column]
    for column in paths:
        where, _, what = column.partition(":")
        for levels, leaf in _at(tree, where.split(".")):
            rows.setdefault(levels, {})[column] = _cell(leaf, what)
            if measured(leaf):
                told.add(levels)
    for column in paths if rows else ():
        if not any(column in row for row in rows.values()):
            raise InputError("no branch of the results", place="columns", found=column)
    if len({tuple(level for level, _ in levels) for levels in rows}) > 1:
        raise InputError("columns of different levels", place="columns", found=", ".join(paths))
    names = tree.get(NAME)
    labels = dict(names) if isinstance(names, Mapping) else {}
    outer, inner = (
        list(dict.fromkeys(part)) for part in ([r[:-1] for r in rows], [*labels, *(r[-1][1] for r in rows)])
    )
    order = sorted(told, key=lambda levels: (outer.index(levels[:-1]), inner.index(levels[-1][1])))
    made = [
        {**dict(levels), levels[-1][0]: str(labels.get(levels[-1][1], levels[-1][1])), **rows[levels]}
        for levels in order
    ]
    return gapped(made, *(level for level, _ in order[0][:-1])) if made else []


def _at(tree: Tree, path: Sequence[str], levels: Levels = ()) -> Iterator[tuple[Levels, Leaf]]:
    """Yield ((level, name) of every level, leaf) for the leaves that a path leads to."""
    first, rest = path[0], path[1:]
    for name in tree if first.startswith("<") else {first} & set(tree):
        below, here = tree[name], (*levels, (first[1:-1], name)) if first.startswith("<") else levels
        if isinstance(below, Mapping):
            yield from _at(below, rest, here) if rest else ()
        elif not rest:
            yield here, below


def _cell(leaf: Leaf, what: str) -> Cell:
    if isinstance(leaf, Absent):
        return None if leaf.kind == "text" or what else nothing(leaf.unit, leaf.why)
    if isinstance(leaf, Words):
        return leaf.text
    if isinstance(leaf, Estimate | str):
        return leaf
    if what == "verdict":
        return verdict_name(leaf)
    if what and isinstance(leaf, Comparison):
        p = leaf.p_adjusted
        return leaf.n_blocks if what == "blocks" else None if p is None else plain(p, 2)
    return leaf.ratio


def nothing(unit: str, why: str) -> Estimate:
    """Return an estimate without a value: a dash with its reason."""
    return Estimate(value=None, unit=unit, method="none", estimand="", n_trials=0, warnings=(why,))


def as_is(value: float | None, unit: str, what: str) -> Estimate:
    """Return a plain number that is no estimate over trials: a count, a published number."""
    return Estimate(value=value, unit=unit, method="as is", estimand=what, n_trials=0)


def means(trials: pd.DataFrame, variants: Iterable[str], metric: str) -> dict[str, Leaf]:
    """Return variant -> a metric's mean over its trials (:func:`harness.analysis.stats.summaries.summarise`)."""
    frame = summarise(trials, metric)
    found = dict(zip(frame["variant"].astype(str), frame["estimate"], strict=True))
    return for_each(variants, found, Absent(unit=unit_of(metric)))


def level_effects(
    table: pd.DataFrame | None,
    variants: Iterable[str],
    *,
    factor: str,
    base: str,
    other: str,
    metrics: Mapping[str, str],
) -> Mapping[str, Mapping[str, Leaf]]:
    """Return word -> variant -> one level of a factor over another, within a variant.

    Args:
        metrics: word in the key -> column.
    """
    return {
        word: for_each(
            names := list(variants),
            {n: effect_between(table, factor, metric, variant=n, base=base, other=other) for n in names},
            NO_COMPARISON,
        )
        for word, metric in metrics.items()
    }
