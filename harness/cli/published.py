# SPDX-License-Identifier: Apache-2.0
"""Published values by key, read without what publishing loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.errors import InputError

GENERATED = Path("paper") / "generated"
#: Those that the paper cites; they stand in the files of the notebooks, too.
_CITED = "values.json"


def published_values(root: Path) -> dict[str, dict[str, Any]]:
    """Return every value that a notebook has published; empty: none has.

    Raises:
        InputError: a file is damaged.
    """
    values: dict[str, dict[str, Any]] = {}
    for file in sorted((root / GENERATED).glob("*.json")):
        try:
            values |= json.loads(file.read_text("utf-8"))["values"] if file.name != _CITED else {}
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"cannot be read ({error})", file=file) from None
    return values
