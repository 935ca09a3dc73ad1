# SPDX-License-Identifier: Apache-2.0
"""The results of a duel as rows that limits are held against; the comparison is that of ``rematch results``."""

from __future__ import annotations

from harness.compare.result import Row
from harness.evidence.results import Results, VariantResult
from harness.model import Verdict
from harness.model.age import YOUNG
from harness.model.formatting import NOT_ABOUT


def rows_of(found: Results) -> tuple[Row, ...]:
    """Return a row for each metric: A is the reference, B the other version. ``verdict`` is ``None`` where the
    session cannot have one: smoke, fewer blocks than a verdict takes, or something else than the services decided."""
    rows: list[Row] = []
    for one in found.metrics:
        for cell in one.cells:
            reference, *others = cell.variants
            rows += [_row(one.metric.name, reference, other, conclusive=found.conclusive) for other in others]
    return tuple(rows)


def _row(metric: str, reference: VariantResult, other: VariantResult, *, conclusive: bool) -> Row:
    compared = other.comparison
    row = Row(metric=metric, label=None, a=reference.estimate.value, b=other.estimate.value)
    if compared is None:
        return row.model_copy(update={"why": "no trial of both versions has it"})
    ratio = compared.ratio
    told = conclusive and compared.verdict is not Verdict.NOT_ABOUT_SERVICES
    why = (
        f"of {YOUNG} processes" * compared.young
        if told
        else (compared.not_about or NOT_ABOUT)
        if conclusive
        else "smoke checks that everything works"
    )
    return row.model_copy(
        update={
            "ratio": ratio.value, "low": ratio.low, "high": ratio.high, "margin": compared.margin,
            "verdict": compared.verdict if told else None, "why": why,
        }
    )  # fmt: skip
