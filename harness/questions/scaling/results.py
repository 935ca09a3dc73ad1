# SPDX-License-Identifier: Apache-2.0
"""What the paper says of cores: growth, the scalability law, and what depends on the number of cores."""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.estimates import nothing
from harness.model import Estimate, Experiment
from harness.publish.cells import Cell, gapped
from harness.publish.findings import FINDING, Phrase, comparisons_in, finding
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Leaf, Tree, for_each
from harness.questions.scaling.analysis import LOGGING, OFF, ON, ScalingRow, Sweep

#: part of the key -> (number of the law, unit)
_LAW = {
    "per_core": ("per_core_per_s", "1/s"),
    "contention": ("contention", "share"),
    "coherency": ("coherency", "share"),
    "peak": ("peak_cores", "cores"),
}
_PHRASE = Phrase(
    who="services",
    more="answer more requests per second on the most cores than on the fewest",
    less="answer fewer requests per second on the most cores than on the fewest",
    more_short="more",
    less_short="fewer",
)
_WHERE = ("fewest", "most", "by_cores")


def results(sweep: Sweep | None, definition: Experiment) -> Tree:
    """Return what a sweep says of every variant of the definition, measured or not.

    ``growth.<logging>.<variant>``, ``law.<logging>.<number>.<variant>``, ``log.<where>.<variant>`` (the effect of a
    log line), ``lead.<logging>.<where>.<variant>`` (over the reference); ``where`` is fewest, most or by_cores.
    ``fewest``, ``most``, ``shared`` and ``refused`` are words; ``finding``: title, take-away and how sure, of growth.
    """
    variants = definition.labels
    reference = definition.reference if sweep is None else sweep.reference
    rows = {(row.levels[LOGGING], row.variant): row for row in sweep.rows} if sweep else {}
    refused = sorted({row.refused for row in rows.values() if row.refused})
    others = [name for name in variants if name != reference]
    growth = {
        logging: for_each(
            variants,
            {name: row.growth for (at, name), row in rows.items() if at == logging},
            NO_COMPARISON,
        )
        for logging in (OFF, ON)
    }
    return {
        "name": variants,
        FINDING: finding(comparisons_in(growth[OFF]), _PHRASE),
        "fewest": sweep.fewest if sweep else NO_TEXT,
        "most": sweep.most if sweep else NO_TEXT,
        "shared": ", ".join(map(str, sweep.shared)) or "none" if sweep else NO_TEXT,
        "refused": "; ".join(refused) or "nowhere" if sweep else NO_TEXT,
        "growth": growth,
        "law": {
            logging: {
                part: {name: _law(rows.get((logging, name)), part) for name in variants} for part in _LAW
            }
            for logging in (OFF, ON)
        },
        "log": {
            where: for_each(variants, sweep.log[where] if sweep else {}, NO_COMPARISON) for where in _WHERE
        },
        "lead": {
            logging: {
                where: for_each(others, sweep.lead[logging][where] if sweep else {}, NO_COMPARISON)
                for where in _WHERE
            }
            for logging in (OFF, ON)
        },
    }


def growth_rows(sweep: Sweep | None) -> list[Mapping[str, Cell] | None]:
    """Return one table row per variant and logging: sizes, growth, the law's numbers and how far
    it is off at worst, or why there are none."""
    rows = sorted(sweep.rows, key=lambda row: row.levels[LOGGING]) if sweep else ()
    cells: list[Mapping[str, Cell]] = [
        {
            "variant": row.label,
            "logging": row.levels[LOGGING],
            "sizes": ", ".join(map(str, row.sizes)),
            "growth": row.growth.ratio if row.growth else None,
            "limited": row.n_bottleneck,
            **{part: _number(row, part) for part in _LAW},
            "misfit": _misfit(row),
        }
        for row in rows
    ]
    return gapped(cells, LOGGING)


def _law(row: ScalingRow | None, part: str) -> Leaf:
    return Absent(unit=_LAW[part][1]) if row is None else _number(row, part)


def _number(row: ScalingRow, part: str) -> Estimate:
    field, unit = _LAW[part]
    if row.fit is not None:
        estimate: Estimate = getattr(row.fit, field)
        return estimate
    return nothing(
        f"cannot be said: {row.refused}", estimand=f"{part} of the universal scalability law", unit=unit
    )


def _misfit(row: ScalingRow) -> Estimate | None:
    if row.fit is None:
        return None
    return Estimate(
        value=row.fit.worst_residual,
        unit="relative",
        method="as is",
        estimand="largest share by which the mean of a size is off the fitted law",
        n_trials=row.fit.per_core_per_s.n_trials,
    )


__all__ = ["growth_rows", "results"]
