# SPDX-License-Identifier: Apache-2.0
"""The base of every type in the model: frozen, strict, and silent about nothing it does not know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, keyword-only, no unknown keys, no silent conversion (JSON arrays become tuples).

    A class's validator is built when it is first used: most commands use few of the classes that they import.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return a copy with fields as a file has them, checked; a list of it becomes a tuple."""
        return type(self).model_validate_json(json.dumps({**self.model_dump(), **changes}))
