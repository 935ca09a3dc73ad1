# SPDX-License-Identifier: Apache-2.0
"""What the analysis says: an estimate with its interval, and the verdict on a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from pydantic import Field, model_validator

from harness.model.base import Frozen


class Verdict(StrEnum):
    """What a comparison can say; the last one: nothing of the services, something else bounded the trials."""

    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    DIFFERENT_BUT_NEGLIGIBLE = "different_but_negligible"
    INCONCLUSIVE = "inconclusive"
    NOT_ABOUT_SERVICES = "not_about_the_services"

    @property
    def words(self) -> str:
        """The verdict as a cell of a table has it."""
        return "no verdict" if self is Verdict.NOT_ABOUT_SERVICES else self.replace("_", " ")


class Support(StrEnum):
    """Which values a quantity can have at all; a value or a bound outside of it is a mistake of the method."""

    NOT_NEGATIVE = "not negative"  # times, bytes, rates, counts, ratios of such
    SHARE = "share"  # 0 to 1
    REDUCTION = "reduction"  # 1 less a ratio: at most 1, negative where there is more instead of less
    REAL = "real"

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest possible value."""
        return {
            Support.NOT_NEGATIVE: (0.0, float("inf")),
            Support.SHARE: (0.0, 1.0),
            Support.REDUCTION: (float("-inf"), 1.0),
            Support.REAL: (float("-inf"), float("inf")),
        }[self]

    def has(self, value: float) -> bool:
        """Tell whether a value is possible; the last digits of a computed 0 or 1 may be rounding."""
        least, greatest = self.ends
        return least - _ROUNDING <= value <= greatest + _ROUNDING


_ROUNDING = 1e-12


def support_of(unit: str) -> Support:
    """Return what a quantity of this unit can be unless its estimate says otherwise; no unit: any number."""
    return {"share": Support.SHARE, "": Support.REAL}.get(unit, Support.NOT_NEGATIVE)


class Estimate(Frozen):
    """A value with its interval over trials. ``None`` in value or bounds: cannot be said, see ``warnings``.

    It knows which values its quantity can have (``support``; absent: by the unit) and cannot be built, nor
    copied with changes, with a value or a bound that is none of them, or with bounds in the wrong order.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    unit: str  # s, B, 1/s, ratio, share, relative, cores, ...; values are kept unrounded
    support: Support = Support.REAL  # absent: by the unit, see support_of
    method: str
    estimand: str  # what is estimated: geometric mean over trials of ..., ...
    n_trials: int = Field(ge=0)
    n_requests: int | None = None
    seed: int | None = None
    inputs: tuple[str, ...] = Field(default=(), repr=False)  # trials it came from: experiment/session/trial
    warnings: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _with_support(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "support" not in given and isinstance(given.get("unit"), str):
            return {**given, "support": support_of(given["unit"])}
        return given

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        for name in ("value", "low", "high"):
            number: float | None = getattr(self, name)
            if number is not None and not self.support.has(number):
                raise ValueError(
                    f"{self.estimand} ({self.method}): {name} {number:g} cannot be, allowed: {self.support} "
                    f"({self.support.ends[0]:g} to {self.support.ends[1]:g})"
                )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"{self.estimand} ({self.method}): low {self.low:g} is above high {self.high:g}")
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with changes, checked as a new one is; another unit has its own support."""
        del deep  # every part is immutable
        changed = dict(update or {})
        fields = dict(self) | changed
        if "unit" in changed and changed["unit"] != self.unit and "support" not in changed:
            del fields["support"]
        return type(self).model_validate(fields)
