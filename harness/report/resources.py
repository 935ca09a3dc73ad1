# SPDX-License-Identifier: Apache-2.0
"""What a process used, as a report says it."""

from __future__ import annotations

from pydantic import Field

from harness.model import Frozen


class Resources(Frozen):
    """One process. ``None``: the file does not say, or says it once only where twice is needed."""

    n_samples: int
    lasted_s: float
    rss_median_bytes: float | None
    rss_max_bytes: float | None
    cpu_s: float | None = Field(description="used between the first and the last sample")
    cores: float | None = Field(description="the same a second")
