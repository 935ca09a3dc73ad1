# SPDX-License-Identifier: Apache-2.0
"""The base of every type in the model: frozen, strict, and silent about nothing it does not know."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, keyword-only, no unknown keys, no silent conversion (JSON arrays become tuples).

    A class's validator is built when it is first used: most commands use few of the classes that they import.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)
