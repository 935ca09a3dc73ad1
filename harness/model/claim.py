# SPDX-License-Identifier: Apache-2.0
"""A published claim: what was said, the predicate that would make it true, and which numbers test it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Frozen

#: A cell of a published table is found by these columns and values.
Cell = dict[str, str | int | float]
Pick = Literal["only", "least", "greatest", "wins"]


class ClaimVerdict(StrEnum):
    """What can be said of a claim here."""

    HOLDS = "holds"
    HOLDS_WEAKER = "holds_weaker"
    HOLDS_STRONGER = "holds_stronger"
    REVERSED = "reversed"
    DOES_NOT_HOLD = "does_not_hold_today"
    CONTRADICTED = "contradicted_by_its_own_numbers"
    INCONCLUSIVE = "inconclusive"
    UNTESTABLE = "untestable_here"

    @property
    def judged(self) -> bool:
        """Whether the claim was decided, either way."""
        return self not in (ClaimVerdict.INCONCLUSIVE, ClaimVerdict.UNTESTABLE)


class _Limit(Frozen):
    """A limit; a number within ``margin`` of it, as a share, counts as equal to it."""

    kind: Literal["above", "below", "near"]
    limit: float = Field(default=1.0, gt=0)
    margin: float = Field(default=0.05, gt=0)

    @property
    def band(self) -> tuple[float, float]:
        """The numbers that count as near."""
        return self.limit / (1 + self.margin), self.limit * (1 + self.margin)

    def holds(self, value: float) -> bool:
        """Return whether a number without an interval fulfils it."""
        if self.kind == "near":
            return self.band[0] <= value <= self.band[1]
        return value > self.limit if self.kind == "above" else value < self.limit


class Above(_Limit):
    """The number is above ``limit``."""

    kind: Literal["above"] = "above"


class Below(_Limit):
    """The number is below ``limit``."""

    kind: Literal["below"] = "below"


class Near(_Limit):
    """The number is within ``margin`` of ``limit``."""

    kind: Literal["near"] = "near"


Predicate = Annotated[Above | Below | Near, Field(discriminator="kind")]


class PublishedNumber(Frozen):
    """A number of ``data/published``: one cell, or the ratio of two.

    ``pick``: ``only``, one cell; ``least`` or ``greatest`` of several, which are paired by the columns ``by`` where
    there are two sides; ``wins``: in how many of the groups ``by`` a row of ``of`` has the highest value.
    """

    file: str
    column: str
    of: Cell
    over: Cell | None = None
    over_column: str | None = None
    pick: Pick = "only"
    by: tuple[str, ...] = ()
    factor: float = Field(default=1.0, gt=0)  # from the table's unit to the predicate's

    @property
    def is_ratio(self) -> bool:
        """Whether it is one cell over another."""
        return self.over is not None or self.over_column is not None

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if self.pick == "wins" and (self.is_ratio or not self.by):
            raise ValueError("wins needs by, and has no over")
        return self


class RowFilter(Frozen):
    """The row of an experiment that a number of a claim is: a ratio of two arms, or a variant's own value.

    ``where``: the level of every factor, and with the factor ``part`` of a part of the load. ``along``: the factor of
    which two levels are compared, that of ``where`` over ``reference``, within one variant.
    """

    experiment: str
    metric: str  # a column of trials.parquet, or error_share
    variant: str
    reference: str | None = None  # denominator: a variant, or a level of along; None: a value
    along: str | None = None
    where: dict[str, str] = Field(default_factory=dict)

    @property
    def is_ratio(self) -> bool:
        """Whether it is one arm over another."""
        return self.reference is not None

    @model_validator(mode="after")
    def _one_comparison(self) -> Self:
        if self.along is not None and (self.reference is None or self.along not in self.where):
            raise ValueError("along needs a reference, and its level in where")
        if self.along is not None and self.where[self.along] == self.reference:
            raise ValueError("along must compare two levels")
        return self


class ClaimTest(Frozen):
    """One number that the claim is about, with its predicate; a claim holds where each of its tests does."""

    what: str = Field(min_length=1)  # the number in words
    predicate: Predicate
    published: PublishedNumber | None = None
    rows: tuple[RowFilter, ...] = ()  # all that could judge it; the best evidence of them does
    then: tuple[RowFilter, ...] = ()  # the same of the source's programs and runtimes, by its method
    then_ours: tuple[RowFilter, ...] = ()  # the same of the source's programs and runtimes, by ours
    missing: str | None = None  # why nothing here measures it
    age: Literal["warm"] | None = None  # warm: it speaks of warm services, and no young process judges it
    # system: with its database and load, whatever bounds the trials
    subject: Literal["services", "system"] = "services"
    needs_cpus: int | None = Field(default=None, ge=1)  # CPUs of the machine that it speaks of
    needs_connections: int | None = Field(default=None, ge=1)  # connections at once that the load has to have

    @property
    def is_ratio(self) -> bool:
        """Whether its number is a ratio; else it has the unit of its metric."""
        numbers = (self.published, *self.rows, *self.then, *self.then_ours)
        return any(number.is_ratio for number in numbers if number is not None)

    @model_validator(mode="after")
    def _rows_or_missing(self) -> Self:
        if bool(self.rows) == (self.missing is not None):
            raise ValueError("must have either rows or missing")
        numbers = (self.published, *self.rows, *self.then, *self.then_ours)
        if any(number is not None and number.is_ratio != self.is_ratio for number in numbers):
            raise ValueError("published and rows must be all ratios, or all values")
        return self


class PublishedFact(Frozen):
    """What the published numbers say beside the claim: shown, not judged."""

    what: str = Field(min_length=1)
    published: PublishedNumber


class Claim(Frozen):
    """One row of the ledger. ``family``: its p-values are adjusted together (Holm)."""

    source: str  # key of paper/references.bib
    origin: Literal["article", "repository", "vendor"] = "article"
    statement: str = Field(min_length=1)  # in our own words
    workload: str
    condition: str = Field(min_length=1)
    metric: str = Field(min_length=1)
    printed: str | None = None  # the published value; None: no number was printed
    quote: str | None = None  # a sentence of a vendor, word by word
    page: str | None = None  # where the quoted sentence stands
    family: str
    tests: tuple[ClaimTest, ...] = Field(min_length=1)
    facts: tuple[PublishedFact, ...] = ()
    opposes: tuple[str, ...] = ()  # claims of the ledger that cannot hold beside it
    remark: str | None = None


class NoVerdictThen(Frozen):
    """Why claims of a source have no verdict of its time: no session, or none that is needed.

    ``rows``: numbers that the reason rests on.
    """

    reason: str = Field(min_length=1)
    rows: tuple[RowFilter, ...] = ()


class Ledger(Frozen):
    """All claims by their name, in the file's order. ``not_then``: by source."""

    claims: dict[str, Claim] = Field(min_length=1)
    not_then: dict[str, NoVerdictThen] = Field(default_factory=dict)
