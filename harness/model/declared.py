# SPDX-License-Identifier: Apache-2.0
"""Comparisons that an experiment is for, declared before anything is measured: ``[[compare]]`` in its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import Field, model_validator

from harness.model.base import Frozen


class DeclaredComparison(Frozen):
    """Ratios of some metrics, and the family of their p-values.

    Every variant over a reference, variants in pairs, or the levels of a factor over one of them.
    """

    metrics: dict[str, str] = Field(min_length=1, description="name of the result -> column of the trials")
    where: dict[str, str] = Field(default_factory=dict, description="factor -> level: only trials of these")
    by: tuple[str, ...] = Field(default=(), description="factors; each combination is compared on its own")
    against: str | None = Field(default=None, description="variant in the denominator; None: the reference")
    pairs: dict[str, str] = Field(
        default_factory=dict, description="variant -> the variant that it is compared with, in place of all"
    )
    along: str | None = Field(
        default=None, description="factor whose levels are compared within each variant"
    )
    base: str | None = Field(default=None, description="of ``along``: the level in the denominator")
    margin: float | None = Field(
        default=None, gt=0, description="share that is negligible; None: the metric's"
    )
    bounded: bool = Field(
        default=True, description="no verdict where something else than the services bounded the trials"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.along is None) != (self.base is None):
            raise ValueError("along and base belong together")
        if sum(way is not None for way in (self.along, self.against, self.pairs or None)) > 1:
            raise ValueError("along, against and pairs exclude each other")
        return self

    def check(self, place: str, variants: Sequence[str], factors: Mapping[str, Sequence[str]]) -> None:
        """Check that the names are those of the experiment.

        Args:
            factors: factor -> its levels.

        Raises:
            ValueError: an unknown variant, factor or level.
        """
        for variant in filter(None, (self.against, *self.pairs, *self.pairs.values())):
            if variant not in variants:
                raise ValueError(f"{place}: unknown variant {variant!r}; allowed: {sorted(variants)}")
        for factor in filter(None, (self.along, *self.by, *self.where)):
            if factor not in factors:
                raise ValueError(f"{place}: unknown factor {factor!r}; allowed: {sorted(factors)}")
        for factor, level in (*self.where.items(), *([(self.along, self.base)] if self.along else ())):
            if level not in factors[factor]:
                raise ValueError(
                    f"{place}: unknown level {level!r} of {factor}; allowed: {sorted(factors[factor])}"
                )
