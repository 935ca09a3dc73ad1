# SPDX-License-Identifier: Apache-2.0
"""What is asked for several times is made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar, cast

T = TypeVar("T")


class Once:
    """For classes whose objects never change."""

    @cached_property
    def _made(self) -> dict[tuple[object, ...], object]:
        return {}

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return what ``make`` returns, which is called once for a key of this object."""
        if key not in self._made:
            self._made[key] = make()
        return cast("T", self._made[key])
