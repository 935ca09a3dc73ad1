# SPDX-License-Identifier: Apache-2.0
"""The results of a question as one tree, and its two renderings: keys for the text of the paper, rows for tables.

A question returns the same tree for every variant of its definition, measured or not, so that the keys a paper
can cite do not depend on what a profile measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.pairing import inputs_of
from harness.analysis.stats.summaries import summarise
from harness.errors import InputError
from harness.evidence.load_response import effect_between
from harness.model import Estimate
from harness.model.digits import plain
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published, joined
from harness.publish.publisher import Publisher, slug


@dataclass(frozen=True, kw_only=True)
class Absent:
    """A result that there is none of: a leaf like any other, with the reason."""

    kind: Literal["number", "comparison", "text"] = "number"
    unit: str = "ratio"
    why: str = NOT_MEASURED


Leaf = Estimate | Comparison | str | Absent
Tree = Mapping[str, "Tree | Leaf"]

#: In a path of ``rows_of``: the level whose names become the rows.
ROW = "*"


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


def put(publisher: Publisher, prefix: str, tree: Tree, *, guards: Collection[str] = ()) -> Published:
    r"""Publish a tree: each leaf's key is ``prefix`` and its path, joined by dots.

    An estimate is ``\val{key}`` and ``\valci{key}``; a comparison at ``a.b.name`` becomes ``a.b.ratio.name`` and
    ``a.b.verdict.name``; a text is ``\val{key}``. What is absent has the same keys, with a dash and the reason.
    ``<prefix>.measured`` is published when any leaf says anything, ``<prefix>.<guard>.measured`` when any leaf
    below the branch ``guard`` (a path joined by dots) does: the sections of the paper ask for these.

    Raises:
        InputError: a guard that is no branch of the tree, or two leaves with one key.
    """
    found = list(leaves(tree))
    keys: set[str] = set()
    said = []
    with publisher.together():
        for path, leaf in found:
            key = _key(prefix, *path)
            if key in keys:
                raise InputError("two results of one key", place=key)
            keys.add(key)
            shown = _put(publisher, _key(prefix, *path[:-1]), path[-1], leaf)
            if measured(leaf):
                said.append(shown.text)
        for guard in ("", *guards):
            branch = tuple(guard.split(".")) if guard else ()
            below = [leaf for path, leaf in found if path[: len(branch)] == branch]
            if guard and not below:
                raise InputError("no branch of the results", place=prefix, found=guard)
            if any(map(measured, below)):
                publisher.text(_key(prefix, *branch, "measured"), "measured")
    return Published("\n".join(said) or NOT_MEASURED)


def rows_of(
    tree: Tree, columns: Mapping[str, str], *, labels: Mapping[str, str] | None = None
) -> list[Mapping[str, Cell] | None]:
    r"""Return the rows of a table, one for each name at the level that ``*`` stands for.

    Args:
        columns: cell -> path of its leaf, such as ``growth.off.*``; of a comparison the ratio is taken, with
            ``:verdict``, ``:p`` or ``:blocks`` behind the path what else it says.
        labels: name at ``*`` -> what the cell ``name`` has; names without one are shown as they are, names
            that are no key of a given mapping are left out.

    Rows of which nothing was measured are left out.
    """
    rows: dict[str, dict[str, Cell]] = {}
    told: set[str] = set()
    for cell, path in columns.items():
        where, _, what = path.partition(":")
        for name, leaf in _at(tree, where.split(".")):
            if labels is not None and name not in labels:
                continue
            rows.setdefault(name, {"name": name if labels is None else labels[name]})[cell] = _cell(
                leaf, what
            )
            if measured(leaf):
                told.add(name)
    order = rows if labels is None else [name for name in labels if name in rows]
    return [rows[name] for name in order if name in told]


def _put(publisher: Publisher, above: str, name: str, leaf: Leaf) -> Published:
    key = f"{above}.{slug(name)}"
    if isinstance(leaf, Estimate):
        return publisher.number(key, leaf)
    if isinstance(leaf, Comparison):
        return publisher.comparison(above, name, leaf)
    if isinstance(leaf, str):
        return publisher.text(key, leaf)
    if leaf.kind == "comparison":
        return publisher.comparison(above, name, None)
    return (
        publisher.text(key, leaf.why) if leaf.kind == "text" else publisher.absent(key, leaf.unit, leaf.why)
    )


def _key(*parts: str) -> str:
    return ".".join((parts[0], *(slug(part) for part in parts[1:])))


def _at(tree: Tree, path: list[str]) -> Iterator[tuple[str, Leaf]]:
    """Yield (name at the level of ``*``, leaf) of all leaves that a path leads to."""
    first, rest = path[0], path[1:]
    for name in tree if first == ROW else (first,) if first in tree else ():
        below = tree[name]
        if isinstance(below, Mapping):
            for inner, leaf in _at(below, rest) if rest else ():
                yield (name if first == ROW else inner), leaf
        elif not rest:
            yield name, below


def _cell(leaf: Leaf, what: str) -> Cell:
    if isinstance(leaf, Comparison):
        if what == "verdict":
            return str(leaf.verdict).replace("_", " ")
        if what == "p":
            return None if leaf.p_adjusted is None else plain(leaf.p_adjusted, 2)
        return leaf.n_blocks if what == "blocks" else leaf.ratio
    if isinstance(leaf, Absent):
        return None if leaf.kind == "text" or what else _nothing(leaf)
    return leaf


def _nothing(leaf: Absent) -> Estimate:
    return Estimate(value=None, unit=leaf.unit, method="none", estimand="", n_trials=0, warnings=(leaf.why,))


__all__ = ["ROW", "Absent", "Leaf", "Tree", "leaves", "measured", "put", "rows_of"]


def publish_names(publisher: Publisher, variants: Mapping[str, str], *, prefix: str) -> Published:
    """Publish how figures name each variant as ``<prefix>.name.<variant>``, so that the text says the same."""
    for name, label in variants.items():
        publisher.text(f"{prefix}.name.{slug(name)}", label, shown=False)
    return Published(", ".join(variants.values()))


def publish_levels(
    publisher: Publisher,
    table: pd.DataFrame | None,
    variants: Mapping[str, str],
    *,
    factor: str,
    base: str,
    other: str,
    metrics: Mapping[str, str],
    prefix: str,
) -> Published:
    """Publish ``<prefix>.<word>.{ratio,verdict}.<variant>``: one level of a factor over another, within a variant.

    Args:
        metrics: word in the key -> column.
    """
    with publisher.together():
        said = [
            publisher.comparison(
                f"{prefix}.{word}",
                name,
                effect_between(table, factor, metric, variant=name, base=base, other=other),
            )
            for name in variants
            for word, metric in metrics.items()
        ]
    return joined(said)


def mean_of(trials: pd.DataFrame, column: str, unit: str) -> Estimate:
    """Return the mean over trials: geometric, of log odds for a share, arithmetic without an interval where a trial
    has 0, or 100 % (:func:`harness.analysis.stats.means.mean_within`)."""
    if column not in trials or trials[column].isna().all():
        return Estimate(
            value=None, unit=unit, method="none", estimand=column, n_trials=0, inputs=inputs_of(trials),
            warnings=(f"no trial has a {column}",),
        )  # fmt: skip
    found: Estimate = summarise(trials.assign(variant="all"), column, unit=unit).iloc[0]["estimate"]
    return found
