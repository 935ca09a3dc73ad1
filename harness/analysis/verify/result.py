# SPDX-License-Identifier: Apache-2.0
"""What a verification says: its bar, its control, and every cell with its own limits."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, computed_field

from harness.model.base import Frozen


class Cell(Frozen):
    """One number of a simulation and the limits it must keep. ``None``: no limit on that side."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    control: bool = Field(default=False, description="must fail where the method holds: the simulator bites")

    @computed_field  # type: ignore[prop-decorator]  # pydantic puts it on a property, so that --json has it
    @property
    def holds(self) -> bool:
        """The value keeps both limits."""
        above = self.at_least is None or self.value >= self.at_least
        return above and (self.at_most is None or self.value <= self.at_most)


class VerifyResult(Frozen):
    """One verification. ``holds`` only when every cell does, the controls included."""

    name: str
    bar: str
    control: str
    cells: tuple[Cell, ...]
    sims: int = Field(description="simulated experiments a cell")
    seed: int
    holds: bool


def result(name: str, *, bar: str, control: str, cells: Sequence[Cell], sims: int, seed: int) -> VerifyResult:
    """Put a result together; it holds when all of its cells do."""
    return VerifyResult(
        name=name, bar=bar, control=control, cells=tuple(cells), sims=sims, seed=seed,
        holds=all(cell.holds for cell in cells),
    )  # fmt: skip
