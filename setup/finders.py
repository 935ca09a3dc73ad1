# SPDX-License-Identifier: Apache-2.0
"""The finders of ``harness/toolchains``, loaded from their folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .loading import PROJECT, load

__all__ = ["PROJECT", "toolchains"]

if TYPE_CHECKING:
    from harness import toolchains
else:
    toolchains = load("rematch_toolchains", PROJECT / "harness" / "toolchains" / "__init__.py")
