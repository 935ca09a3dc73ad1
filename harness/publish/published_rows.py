# SPDX-License-Identifier: Apache-2.0
"""Rows of questions that still publish single values: each ratio with the verdict that stands under a key of its own.

It goes with the last question of that kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.model import Verdict
from harness.model.formatting import HIGHER, LOWER, NOT_ABOUT

#: Words of a verdict, without the words on the age before them -> the verdict.
_VERDICTS = {
    HIGHER: Verdict.DIFFERENT,
    LOWER: Verdict.DIFFERENT,
    "negligibly": Verdict.DIFFERENT_BUT_NEGLIGIBLE,
    "equivalent": Verdict.EQUIVALENT,
    "not shown to differ": Verdict.INCONCLUSIVE,
    "by so few blocks": Verdict.INCONCLUSIVE,
    NOT_ABOUT: Verdict.NOT_ABOUT_SERVICES,
}
_YOUNG = "in young processes "


def published_rows(values: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return key -> row: rows as they were published, and every single value with its verdict, unit and interval.

    A value without a number is no row, so that a pattern does not match it.
    """
    rows: dict[str, dict[str, Any]] = {}
    for key, entry in values.items():
        if "kind" in entry:
            rows[key] = dict(entry)
        elif entry["value"] is not None:
            words = str(values.get(key.replace(".ratio.", ".verdict."), {}).get("text", ""))
            rows[key] = {
                **entry,
                "label": key.rpartition(".")[2],
                "verdict": _verdict(words) if ".ratio." in key else None,
            }
    return rows


def _verdict(words: str) -> Verdict | None:
    """Return the verdict that words begin with; ``None``: there are none."""
    plain = words.removeprefix(_YOUNG)
    return next((verdict for begin, verdict in _VERDICTS.items() if plain.startswith(begin)), None)
