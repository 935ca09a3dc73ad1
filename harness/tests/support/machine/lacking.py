# SPDX-License-Identifier: Apache-2.0
"""What a machine may be without, so that a fault cannot be had on it."""

from __future__ import annotations

from harness.errors import RematchError


class Lacking(RematchError):
    """A part or a right is missing here; the message says which."""

    exit_code = 2
