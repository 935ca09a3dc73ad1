# SPDX-License-Identifier: Apache-2.0
"""Where an instance answers."""

from __future__ import annotations

from typing import Literal

from harness.model import Frozen


class Endpoint(Frozen):
    """Where the instance listens."""

    host: str
    port: int
    scheme: Literal["http", "https"] = "http"

    @property
    def url(self) -> str:
        """The address without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host  # an address of IPv6
        return f"{self.scheme}://{host}:{self.port}"
