# SPDX-License-Identifier: Apache-2.0
"""What an instance needs beside itself: the PostgreSQL database, the upstream API."""

from harness.places.backing.base import BackingNeed, BackingService, BackingSource, refuse_ended, running

__all__ = ["BackingNeed", "BackingService", "BackingSource", "refuse_ended", "running"]
