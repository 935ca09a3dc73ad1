# SPDX-License-Identifier: Apache-2.0
"""Campaigns that ran, kept in a file of ``docs/``, and their table in a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from harness.errors import InputError
from harness.model import Frozen


class KeptCampaign(Frozen):
    """One campaign: its seed, the source it ran on, and how long it took."""

    seed: int
    place: str
    wall_s: float = Field(ge=0)


Kept = TypeVar("Kept", bound=KeptCampaign)


class CampaignPage(Generic[Kept]):
    """``record``: the file of the campaigns; ``page``: has their table between the lines ``begin`` and ``end``."""

    def __init__(
        self,
        kind: type[Kept],
        table: Callable[[tuple[Kept, ...]], str],
        *,
        record: Path,
        page: Path,
        name: str,
    ) -> None:
        self._all = TypeAdapter[tuple[Kept, ...]](tuple[kind, ...])  # type: ignore[valid-type]  # known when it runs
        self._table = table
        self.record, self.page = record, page
        self.begin = f"<!-- {name}: written by `python -m harness verify {name} --write` -->"
        self.end = f"<!-- /{name} -->"

    def parts(self, root: Path, seed: int) -> Path:
        """Return the file beside the record that has what a campaign consists of."""
        return root / self.record.with_name(f"{self.record.stem}-{seed}.jsonl")

    def read(self, root: Path) -> tuple[Kept, ...]:
        """Return the campaigns that were kept.

        Raises:
            InputError: the record is damaged.
        """
        file = root / self.record
        if not file.is_file():
            return ()
        try:
            return self._all.validate_json(file.read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(first["msg"], file=file, place=".".join(map(str, first["loc"]))) from None

    def write(self, root: Path, one: Kept) -> Path:
        """Add a campaign to the record, in the place of one with the same seed, and write the table.

        Raises:
            InputError: the page has no place for it, or the record is damaged.
        """
        every = (*(other for other in self.read(root) if other.seed != one.seed), one)
        page = root / self.page
        text = page.read_text("utf-8")
        if self.begin not in text or self.end not in text:
            raise InputError(
                "has no place for the table", file=page, allowed=f"the lines {self.begin} and {self.end}"
            )
        plain = [campaign.model_dump(mode="json") for campaign in every]
        (root / self.record).write_text(json.dumps(plain, indent=1) + "\n", "utf-8")
        head, rest = text.split(self.begin, 1)
        after = rest.split(self.end, 1)[1]
        page.write_text(f"{head}{self.begin}\n{self._table(every)}\n{self.end}{after}", "utf-8")
        return page


__all__ = ["CampaignPage", "KeptCampaign"]
