# SPDX-License-Identifier: Apache-2.0
"""Parts of sentences: a count of things, a list of names, the beginning of a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """Return ``1 stall`` or ``2 stalls``."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def listed(words: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def capital(text: str) -> str:
    """Return a text as it begins a sentence."""
    return text[:1].upper() + text[1:]
