# SPDX-License-Identifier: Apache-2.0
"""Where an instance answers."""

from __future__ import annotations

from harness.model import Frozen


class Endpoint(Frozen):
    """Where the instance listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://{self.host}:{self.port}"
