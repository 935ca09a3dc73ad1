# SPDX-License-Identifier: Apache-2.0
"""What the paper says of cores: growth, the scalability law, and what depends on the number of cores."""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.comparisons import Comparison
from harness.model import Estimate
from harness.model.formatting import NOT_MEASURED
from harness.publish.cells import Cell
from harness.publish.display import Published
from harness.publish.publisher import Publisher, slug
from harness.publish.results import publish_names
from harness.questions.scaling.analysis import OFF, ON, ScalingRow, Sweep

#: part of the key -> (number of the law, unit)
_LAW = {
    "per_core": ("per_core_per_s", "1/s"),
    "contention": ("contention", "share"),
    "coherency": ("coherency", "share"),
    "peak": ("peak_cores", "cores"),
}


def publish_scaling(
    publisher: Publisher,
    sweep: Sweep | None,
    variants: Mapping[str, str],
    *,
    reference: str,
    prefix: str = "scaling",
) -> Published:
    """Publish what a sweep says for every variant of the definition, measured or not.

    Keys: ``<prefix>.growth.{off,on}.{ratio,verdict}.<variant>``, ``<prefix>.law.{off,on}.<number>.<variant>``,
    ``<prefix>.log.{fewest,most,by_cores}.{ratio,verdict}.<variant>``, and against the reference
    ``<prefix>.lead.{off,on}.{fewest,most,by_cores}.{ratio,verdict}.<variant>``;
    ``<prefix>.{fewest,most,shared,refused}`` in words; ``<prefix>.law.measured`` where the law was fitted at all.
    """
    with publisher.together() as published:
        publish_names(publisher, variants, prefix=prefix)
        publisher.text(f"{prefix}.fewest", sweep.fewest if sweep else NOT_MEASURED)
        publisher.text(f"{prefix}.most", sweep.most if sweep else NOT_MEASURED)
        publisher.text(f"{prefix}.shared", _shared_words(sweep))
        for name in variants:
            _publish_variant(publisher, sweep, name, prefix)
            if name != reference:
                _publish_lead(publisher, sweep, name, prefix)
        refused = sorted({row.refused for row in sweep.rows if row.refused}) if sweep else [NOT_MEASURED]
        publisher.text(f"{prefix}.refused", "; ".join(refused) or "nowhere")
        if sweep is not None:
            publisher.text(f"{prefix}.measured", "measured")
        if sweep is not None and any(row.fit for row in sweep.rows):
            publisher.text(f"{prefix}.law.measured", "measured")
    return published


def scaling_cells(sweep: Sweep | None) -> list[Mapping[str, Cell] | None]:
    """Return one table row per variant and logging: sizes, growth, the law's numbers and how far
    it is off at worst, or why there are none."""
    rows: list[Mapping[str, Cell] | None] = []
    for row in sorted(sweep.rows, key=lambda r: r.levels["logging"]) if sweep else ():
        if rows and rows[-1] is not None and rows[-1]["logging"] != row.levels["logging"]:
            rows.append(None)
        rows.append(
            {
                "variant": row.label,
                "logging": row.levels["logging"],
                "sizes": ", ".join(map(str, row.sizes)),
                "growth": row.growth.ratio if row.growth else None,
                "limited": row.n_bottleneck,
                **{part: _law(row, part) for part in _LAW},
                "misfit": _misfit(row),
            }
        )
    return rows


def interaction_cells(sweep: Sweep | None, variants: Mapping[str, str]) -> list[Mapping[str, Cell] | None]:
    """Return one table row per variant: the log line's effect at both ends of the sweep, and their ratio."""
    if sweep is None:
        return []
    return [
        {
            "variant": variants[name],
            "fewest": _ratio(sweep.log_effect[sweep.fewest].get(name)),
            "most": _ratio(sweep.log_effect[sweep.most].get(name)),
            "by_cores": _ratio(found),
            "verdict": str(found.verdict).replace("_", " ") if found else None,
            "blocks": found.n_blocks if found else None,
        }
        for name, found in sweep.log_by_cores.items()
    ]


def lead_cells(sweep: Sweep | None, variants: Mapping[str, str]) -> list[Mapping[str, Cell] | None]:
    """Return one table row per variant and logging: its lead over the reference at both ends, and their ratio."""
    rows: list[Mapping[str, Cell] | None] = []
    for logging in (OFF, ON) if sweep else ():
        assert sweep is not None  # the line above goes through nothing else
        rows += [None] if rows else []
        rows += [
            {
                "variant": variants[name],
                "logging": logging,
                "fewest": _ratio(sweep.lead[sweep.fewest, logging].get(name)),
                "most": _ratio(sweep.lead[sweep.most, logging].get(name)),
                "by_cores": _ratio(found),
                "verdict": str(found.verdict).replace("_", " ") if found else None,
            }
            for name, found in sweep.lead_by_cores[logging].items()
        ]
    return rows


def _publish_variant(publisher: Publisher, sweep: Sweep | None, name: str, prefix: str) -> None:
    for logging in (OFF, ON):
        row = sweep.row(name, logging) if sweep else None
        publisher.comparison(f"{prefix}.growth.{logging}", name, row.growth if row else None)
        for part, (_, unit) in _LAW.items():
            key = f"{prefix}.law.{logging}.{part}.{slug(name)}"
            if row is None:
                publisher.absent(key, unit, NOT_MEASURED)
            else:
                publisher.number(key, _law(row, part))
    effects: dict[str, Comparison | None] = {"fewest": None, "most": None, "by_cores": None}
    if sweep is not None:
        effects = {
            "fewest": sweep.log_effect[sweep.fewest].get(name),
            "most": sweep.log_effect[sweep.most].get(name),
            "by_cores": sweep.log_by_cores.get(name),
        }
    for where, found in effects.items():
        publisher.comparison(f"{prefix}.log.{where}", name, found)


def _publish_lead(publisher: Publisher, sweep: Sweep | None, name: str, prefix: str) -> None:
    for logging in (OFF, ON):
        found: dict[str, Comparison | None] = {"fewest": None, "most": None, "by_cores": None}
        if sweep is not None:
            found = {
                "fewest": sweep.lead[sweep.fewest, logging].get(name),
                "most": sweep.lead[sweep.most, logging].get(name),
                "by_cores": sweep.lead_by_cores[logging].get(name),
            }
        for where, one in found.items():
            publisher.comparison(f"{prefix}.lead.{logging}.{where}", name, one)


def _law(row: ScalingRow, part: str) -> Estimate:
    field, unit = _LAW[part]
    if row.fit is not None:
        estimate: Estimate = getattr(row.fit, field)
        return estimate
    return Estimate(
        value=None, unit=unit, method="none", estimand=f"{part} of the universal scalability law", n_trials=0,
        warnings=(f"cannot be said: {row.refused}",),
    )  # fmt: skip


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


def _ratio(found: Comparison | None) -> Estimate:
    if found is not None:
        return found.ratio
    return Estimate(
        value=None, unit="ratio", method="none", estimand="", n_trials=0, warnings=(NOT_MEASURED,)
    )


def _shared_words(sweep: Sweep | None) -> str:
    if sweep is None:
        return NOT_MEASURED
    return ", ".join(map(str, sweep.shared)) or "none"


__all__ = ["interaction_cells", "lead_cells", "publish_scaling", "scaling_cells"]
