# SPDX-License-Identifier: Apache-2.0
"""What was used last is kept in memory, up to a size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Sized)


def used_last(kept: OrderedDict[K, V], key: K, make: Callable[[], V], most: int) -> V:
    """Return what is kept for a key, or make it and keep it.

    While the lengths of all add up to more than ``most``, that which was used longest ago is left out of ``kept``.
    """
    held = kept.pop(key, None)
    if held is None:
        held = make()
    kept[key] = held  # behind all others
    while sum(map(len, kept.values())) > most:
        kept.popitem(last=False)
    return held
