# SPDX-License-Identifier: Apache-2.0
"""The request log of a service: how many lines there should be, one a request, and how many there are."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.model.base import Frozen


class RequestLogRecord(Frozen):
    """What reached the sink of a service's request log, over the whole life of its process."""

    sink: Literal["file", "pipe"]
    requests: int | None = Field(
        description="that the service had counted when it was about to be stopped; None: it could not be asked"
    )
    lines: int | None = Field(default=None, description="that reached the sink; None: not known")
    bytes: int | None = None
    reader_cpu_s: float | None = Field(
        default=None,
        description="CPU time of the pipe's reader while the load ran, not in other_cpu_s; None: not read",
    )
    reader_ended: bool = Field(default=False, description="the pipe's reader was gone before the service")

    @property
    def lost(self) -> int | None:
        """Lines that should be there and are not; ``None``: not known."""
        if self.requests is None or self.lines is None:
            return None
        return max(0, self.requests - self.lines)


__all__ = ["RequestLogRecord"]
