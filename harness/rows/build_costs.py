# SPDX-License-Identifier: Apache-2.0
"""Rows of what making each variant took after its source was built: an AOT cache, a trimmed runtime, a native image."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harness.rows.results import fact
from harness.rows.schema import tidy
from harness.rows.session import Session

#: name of the result -> unit
_NUMBERS = {"build": "s", "peak": "B", "size": "B"}


def builds(session: Session) -> pd.DataFrame:
    """Return time (``build``), memory (``peak``) and ``size`` of each variant's own build, and its ``tool`` as a fact.

    One build each, so there are no intervals. A variant that could not be had here has no numbers, and the reason.
    """
    evidence = session.evidence
    if evidence is None:
        return tidy([])
    records = {name: build for folder in evidence.sessions for name, build in folder.builds().items()}
    reasons = {gone.variant: gone.reason for gone in evidence.header.unavailable}
    rows: list[dict[str, Any]] = []
    for name, variant in session.definition.variants.items():
        build = records.get(variant.build_name)
        if variant.runtime.is_plain or (build is None and name not in reasons):
            continue
        form = None if build is None else build.form
        values: tuple[float | None, ...]
        if build is None:
            values, tool = (None, None, None), "none"
        elif form is None:
            values, tool = (build.aot_training_s, None, build.aot_cache_bytes), "a training start"
        else:
            values, tool = (form.build_s, form.peak_rss_bytes, form.image_bytes), form.tool.partition(" (")[0]
        about = {"variant": name, "label": evidence.variants[name]}
        why = reasons.get(name, "its tool does not tell")
        rows += [
            {
                "name": part,
                "kind": "count",
                "unit": unit,
                "value": value,
                "method": "as is",
                "estimand": "of one build",
            }
            | about
            | ({"why": why, "warnings": [why]} if value is None else {})
            for (part, unit), value in zip(_NUMBERS.items(), values, strict=True)
        ]
        rows.append(fact("tool", tool) | about)
    return tidy(rows)
