# SPDX-License-Identifier: Apache-2.0
"""What bounded a variant's memory, in words: as the definition says it, and what that came to."""

from __future__ import annotations

import json
import re

from harness.model import MemoryFit, SessionHeader


def memory_fit(header: SessionHeader) -> MemoryFit | None:
    """Return what the session measured of memory before its first trial; ``None``: nothing was left to be measured."""
    noted = header.notes.get("memory")
    return None if noted is None else MemoryFit.model_validate_json(json.dumps(noted))


def memory_words(header: SessionHeader, variant: str) -> str | None:
    """Return ``1.3x: 13 MiB`` of a heap or limit, ``as G1, 3x: 87 MiB``, ``64 MiB``, ``GOGC 100``; ``None``: nothing
    was said of it."""
    runtime = header.experiment.variants[variant].runtime
    fit = memory_fit(header)
    asked = None if fit is None else fit.asked.get(variant)
    if runtime.heap_max is not None:
        multiple = "" if asked is None else f"{asked.removeprefix('heap_max = ')}: "
        return f"{multiple}{_spaced(runtime.heap_max)}"
    if runtime.gomemlimit is not None:
        other = next((one.memory_of for one in fit.limits if one.variant == variant), None) if fit else None
        label = None if other is None else header.experiment.labels[other]
        if asked is not None and other is None:
            return f"{asked.removeprefix('gomemlimit = ')}: {_spaced(runtime.gomemlimit)}"
        return f"{'limit' if label is None else f'as {label}'}: {_spaced(runtime.gomemlimit)}"
    return None if runtime.gogc is None else f"GOGC {runtime.gogc}"


def _spaced(size: str) -> str:
    """Return ``64m`` and ``64MiB`` as ``64 MiB``."""
    found = re.fullmatch(r"(\d+)([kmgKMGT]?)i?B?", size)
    return size if found is None else f"{found[1]} {f'{found[2].upper()}i' if found[2] else ''}B"
